"""The page of the ablations, made from the raw results and what is known of the functions."""

from __future__ import annotations

import json
import platform
from collections import defaultdict
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from optimizer.confirmation.paired_change import interval_of_mean
from sampler.machine.machine import fingerprint
from studies.ablations.problems import ALL, FUNCTIONS
from studies.ablations.variants import AS_IT_IS, VARIANTS
from studies.arguments import days_words
from studies.search.bake_off import BAKE_OFFS, raw_scatter

Row = Mapping[str, Any]
_HEAD = """# What each part of the default strategy pays

{about}

No RocksDB is involved. `guided` searches functions whose truth is known, as in
[search.md](search.md): without starting points, and each run errs as the recorded runs of the
default did. *Share*: the true fitness of what the strategy recommends after so many runs, over
the best that exists as far as it is known; the baseline is 0; in brackets the seeds. Then, in
points of 100, how far the variant is above `as it is`: the mean over the seeds of both, with its
95% interval by Student's t, bold where that does not hold 0. A name with `+` is several variants
at once."""


def write_page(out: Path, command: str, rows: Sequence[Row]) -> str:
    """Writes the page; returns it."""
    machine = fingerprint(Path())
    about = (
        f"`{command}`, {days_words({row['day'] for row in rows})}, {machine['cpu']}, "
        f"{machine['cores']} cores, {machine['system']}, Python {platform.python_version()}. "
        f"{len(rows):,} searches, {sum(row['seconds'] for row in rows) / 3600:.1f} hours of "
        "processor time; all are in the file beside this page."
    )
    problems = [name for name in ALL if any(row["problem"] == name for row in rows)]
    words = "\n".join(f"- `{name}`: {variant.words}" for name, variant in VARIANTS.items())
    parts = [_HEAD.format(about=about), words, "## Problems", *_problems(problems)]
    for count in sorted({count for row in rows for count in row["runs"]})[-2:]:
        parts += [f"## After {count} runs", _table(rows, problems, count)]
    text = "\n\n".join([*parts, ""])
    out.with_suffix(".md").write_text(text, encoding="utf-8")
    return text


def _problems(problems: Sequence[str]) -> tuple[str, str]:
    """What the problems rest on, and how the runs of the bake-offs' baseline scatter."""
    kept = json.loads(FUNCTIONS.read_text(encoding="utf-8"))
    said = (
        "R2 is of the logarithms of runs that the function did not see: of a bake-off (`-all`) "
        "those of another seed, of all methods and both budgets of memory. The noise of a problem "
        "is the scatter of the default's runs, clocks corrected for drift, and of a bake-off "
        "about the level of their job. "
        "In brackets, as measured: within jobs, and from job to job. `anonymous` are formulas "
        "over options without names that mean anything: noise 2%, 1%, 10%, 10%."
    )
    table = ["| problem | runs | of the default | R2 | noise |", "|---|--:|--:|---|---|"]
    for name in problems:
        if known := kept.get(f"{name}/boosting"):
            raw = raw_scatter(name)[1] if name in BAKE_OFFS else {}
            noise = [
                f"{metric} {value:.1%}" + (" ({:.1%}, {:.1%})".format(*raw[metric]) if raw else "")
                for metric, value in known["scatter"].items()
            ]
            r2 = [f"{metric} {found['r2']:.2f}" for metric, found in known["tuned"].items()]
            table.append(
                f"| {name} | {known['runs']:,} | {known['default_runs']} | {', '.join(r2)} "
                f"| {', '.join(noise)} |"
            )
    return said, "\n".join(table)


def _table(rows: Sequence[Row], problems: Sequence[str], count: int) -> str:
    shares = [_shares(rows, problem, count) for problem in problems]
    there = {row["variant"]: None for row in rows}
    variants = [*(name for name in VARIANTS if name in there), *(there.keys() - VARIANTS.keys())]
    table = ["| variant | " + " | ".join(problems) + " |", "|---" * (len(problems) + 1) + "|"]
    for variant in variants:
        cells = [_cell(found.get(variant, {}), found.get(AS_IT_IS, {})) for found in shares]
        table.append(f"| {variant} | " + " | ".join(cells) + " |")
    return "\n".join(table)


def _shares(rows: Sequence[Row], problem: str, count: int) -> dict[str, dict[int, float]]:
    """By variant and seed the share of the best that exists, or of a run beyond it."""
    mine = [row for row in rows if row["problem"] == problem and count in row["runs"]]
    best = max([each for row in mine for each in (row["best"], *row["fitness"])], default=1.0)
    found = defaultdict[str, dict[int, float]](dict)
    for row in mine:
        found[row["variant"]][row["seed"]] = row["fitness"][row["runs"].index(count)] / best
    return dict(found)


def _cell(found: Mapping[int, float], usual: Mapping[int, float]) -> str:
    """The mean share, and the difference to the default over the seeds that both have."""
    if not found:
        return ""
    said = f"{np.mean(list(found.values())):.2f} ({len(found)})"
    apart = np.array(
        [100 * (found[seed] - usual[seed]) for seed in sorted(found) if seed in usual]
    )
    if found is usual or len(apart) < 2:
        return said
    mean, half, _ = interval_of_mean(apart)
    text = f"{mean:+.0f} [{mean - half:+.0f}, {mean + half:+.0f}]"
    return f"{said} {f'**{text}**' if abs(mean) > half else text}"
