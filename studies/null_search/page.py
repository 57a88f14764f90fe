"""The page of the null test, made from its raw results."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
from scipy import stats

from studies.null_search.job import FASTER, LEFT, NEIGHBOUR, Level, Line
from studies.study import FORMER_NAME, made_by

MOST = 0.05
_HEAD = (
    "| strategy | runs | stop early | jobs | report an improvement | runs saved, mean (least to "
    "most) | measured again, mean | expected gain and noise at the end, medians |\n"
    "|---|--:|---|--:|--:|--:|--:|--:|"
)


def write_page(out: Path, command: str, lines: Sequence[Line], level: Level, options: int) -> str:
    """Writes the page and returns it.

    Args:
        out: Its path without the ending.
        command: What was called last.
        lines: All jobs that count.
        level: The noise.
        options: How many options do nothing.
    """
    noise = ", ".join(f"{name} {100 * s:.1f}%" for name, s in level.noise.scatter.items())
    text = "\n".join(
        [
            "# Does a search find what is not there?",
            "",
            f"{made_by(command)}. No RocksDB is "
            "involved: the benchmark is simulated, everything else is the whole tuning loop with "
            "its draws, search, choice and proof.",
            "",
            f"Of {options} options none does anything. Every run, of the baseline as of any "
            f"configuration, measures the same times the noise of one of {level.runs} recorded "
            f"runs of the default, all metrics of that run together ({noise}). Whatever a job "
            f"finds is an error. `{out.name}.jsonl` has a line for each job; a second call goes "
            f"on with those that are missing. {FORMER_NAME}",
            "",
            _HEAD,
            *(_row(group) for group in groups_of(lines)),
            "",
            *_corrected([line for line in lines if line.key.neighbour]),
            "In brackets behind a share its exact 95% interval (Clopper, Pearson). At most "
            f"{100 * MOST:.0f}% may report an improvement; 2.5% are declared by the proof. Jobs "
            "of the same seed are the same until `--stop-early` ends one of them. The noise is "
            "the standard deviation of the baseline's own fitness.",
        ]
    )
    out.with_suffix(".md").write_text(f"{text}\n", encoding="utf-8")
    return text


def groups_of(lines: Sequence[Line]) -> list[list[Line]]:
    """Jobs that differ by their seed alone, in the order of the lines."""
    groups: dict[tuple[str, int, bool, bool], list[Line]] = {}
    for line in lines:
        key = line.key
        kind = (key.strategy, key.trials, key.stop_early, key.neighbour)
        groups.setdefault(kind, []).append(line)
    return list(groups.values())


def too_often(lines: Sequence[Line]) -> list[str]:
    """Of which jobs more than 5% report an improvement."""
    return [
        f"{group[0].key.strategy}: {_share(group)} report an improvement"
        for group in groups_of(lines)
        if sum(line.confirmed for line in group) > MOST * len(group)
    ]


def _corrected(lines: Sequence[Line]) -> list[str]:
    """The proofs of jobs beside a neighbour, by raw clocks and by corrected ones."""
    if not lines:
        return []
    kinds = {
        "raw": [line.raw for line in lines if line.raw],
        "corrected": [line.corrected for line in lines if line.corrected],
    }
    widths = {
        name: np.median([p["high"] - p["low"] for p in found]) for name, found in kinds.items()
    }
    rows = []
    for name, found in kinds.items():
        held = sum(p["low"] <= 0 <= p["high"] for p in found)
        shares = [sum(p["confirmed"] for p in found), held, sum(p["faster"] for p in found)]
        told = " | ".join(_counted(count, len(found)) for count in shares)
        rows.append(f"| {name} | {len(found)} | {told} | {widths[name] / 2:.0f} |")
    slopes = ", ".join(f"{name} by {v:+.2f}" for name, v in NEIGHBOUR.slopes.items())
    return [
        "## Beside a neighbour",
        "",
        f"Another program takes {NEIGHBOUR.share:.0%} of the processors for {NEIGHBOUR.on:g} s of "
        f"every {NEIGHBOUR.period:g}, and a run takes {NEIGHBOUR.run:g} s: `others_cpu` tells how "
        f"much. All processors taken would change the logarithm of {slopes}; the noise above is "
        f"made smaller, to {100 * LEFT:.1f}% of time. Both are as measured on real runs of "
        "`load-quick`. Each job's own proof is by corrected clocks; the same runs are judged by "
        "raw ones too.",
        "",
        "| clocks | jobs | report an improvement | 95% interval holds the true 0 | a winner that "
        f"takes {100 * (1 - FASTER):.0f}% less time would be reported | half of the interval, "
        "median |",
        "|---|--:|--:|--:|--:|--:|",
        *rows,
        "",
        f"Raw clocks would take {(widths['raw'] / widths['corrected']) ** 2:.1f} times as many "
        "pairs for the same interval.",
        "",
    ]


def _row(group: Sequence[Line]) -> str:
    key, saved = group[0].key, [line.saved for line in group]
    again = float(np.mean([line.again for line in group]))
    told = f"{np.mean(saved):.1f} ({min(saved)} to {max(saved)})" if key.stop_early else ""
    return (
        f"| {key.strategy} | {key.trials} | {'yes' if key.stop_early else 'no'} | {len(group)} "
        f"| {_share(group)} | {told} | {again:.1f} | {_ends(group)} |"
    )


def _share(group: Sequence[Line]) -> str:
    return _counted(sum(line.confirmed for line in group), len(group))


def _counted(count: int, of: int) -> str:
    interval = stats.binomtest(count, of).proportion_ci(0.95)
    return (
        f"{count}: {100 * count / of:.1f}% ({100 * interval.low:.1f} to {100 * interval.high:.1f})"
    )


def _ends(group: Sequence[Line]) -> str:
    known = [(x.gain, x.noise) for x in group if x.gain is not None and x.noise is not None]
    if not known:
        return ""
    gain, noise = np.median(np.array(known), axis=0).tolist()
    return f"{gain:.0f}, {noise:.0f}"
