"""Tables of repeated runs: medians with ranges, and ratios within rounds with intervals."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from statistics import median
from typing import Any

from scipy import stats

from jobs.autotune.compare import ROWS, cell
from jobs.autotune.policy import POLICIES

_Row = Mapping[str, Any]
_MOST = math.log(10)  # a larger change is not known to a percent
# What a policy is judged by: name, words. Times to recover are next to nothing under some
# policies, so ratios of them would say nothing; the other table has them.
JUDGED = (
    ("insertion_rate", "insertion rate"),
    ("settled_write_amplification", "write amplification, recovered"),
    ("read_rate", "random reads, filters"),
    ("read_rate_without_filters", "random reads, no filters"),
)
PAIRS = (("tuned", "on"), ("tuned", "lifted"), ("duty", "on"), ("duty", "tuned"))


def figures_table(rows: Sequence[_Row]) -> list[str]:
    """Every figure of a shape, a column for each policy: median (lowest to highest)."""
    there = [policy for policy in POLICIES if of(rows, policy)]
    lines = [f"| | {' | '.join(there)} |", f"|---|{'---|' * len(there)}"]
    for name, words, unit in ROWS:
        cells = [_spread([row["figures"].get(name) for row in of(rows, p)], unit) for p in there]
        lines.append(f"| {words}{f', {unit}' if unit else ''} | {' | '.join(cells)} |")
    for level in range(_deepest(rows) + 1):
        cells = [f"{median(_level(row, level) for row in of(rows, p)):,.0f}" for p in there]
        lines.append(f"| level {level}, MiB | {' | '.join(cells)} |")
    return lines


def ratios_table(rows: Sequence[_Row]) -> list[str]:
    """One policy against another within the rounds of a shape, in percent with 95% intervals."""
    pairs = [(a, b) for a, b in PAIRS if of(rows, a) and of(rows, b)]
    lines = [
        f"| | {' | '.join(f'{a} against {b}' for a, b in pairs)} |",
        f"|---|{'---|' * len(pairs)}",
    ]
    for name, words in JUDGED:
        cells = [ratio_words(rows, a, b, name) for a, b in pairs]
        lines.append(f"| {words} | {' | '.join(cells)} |")
    return lines


def ratio_words(rows: Sequence[_Row], a: str, b: str, name: str) -> str:
    """The geometric mean of a/b over the rounds, with the t interval of its logarithms."""
    by_round = {row["repeat"]: row["figures"].get(name) for row in of(rows, b)}
    logs = [
        math.log(value / other)
        for row in of(rows, a)
        if (value := row["figures"].get(name)) and (other := by_round.get(row["repeat"]))
    ]
    if not logs:
        return "n/a"
    mean = sum(logs) / len(logs)
    shown = f"{_percent(mean)}%"
    if len(logs) < 2:
        return f"{shown} (one round)"
    spread = math.sqrt(sum((each - mean) ** 2 for each in logs) / (len(logs) - 1) / len(logs))
    half = float(stats.t.ppf(0.975, len(logs) - 1)) * spread
    return f"{shown} ({_percent(mean - half)} to {_percent(mean + half)})"


def of(rows: Sequence[_Row], policy: str) -> list[_Row]:
    """The runs of a policy."""
    return [row for row in rows if row["policy"] == policy]


def _percent(logarithm: float) -> str:
    if logarithm > _MOST:
        return f"over +{100 * math.expm1(_MOST):.0f}"
    return f"{100 * math.expm1(logarithm):+.1f}"


def _spread(values: Sequence[float | None], unit: str) -> str:
    known = [value for value in values if value is not None]
    if not known:
        return "n/a"
    low, high = cell(min(known), unit), cell(max(known), unit)
    middle = cell(median(known), unit)
    return middle if low == high else f"{middle} ({low} to {high})"


def _level(row: _Row, number: int) -> int:
    return sum(int(level["mib"]) for level in row["levels"] if level["number"] == number)


def _deepest(rows: Sequence[_Row]) -> int:
    return max(
        (level["number"] for row in rows for level in row["levels"] if level["files"]), default=0
    )
