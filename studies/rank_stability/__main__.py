"""How many draws are enough to know what matters.

Run with ``python -m studies.rank_stability`` for the recorded trials of tests/data, with
``--db URL --job ID`` for the draws of a stored job, or with ``--made-up N`` for trials of a known
truth. It writes a page in markdown and a plot: how rankings of n draws agree with each other and
with the ranking of all, and what the rule of ``sampling`` would have done in many random
orders of the same trials, at this and other levels.
"""

import argparse
import os
import platform
import shlex
import sys
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path

import numpy as np

from sampler.machine.machine import fingerprint
from studies.line_plot import Line, line_plot
from studies.rank_stability.rule_replay import (
    Replay,
    halves_table,
    played,
    played_on_noise,
    rule_table,
)
from studies.rank_stability.sample_size import COMBINED, AtSize, importances_of, rank_at_size
from studies.recorded_trials import Learned, drawn_by, made_up_trials, recorded

_SMALLEST, _GROWTH = 24, 2**0.5


def sizes(total: int) -> list[int]:
    """A geometric grid of numbers of draws, up to nine tenths of the total."""
    grid, number = [], float(_SMALLEST)
    while round(number) <= 0.9 * total:
        grid.append(round(number))
        number *= _GROWTH
    return grid


def curve_of(
    learned: Learned, *, top_k: int, repeats: int, seed: int
) -> dict[int, dict[str, AtSize]]:
    """Agreement at each size, by metric and combined."""
    rows = np.arange(learned.features.n_trials)
    reference = importances_of(learned.features, learned.targets, rows, seed=seed, trees=200)
    return {
        size: rank_at_size(
            learned.features, learned.targets, size, reference,
            seed=seed + size, top_k=top_k, repeats=repeats,
        )
        for size in sizes(learned.features.n_trials)
    }  # fmt: skip


def curve_table(curve: dict[int, dict[str, AtSize]], top_k: int) -> str:
    """The combined ranking, a row a size."""
    head = (
        f"| draws | top {top_k} shared with all | 95% of subsamples | tau with all "
        f"| top {top_k} shared by two apart | 95% | tau apart |"
    )
    rows = [head, "|--:|--:|:-:|--:|--:|:-:|--:|"]
    for size, found in curve.items():
        at = found[COMBINED]
        apart = (
            f"{at.apart_overlap.mean():.2f} | {_range(at.apart_overlap)} | {_mean(at.apart_tau)}"
            if at.apart_overlap is not None
            else "| |"
        )
        rows.append(
            f"| {size:,} | {at.overlap.mean():.2f} | {_range(at.overlap)} "
            f"| {at.kendall_tau.mean():.2f} | {apart} |"
        )
    return "\n".join(rows)


def metric_table(curve: dict[int, dict[str, AtSize]], metrics: Sequence[str], top_k: int) -> str:
    """By metric: the top shared with all trials, and R2 on unseen trials."""
    rows = [
        "| draws | " + " | ".join(f"{m}: top {top_k}, tau, R2" for m in metrics) + " |",
        "|--:|" + "--:|" * len(metrics),
    ]
    for size, found in curve.items():
        cells = [
            f"{found[m].overlap.mean():.2f}, {found[m].kendall_tau.mean():.2f}, "
            f"{_mean(found[m].r2)}"
            for m in metrics
        ]
        rows.append(f"| {size:,} | " + " | ".join(cells) + " |")
    return "\n".join(rows)


def plot(learned: Learned, curve: dict[int, dict[str, AtSize]], top_k: int) -> str:
    """The combined ranking's curves as an SVG."""
    whole = {size: found[COMBINED] for size, found in curve.items()}
    pairs = [(size, at.apart_overlap) for size, at in whole.items()]
    apart = {size: overlap for size, overlap in pairs if overlap is not None}
    return line_plot(
        f"Rank stability: {learned.name}",
        "draws (logarithmic); bands hold 95% of the subsamples",
        [
            _line(f"top {top_k} shared with the ranking of all",
                  {size: at.overlap for size, at in whole.items()}),
            _line(f"top {top_k} shared by two rankings apart", apart),
            Line("Kendall's tau with the ranking of all", list(whole),
                 [float(at.kendall_tau.mean()) for at in whole.values()]),
        ],
    )  # fmt: skip


def _line(name: str, found: dict[int, np.ndarray]) -> Line:
    low, high = (
        [float(np.percentile(values, q)) for values in found.values()] for q in (2.5, 97.5)
    )
    return Line(name, list(found), [float(v.mean()) for v in found.values()], low, high)


def _range(values: np.ndarray) -> str:
    return "{:.2f} to {:.2f}".format(*np.percentile(values, [2.5, 97.5]))


def _mean(values: np.ndarray | None) -> str:
    known = values[~np.isnan(values)] if values is not None else np.array([])
    return f"{known.mean():.2f}" if known.size else ""


def page(
    learned: Learned, command: str, given: argparse.Namespace, curve: dict[int, dict[str, AtSize]]
) -> str:
    """The whole page, the replays included."""
    total, top = learned.features.n_trials, given.top
    replay = Replay(top_k=top, replays=given.replays, seed=given.seed)
    replays, noise = played(replay, learned), played_on_noise(replay, learned)
    day = datetime.now(UTC).date()
    cpu = fingerprint(Path.cwd())["cpu"]
    where = f"{os.cpu_count()} cores, {cpu}, Python {platform.python_version()}"
    figure = f"![Agreement against draws]({given.out.name}.svg)"
    return "\n\n".join(
        [
            f"# How many draws are enough: {learned.name}",
            f"`{command}`, {day}, {where}. {learned.features.n_parameters} parameters; "
            f"metrics {', '.join(learned.targets)}.",
            figure,
            "## Agreement against the number of draws",
            f"{given.repeats} random subsamples of each size, a forest of 16 trees a metric, "
            "parameters in the order of the mean share of impurity. Two random orders share "
            f"{top / learned.features.n_parameters:.2f} of their top {top}. *Shared with all* "
            f"compares with the ranking of all {total:,} trials, which hold the subsample: near "
            "their number it is optimistic. *Two apart* share no trial, so nothing of it is built "
            f"in; there are no two above {total // 2:,}.",
            curve_table(curve, top),
            "By metric (R2 on unseen trials):",
            metric_table(curve, list(learned.targets), top),
            "## What the rule would have done",
            replay.words(total),
            rule_table(replays, noise, top),
            "Agreement of halves beyond chance at the checkpoints, mean and 95% of the replays:",
            halves_table(replays, noise),
            "",
        ]
    )


def main(arguments: Sequence[str] | None = None) -> None:
    """Writes the page and the plot."""
    parser = argparse.ArgumentParser(description="Measures how rankings settle with draws.")
    parser.add_argument("--db", help="the database of a stored job")
    parser.add_argument("--job", type=int, help="the job's number")
    parser.add_argument("--made-up", type=int, help="so many trials of a known truth instead")
    parser.add_argument("--top", type=int, default=5)
    parser.add_argument("--repeats", type=int, default=40, help="subsamples of each size")
    parser.add_argument("--replays", type=int, default=40, help="random orders for the rule")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--out", type=Path, default=Path("docs/results/rank_stability"),
                        help="the page's path, without its ending")  # fmt: skip
    given = parser.parse_args(arguments)
    if (given.db is None) != (given.job is None):
        parser.error("--db and --job go together")
    if given.made_up:
        features, targets = made_up_trials(given.made_up, seed=given.seed)
        learned = Learned(f"{given.made_up:,} made-up trials", features, targets)
    else:
        learned = drawn_by(given.db, given.job) if given.db else recorded()
    said = sys.argv[1:] if arguments is None else arguments
    # A database's address may hold a password, and a path is no one else's business.
    shown = [
        "..." if before == "--db" else word
        for before, word in zip(["", *said], said, strict=False)
    ]
    command = shlex.join(["python", "-m", "studies.rank_stability", *shown])
    curve = curve_of(learned, top_k=given.top, repeats=given.repeats, seed=given.seed)
    given.out.parent.mkdir(parents=True, exist_ok=True)
    given.out.with_suffix(".svg").write_text(plot(learned, curve, given.top), encoding="utf-8")
    text = page(learned, command, given, curve)
    given.out.with_suffix(".md").write_text(text, encoding="utf-8")
    print(text)


if __name__ == "__main__":
    main()
