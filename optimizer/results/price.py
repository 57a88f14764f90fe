"""What a verdict trades: what was won, what was paid for it, and what is not shown.

The objective is what was tuned. Beside it stand its limits, the reads of both settled trees and
the memory: measured, not tuned.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from optimizer.confirmation.paired_tests import Change
from optimizer.confirmation.proof import Verdict
from optimizer.objective.objective import Metrics, Objective
from optimizer.results.document import Loss, Price
from optimizer.trials.problem import Problem
from optimizer.trials.trial import Trial
from sampler.workload.metric_table import (
    COLD,
    READ_BENCHMARKS,
    READS,
    format_change,
    format_metric,
    is_share,
    metric_label,
    shown_in,
    why_read_untold,
)
from sampler.workload.workload_file import why_unread

LOSS = 20.0  # percent: what is surely worse, and by more than this in the mean, is named
_MEMORY = ("memory", "peak_rss")
_POINTS = frozenset({"read_present", "read_absent"})
# Reads of which nothing is shown are named together, the largest group that is whole.
_GROUPS = {
    "reads": frozenset(READS),
    "reads from memory": frozenset(READ_BENCHMARKS),
    "cold reads": frozenset(name + COLD for name in READ_BENCHMARKS),
    "point reads": _POINTS,
    "cold point reads": frozenset(name + COLD for name in _POINTS),
}


@dataclass(frozen=True)
class Traded:
    """A metric of which it is told whether it was won, paid, or neither is shown."""

    metric: str
    name: str  # in words
    change: Change
    better: bool  # whether it is shown to be better, beside all others that may be named
    worse: bool
    # How far its 95% interval reaches on the worse side of 0, in percent; below 0: nowhere.
    feared: float
    up_is_worse: bool

    @property
    def detectable(self) -> float | None:
        """The smallest cost, in percent, that would be named; see ``Change``."""
        rise = self.change.detectable
        return rise if rise is None or self.up_is_worse else 100 * rise / (100 + rise)

    @property
    def lost(self) -> bool:
        """Whether it costs more than a fifth."""
        return self.worse and abs(self.change.percent) > LOSS

    @property
    def percent(self) -> str:
        """The change in words."""
        percent = self.change.percent
        return f"{percent:+.{0 if abs(percent) >= 1 else 1}f}%"


def traded(objective: Objective, changes: Mapping[str, Change]) -> list[Traded]:
    """The metrics that a verdict may name (``Objective.named``), as far as measured."""
    terms = {term.metric for term in objective.terms}
    ways, last = objective.named, shown_in("verdict")
    found = []
    for metric in sorted(ways, key=[*(n for n in ways if n not in last), *last].index):
        if metric not in changes:
            continue
        change, up = changes[metric], ways[metric] == "max"
        name = metric.upper() if metric in terms else metric_label(metric)
        gained = change.shown if up else -change.shown
        feared = -change.low if up else change.high
        found.append(Traded(metric, name, change, gained > 0, gained < 0, feared, not up))
    return found


def trade_words(objective: Objective, verdict: Verdict, *, unread: bool = False) -> str:
    """The first line of a verdict: gains, costs, the rest. ``unread``: reads were not measured."""
    rows = [row for row in traded(objective, verdict.changes) if row.change.low or row.change.high]
    ends = [row for row in rows if _has_ends(row, verdict)]
    won, paid = (
        _moved([row for row in rows if getattr(row, side) and row not in ends])
        + [_ends(row, verdict) for row in ends if getattr(row, side)]
        for side in ("better", "worse")
    )
    open_ = _not_shown([row for row in rows if not (row.better or row.worse)], verdict.baseline)
    if verdict.confirmed:
        gained = _listed(won) or "by fitness, though no single metric is significant"
        said = [f"Better than the baseline: {gained}"]
    else:
        said = [
            "Nothing was proven better than the baseline",
            *([f"best candidate: {_listed(won)}"] * bool(won)),
        ]
    said.append(f"costs: {_listed(paid) or 'none significant'}")
    said += [f"not significant: {_listed(open_)}"] if open_ else []
    said += ["not measured: reads"] if unread else []
    return "; ".join(said)


def price_of(problem: Problem, verdict: Verdict, proof: Sequence[Trial]) -> Price:
    """What was measured beside the objective, why what is missing was not, and large losses.

    ``measured`` are names of metrics in ``change``; ``not_measured`` gives a reason for each that
    is not there; ``losses`` are surely worse, and by more than a fifth. ``proof``: its runs.
    """
    rows = traded(problem.objective, verdict.changes)
    beside = [name for name in (*READS, *_MEMORY) if name not in problem.objective.metrics]
    load = problem.confirm or problem.workload
    why = why_unread(load) or ("" if problem.read_rounds(proves=True) else "not requested")
    warnings = [warning for trial in proof for warning in trial.warnings]
    return Price(
        measured=[name for name in beside if name in verdict.changes],
        not_measured={
            name: why or why_read_untold(name, warnings) or "a run of the proof lacks the metric"
            for name in READS
            if name not in verdict.changes
        },
        losses=[
            Loss(metric=each.metric, name=each.name, **each.change.document())
            for each in rows
            if each.lost
        ],
    )


def _by_group(rows: Sequence[Traded]) -> dict[str, list[Traded]]:
    """By the name of the largest group that is whole among these metrics, or their own."""
    names = {row.metric for row in rows}
    groups: dict[str, list[Traded]] = {}
    for row in rows:
        group = next((words for words, of in _GROUPS.items() if row.metric in of <= names), "")
        groups.setdefault(group or row.name, []).append(row)
    return groups


def _has_ends(row: Traded, verdict: Verdict) -> bool:
    """Whether both values are told: no percentage says how a share, or what was 0, has changed."""
    sides = (verdict.baseline, verdict.winner)
    if not all(row.metric in side for side in sides):
        return False
    return is_share(row.metric) or verdict.baseline[row.metric] == 0


def _ends(row: Traded, verdict: Verdict) -> str:
    """``stalls from 0.1% to 2% of the time``."""
    before, after = (side[row.metric] for side in (verdict.baseline, verdict.winner))
    if not is_share(row.metric):
        return f"{row.name} from {format_metric(row.metric, before)} to " + format_metric(
            row.metric, after
        )
    of = " of the time" if row.metric == "stall_percent" else ""
    return f"{row.name} from {before:.2g}% to {after:.2g}%{of}"


def _moved(rows: Sequence[Traded]) -> list[str]:
    """Changes on one side, a group of reads as the range of its changes."""
    said = []
    for name, members in _by_group(rows).items():
        members.sort(key=lambda row: abs(row.change.percent))
        ends = dict.fromkeys((members[0].percent, members[-1].percent))
        said.append(f"{name} {' to '.join(ends)}")
    return said


def _not_shown(rows: Sequence[Traded], level: Metrics) -> list[str]:
    """What is not significant; where over a fifth may be lost, how much, and what would show.

    ``level`` are the baseline's metrics: of a percentage such as stalls a loss is told in points.
    """
    said = []
    for name, members in _by_group(rows).items():
        feared = max(row.feared for row in members)
        metric, sign = members[0].metric, 1 if members[0].up_is_worse else -1
        seen = max((row.detectable or 0.0 for row in members), default=0.0)
        ends = [
            format_change(metric, sign * end, level.get(metric))
            if is_share(metric)
            else f"{sign * end:+.0f}%"
            for end in (feared, seen)
        ]
        shown = f", detectable from {ends[1]}" if seen else ""
        said.append(f"{name} (up to {ends[0]}{shown})" if feared > LOSS else name)
    return said


def _listed(words: Sequence[str]) -> str:
    *first, last = words or ("",)
    return f"{', '.join(first)} and {last}" if first else last
