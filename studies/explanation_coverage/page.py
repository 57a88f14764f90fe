"""The page of the coverage study, made from its raw results."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from optimizer.explanation import WIDER
from studies.explanation_coverage.counts import Claims, Count, count, of_step
from studies.explanation_coverage.job import trials_for
from studies.explanation_coverage.judged import Claim, Line
from studies.explanation_coverage.real import real_lines
from studies.study import made_by

LABELS = ("before", "unwidened", "after")
LEAST = 0.93  # of the intervals of a row; the exact claim is 95%
_FEW_JOBS = 5
_KINDS: Mapping[str, str] = {
    "gain": "gain in fitness", "waf": "WAF", "sa": "SA", "time": "time", "rate": "rate",
}  # fmt: skip


def write_page(
    out: Path, command: str, lines: Sequence[Line], real: Sequence[Mapping[str, Any]]
) -> str:
    """Writes the page and returns it.

    Args:
        out: Its path without the ending.
        command: What was called last.
        lines: All jobs that count.
        real: Explanations that were measured with the real ``db_bench``.
    """
    functions = ", ".join(dict.fromkeys(line.key.function for line in lines))
    text = "\n".join(
        [
            "# How often do the intervals of an explanation hold?",
            "",
            f"{made_by(command)}.",
            "",
            "`rocktune explain` tells a 95% interval of what each change of a winner contributes. "
            f"Here whole jobs tune functions learned from recorded runs ({functions}; see "
            "[search.md](search.md)), so the truth of every step is known: the function at the "
            "two configurations that the step leads from and to. A run's noise is that of a "
            "recorded run of the default, all metrics together. Only jobs whose proof passed have "
            "a winner to explain. Rows are by the number of trials (`--trials`), and of new "
            "configurations that these measure. `before` is the code of d6b98e6, `unwidened` that "
            "of f8256de, `after` is this version's, whose intervals are a quarter longer on both "
            "sides and which withholds an explanation of fewer than 20 configurations. Where a "
            "job was not explained again, `after` is what f8256de told of it with intervals made "
            f"as much longer. Jobs: {_jobs(lines)}. `explanation_coverage.jsonl` has a line for "
            "each job and version that explained it.",
            "",
            "In brackets: the 95% interval of the share. Intervals of one job hold or fail "
            "together, so it is the binomial interval of the effective number of independent ones "
            "(Korn and Graubard, 1998).",
            "",
            "## Every step",
            "",
            "| trials | configurations | version | jobs explained, of proven ones | "
            + " | ".join(_KINDS.values())
            + " |",
            "|--:|--:|---|--:|" + "--:|" * len(_KINDS),
            *(
                f"| {trials_for(n)} | {n} | {label} | {_told(group)} | "
                + " | ".join(_share(count(group, of_step(kind)), group) for kind in _KINDS)
                + " |"
                for n, label, group in groups_of(lines)
            ),
            "",
            "## What is read first",
            "",
            "The first step is the largest of some twenty expected gains, so it is the one that "
            "is most easily overestimated. The winner was chosen as the best of all "
            "configurations. The fewest changes are those that seem to lose least.",
            "",
            "| trials | configurations | version | gain of the first step | gains of the first "
            "three | fitness of the winner | loss of the fewest changes | jobs with fewer "
            "changes | left out, mean | of these, truly lose more than 10% |",
            "|--:|--:|---|--:|--:|--:|--:|--:|--:|--:|",
            *(_first(n, label, group) for n, label, group in groups_of(lines)),
            "",
            "## Length of the intervals",
            "",
            "Mean and, in brackets, median over all steps: of the gain in points of fitness, of "
            "metrics in percentage points. Seconds are processor time of one explanation.",
            "",
            "| trials | configurations | version | "
            + " | ".join(_KINDS.values())
            + " | seconds, mean |",
            "|--:|--:|---|" + "--:|" * (len(_KINDS) + 1),
            *(
                f"| {trials_for(n)} | {n} | {label} | "
                + " | ".join(_length(count(group, of_step(kind))) for kind in _KINDS)
                + f" | {np.mean([line.seconds for line in group if line.told] or [0.0]):.1f} |"
                for n, label, group in groups_of(lines)
            ),
            "",
            *_verdict(lines),
            *real_lines(real),
        ]
    )
    out.with_suffix(".md").write_text(f"{text}\n", encoding="utf-8")
    return text


def groups_of(lines: Sequence[Line]) -> list[tuple[int, str, list[Line]]]:
    """Proven jobs by their number of configurations and the version that explained them."""
    again = {line.key for line in lines if line.label == "after"}
    earlier = [x for x in lines if x.label == "unwidened" and x.key not in again]
    lines = [*lines, *map(widened, earlier)]
    sizes = sorted({line.key.configurations for line in lines})
    return [
        (size, label, [x for x in lines if x.key.configurations == size and x.label == label])
        for size in sizes
        for label in LABELS
        if label != "unwidened"
        or any(x.label == label for x in lines if x.key.configurations == size)
    ]


def widened(line: Line) -> Line:
    """What f8256de told, as this version would have: the same but for longer intervals."""

    def longer(claim: Claim) -> Claim:
        expected, low, high, truth = claim
        below, above = WIDER * (expected - low), WIDER * (high - expected)
        return expected, expected - below, expected + above, truth

    return replace(
        line,
        label="after",
        steps=tuple({name: longer(x) for name, x in step.items()} for step in line.steps),
        predicted=line.predicted and longer(line.predicted),
        loss=line.loss and longer(line.loss),
    )


def too_rarely(lines: Sequence[Line]) -> list[str]:
    """The rows of this version in which intervals hold less often than they should."""
    found = []
    for size, label, group in groups_of(lines):
        for name, claims in _judged_claims().items():
            counted = count(group, claims) if label == "after" else None
            if counted is not None and counted.share < LEAST:
                found.append(f"{size} configurations, {name}: {_share(counted)}")
    return found


def _judged_claims() -> dict[str, Claims]:
    every = {f"{said} of every step": of_step(kind) for kind, said in _KINDS.items()}
    return every | {
        "gain of the first step": of_step("gain", 1),
        "gains of the first three": of_step("gain", 3),
        "fitness of the winner": _predicted,
    }


def _verdict(lines: Sequence[Line]) -> list[str]:
    rare = too_rarely(lines)
    if not rare:
        return [f"In every row of this version at least {100 * LEAST:.0f}% of the intervals hold."]
    return [f"Where fewer than {100 * LEAST:.0f}% of this version's intervals hold:", "",
            *(f"- {each}" for each in rare)]  # fmt: skip


def _jobs(lines: Sequence[Line]) -> str:
    every = {line.key for line in lines}
    return f"{len(every)}, of which {len({x.key for x in lines if x.proven})} proved a winner"


def _told(group: Sequence[Line]) -> str:
    proven = [line for line in group if line.proven]
    return f"{sum(line.told for line in proven)} of {len(proven)}"


def _share(counted: Count | None, group: Sequence[Line] = ()) -> str:
    if counted is None:
        proven = [line for line in group if line.proven]
        return "withheld" if proven and not any(line.told for line in proven) else "none"
    share, low, high = (100 * x for x in (counted.share, counted.low, counted.high))
    return f"{share:.1f}% ({low:.0f} to {high:.0f})"


def _length(counted: Count | None) -> str:
    return "" if counted is None else f"{counted.mean:,.0f} ({counted.median:,.0f})"


def _first(size: int, label: str, group: Sequence[Line]) -> str:
    told = [line for line in group if line.told]
    fewer = [line for line in told if line.dropped]
    worse = sum(
        line.loss[3] > 0.1 * line.predicted[3] for line in fewer if line.loss and line.predicted
    )
    cells = [
        _share(count(told, of_step("gain", 1)), group),
        _share(count(told, of_step("gain", 3)), group),
        _share(count(told, _predicted), group),
        _share(count(fewer, _loss)) if fewer else "none",
        f"{len(fewer)}",
        f"{np.mean([line.dropped for line in fewer]):.1f}" if fewer else "",
        f"{worse}" if fewer else "",
    ]
    return f"| {trials_for(size)} | {size} | {label} | " + " | ".join(cells) + " |"


def _predicted(line: Line) -> list[Claim]:
    return [line.predicted] if line.predicted else []


def _loss(line: Line) -> list[Claim]:
    return [line.loss] if line.loss else []
