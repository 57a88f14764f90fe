"""What the regression watch can see, and how often it is wrong: `make prove-watch`.

Writes docs/results/watch.md. No RocksDB is involved: nights are simulated, and judged by the code
that judges real ones. The same seeds give the same figures on any machine.
"""

from __future__ import annotations

import argparse
import gzip
import itertools
import json
import multiprocessing
import os
import time
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from scipy import stats

from studies.study import made_by, make_command
from studies.watch.rivals import RIVALS, rival_row, rivals_head
from studies.watch.simulation import LAWS, Changed, Quiet, changed, quiet

OUT = Path("docs/results/watch.md")
RECORDED = Path("docs/reproduction/paper.jsonl.gz")
SERIES = (4, 16, 64)
SIGMAS = (1.0, 2.0, 3.0, 5.0)
BEFORE, SOON = (10, 30, 100), (1, 3, 7, 14)
PLANTED, UNTIL = 1.05, (3, 7, 14, 30, 60)
METRICS = ("waf", "sa", "time", "rate")
_NIGHTS = 100
_RUNS_OF_A_NIGHT = 19  # of the default, in a job of 96 trials


def per_100(found: Quiet) -> str:
    """Alarms in 100 nights, with a 95% interval.

    Poisson's exact one, widened where alarms of a batch come together: the count is divided by
    how much more than Poisson's the batches scatter.
    """
    count, mean = int(found.alarms.sum()), float(found.alarms.mean())
    crowd = max(1.0, float(found.alarms.var(ddof=1)) / mean) if mean else 1.0
    low = stats.chi2.ppf(0.025, 2 * count / crowd) / 2 * crowd if count else 0.0
    high = stats.chi2.ppf(0.975, 2 * count / crowd + 2) / 2 * crowd
    rate, bottom, top = (100 * each / found.nights for each in (count, low, high))
    return f"{rate:.2f} ({bottom:.2f} to {top:.2f})"


def alarms_table(found: dict[tuple[str, int], Quiet]) -> str:
    """False alarms of the whole batch, a row a law of noise."""
    rows = [
        "| noise | " + " | ".join(f"{s} series" for s in SERIES) + " | outlier nights, "
        f"{SERIES[1]} series |",
        "|---|" + "--:|" * (len(SERIES) + 1),
    ]
    for law, words in LAWS.items():
        cells = [per_100(found[law, series]) for series in SERIES]
        one = found[law, SERIES[1]]
        cells.append(f"{100 * one.outliers / one.outlier_nights:.0f}")
        rows.append(f"| {words} | {' | '.join(cells)} |")
    return "\n".join(rows)


def power_table(found: dict[tuple[str, int, float], Changed], law: str) -> str:
    """How soon and how well changes are found, a row a size and a history."""
    rows = [
        "| change | nights before | "
        + " | ".join(f"found within {n}" for n in SOON)
        + " | delay, median | date exact | within 1 | date's interval holds "
        "| size reported over true | size's interval holds |",
        "|--:|--:|" + "--:|" * (len(SOON) + 6),
    ]
    for sigmas in SIGMAS:
        for before in BEFORE:
            one = found[law, before, sigmas]
            cells = [f"{100 * np.mean(one.delays <= n):.0f}%" for n in SOON]
            cells.append(_delay(one, SOON[-1]))
            if len(one.sizes) >= 20:
                errors = np.abs(one.date_errors)
                cells += [
                    f"{100 * np.mean(errors == 0):.0f}%",
                    f"{100 * np.mean(errors <= 1):.0f}%",
                    f"{100 * np.mean(one.dates_held):.0f}%",
                    f"{np.median(one.sizes):.2f}",
                    f"{100 * np.mean(one.sizes_held):.0f}%",
                ]
            else:
                cells += [""] * 5
            rows.append(f"| {sigmas:g} sigma | {before} | {' | '.join(cells)} |")
    return "\n".join(rows)


def _delay(found: Changed, last: int) -> str:
    """Of all changes, those not found within ``last`` nights being later than any."""
    middle = float(np.median(np.where(np.isnan(found.delays), np.inf, found.delays)))
    return f"{middle:.0f}" if np.isfinite(middle) else f"over {last}"


def night_spreads(seed: int) -> dict[str, tuple[int, float, float]]:
    """By metric: how many runs, and the spread of the logarithm of one and of a night's median.

    From repeated runs of one configuration on one machine.
    """
    with gzip.open(RECORDED, "rt") as lines:
        trials = [json.loads(line) for line in lines][1:]
    runs = [t["metrics"] for t in trials if t["purpose"] == "baseline" and t["state"] == "done"]
    rng = np.random.default_rng(seed)
    found = {}
    for metric in METRICS:
        logs = np.log([run[metric] for run in runs])
        medians = np.median(rng.choice(logs, (10_000, _RUNS_OF_A_NIGHT)), axis=1)
        found[metric] = (len(logs), float(logs.std(ddof=1)), float(medians.std(ddof=1)))
    return found


def sigma_table(seed: int) -> str:
    """What a sigma is in percent here."""
    rows = [
        "| metric | runs | spread of one run | of the median of a night's runs, at least "
        "| a change of 3 sigma |",
        "|---|--:|--:|--:|--:|",
    ]
    rows += [
        f"| {metric} | {runs} | {_percent(one)} | {_percent(night)} | {_percent(3 * night)} |"
        for metric, (runs, one, night) in night_spreads(seed).items()
    ]
    return "\n".join(rows)


def planted_table(seed: int, found: dict[tuple[str, int], Changed]) -> str:
    """How soon a regression of 5% in one metric is found, by metric and nights before."""
    rows = [
        "| metric | 5% in sigma | nights before | "
        + " | ".join(f"found within {n}" for n in UNTIL)
        + " | delay, median |",
        "|---|--:|--:|" + "--:|" * (len(UNTIL) + 1),
    ]
    spreads = night_spreads(seed)
    for (metric, before), one in found.items():
        cells = [f"{100 * np.mean(one.delays <= n):.0f}%" for n in UNTIL]
        sigmas = np.log(PLANTED) / spreads[metric][2]
        cells.append(_delay(one, UNTIL[-1]))
        rows.append(f"| {metric} | {sigmas:.1f} | {before} | {' | '.join(cells)} |")
    return "\n".join(rows)


def _percent(logarithm: float) -> str:
    return f"{100 * np.expm1(logarithm):.1f}%"


def page(
    command: str,
    given: argparse.Namespace,
    quiet_found: dict[tuple[str, int], Quiet],
    changed_found: dict[tuple[str, int, float], Changed],
    planted_found: dict[tuple[str, int], Changed],
    rivals: str,
    seconds: float,
) -> str:
    """The whole page."""
    return "\n\n".join(
        [
            "# What the regression watch sees, and how often it is wrong",
            f"{made_by(command)}, "
            f"{seconds / 60:.0f} min beside other work. No "
            "RocksDB is involved: nights are simulated and judged by the code that judges real "
            "ones.",
            "The watch follows, for each item of a batch and each metric of its objective, the "
            "night's median of the default's runs, and the night's winner against that default; "
            "of these so many are the *series*. The limits are set for **1 false alarm in 100 "
            "nights of the whole batch**: each of S series alarms on a night at a chance of "
            "0.01 / S. A *sigma* is the standard deviation of a series from night to night.",
            "## False alarms in 100 nights of a whole batch",
            f"{given.batches:,} batches of {_NIGHTS} nights in each cell, from the fifth night "
            "on; 95% intervals (Poisson, widened where the alarms of a batch come together). "
            "Outlier nights are told apart and are no alarms.",
            alarms_table(quiet_found),
            "A drift is a change, only no sudden one: it is found, in steps. Where nights "
            "resemble their neighbours, an autocorrelation pooled over the series of the batch "
            "is allowed for; what is left of the excess is in the table.",
            "## Changes found",
            f"One of {SERIES[1]} series changes, {given.changes:,} times for each row. Nights "
            "count from the first with the new level. Only in the first "
            f"{SOON[-1]} nights was looked. The size is the one told on the night of the report: "
            "what is reported early looked larger than it is, so its interval holds the truth "
            "less often than 95%; nights that follow mend it, and `rocktune nights` uses them. "
            "Why the intervals of large changes fall short as well was not looked into.",
            "Normal noise:",
            power_table(changed_found, "normal"),
            "Student's t of 3 degrees of freedom:",
            power_table(changed_found, "t(3)"),
            "## What a sigma is",
            f"Of the {RECORDED.name} runs of the default (`docs/reproduction/`), made over some "
            "five hours. No machine has been watched for weeks yet, so the spread of medians is "
            f"that of {_RUNS_OF_A_NIGHT} of these runs, as many as a job of 96 trials makes, "
            "drawn again and again (bootstrap): nights differ at least so much. `rocktune nights` "
            "on a real batch shows how much they do.",
            sigma_table(given.seed),
            "## A regression of 5%",
            f"One of {SERIES[1]} series gets {100 * (PLANTED - 1):.0f}% worse and the others do "
            f"not, {given.changes:,} times for each row, with normal noise of the spread of "
            "a night's median above. What 0% gives is the table of false alarms.",
            planted_table(given.seed, planted_found),
            "## Why this test",
            "Every test below has limits made alike: on simulated normal nights, for 1 false "
            "alarm in 100 nights of 16 series. Then false alarms over those stated, by law of "
            "noise, with none of the autocorrelation allowed for; and changes found within 3 and "
            "7 nights, after 10 or 30 nights before, normal noise.",
            rivals,
            "Taken was the largest two-sample t over all cuts with the values clipped at 2.5 "
            "robust standard deviations and at least 2 nights after the cut: among those that "
            "heavy tails and single bad nights leave near the stated rate it finds changes of 2 "
            "and 3 sigma within a week as often as the others, and large ones in 3 nights.",
            "",
        ]
    )


def main(arguments: Sequence[str] | None = None) -> None:
    """Simulates, and writes the page."""
    parser = argparse.ArgumentParser(description="Measures the regression watch.")
    parser.add_argument("--batches", type=int, default=200, help="quiet batches in each cell")
    parser.add_argument("--changes", type=int, default=300, help="changes in each row")
    parser.add_argument("--rivals", type=int, default=12_000, help="series for their limits")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--out", type=Path, default=OUT)
    given = parser.parse_args(arguments)
    began = time.monotonic()
    calm = [(law, series) for law in LAWS for series in SERIES]
    cases = [(law, b, s) for law in ("normal", "t(3)") for b in BEFORE for s in SIGMAS]
    with multiprocessing.get_context("spawn").Pool(os.cpu_count()) as pool:
        first = [
            pool.apply_async(quiet, (law,), {"batches": given.batches, "series": series,
                             "nights": _NIGHTS, "seed": given.seed + number})
            for number, (law, series) in enumerate(calm)
        ]  # fmt: skip
        second = [
            pool.apply_async(changed, (law,), {"sigmas": s, "before": b, "after": SOON[-1],
                             "batches": given.changes, "series": SERIES[1],
                             "seed": given.seed + 1000 + number})
            for number, (law, b, s) in enumerate(cases)
        ]  # fmt: skip
        planted = {
            (metric, before): pool.apply_async(changed, ("normal",), {
                "sigmas": float(np.log(PLANTED) / night), "before": before, "after": UNTIL[-1],
                "batches": given.changes, "series": SERIES[1],
                "seed": given.seed + 2000 + number})
            for number, (before, (metric, (_, _, night))) in enumerate(
                itertools.product(BEFORE, night_spreads(given.seed).items())
            )
        }  # fmt: skip
        third = [
            pool.apply_async(rival_row, (name,), {"series": given.rivals, "seed": given.seed})
            for name in RIVALS
        ]
        quiet_found = dict(zip(calm, (each.get() for each in first), strict=True))
        changed_found = dict(zip(cases, (each.get() for each in second), strict=True))
        planted_found = {case: each.get() for case, each in sorted(planted.items())}
        rivals = "\n".join([*rivals_head(), *(each.get() for each in third)])
    command = make_command("prove-watch", arguments)
    text = page(command, given, quiet_found, changed_found, planted_found, rivals,
                time.monotonic() - began)  # fmt: skip
    given.out.parent.mkdir(parents=True, exist_ok=True)
    given.out.write_text(text, encoding="utf-8")
    print(text)


if __name__ == "__main__":
    main()
