"""What an experiment found, for a terminal and a page alike: tables, then sentences."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from db.jobs.job_store import JobStore
from db.schema.job_row import JobKind
from jobs.report.changed import minimal_lines
from jobs.report.section import Table, columns
from jobs.results.figures import estimate_words, figure, metric_amount, share_percent, step_words
from optimizer.budget.power import p_figure
from optimizer.confirmation.paired_tests import Change
from optimizer.explained import DocumentPart, Explanation, MeasuredGain
from sampler.workload.metric_table import Direction


@dataclass(frozen=True)
class Told:
    """What an experiment found."""

    lines: Sequence[str]
    tables: Sequence[Table]
    well: bool  # whether the answer is the one that is hoped for; else commands end with 3
    note: str = ""  # how the tables are read


class ComparedMetric(Change):
    """A metric of a comparison."""

    medians: dict[str, float]  # by side
    p_holm: float
    better: str | None  # the side that is shown to be better
    could_show_percent: float


class ComparedCase(DocumentPart):
    """A workload on one side against another."""

    workload: str
    before: str
    after: str
    metrics: dict[str, ComparedMetric]


class ComparisonResult(DocumentPart):
    """What ``compare`` found."""

    verdict: list[str]
    tables: list[ComparedCase]


class MetricChange(DocumentPart):
    """A metric on the new side, compared with the old one."""

    metric: str
    old: float  # old, new: medians of the runs
    new: float
    pairs: int  # pairs in which both runs have the metric
    change: Change  # from old to new, by itself
    p_holm: float  # its p-value, corrected for all metrics of all cases
    # The smallest relative change that as many pairs with as much scatter show with a probability
    # of 0.8, by itself. A change that Holm's correction must let through as well has to be larger.
    smallest_change: float
    better: Direction  # the direction that is better, `min` or `max`
    significant: bool  # whether it is no chance, at 5% for the whole check
    worse: bool  # whether it is significant, and the wrong way


class CheckedCase(DocumentPart):
    """A configuration on both builds."""

    what: str
    metrics: dict[str, MetricChange]


class UpgradeResult(DocumentPart):
    """What ``upgrade-check`` found."""

    verdict: list[str]
    worse: bool
    cases: list[CheckedCase]


class ComparedFigure(DocumentPart):
    """A figure of a profiled database beside that of its load."""

    what: str
    database: float | None
    load: float | None  # the mean of its runs
    verdict: Literal["fits", "differs", "cannot tell", "unknown"]
    advice: str = ""  # what to change in the workload file, or how to learn the figure
    low: float | None = None  # low, high: 95% interval of the load's mean
    high: float | None = None
    runs: int = 0


class ProfileResult(DocumentPart):
    """What ``profile --check`` found: whether a load behaves like the database."""

    # Whether write amplification and the shape of the tree do, as far as both are told; None: the
    # runs cannot tell.
    fits: bool | None
    verdict: str  # a line for the whole
    rows: list[ComparedFigure]


_READ = (
    "Medians; paired differences with 95% intervals; p corrected over all tables (Holm). "
    "Detectable: the minimum detectable change of each metric (80% power)."
)


def told_of(kind: JobKind, document: Mapping[str, Any]) -> Told:
    """What the result of an experiment says.

    Raises:
        LookupError, ValueError: It is the result of no such experiment.
    """
    match kind:
        case JobKind.COMPARE:
            return _comparison(ComparisonResult.model_validate(document))
        case JobKind.UPGRADE_CHECK:
            return _upgrade(UpgradeResult.model_validate(document))
        case JobKind.PROFILE_CHECK:
            return _profile(ProfileResult.model_validate(document))
    return _explained(Explanation.model_validate(document))


FILES = "files"


def kept_files(store: JobStore, job_id: int) -> Mapping[str, Any]:
    """The ``files`` of a finished experiment by name, and the ``cautions``; none before."""
    return store.recall(job_id, FILES) or {"cautions": [], "files": {}}


def _comparison(found: ComparisonResult) -> Told:
    pairs = dict.fromkeys((each.before, each.after) for each in found.tables)
    tables = [_compared(found.tables, *pair) for pair in pairs]
    lines = [f"{line}." for line in found.verdict]
    return Told(lines, tables, all(each.metrics for each in found.tables), _READ)


def _compared(cases: Sequence[ComparedCase], before: str, after: str) -> Table:
    rows = [
        (
            case.workload,
            name,
            *(metric_amount(metric.medians[side], name) for side in (before, after)),
            metric.in_words,
            p_figure(metric.p_holm),
            metric.better or "",
            share_percent(metric.could_show_percent / 100),
        )
        for case in cases
        if (case.before, case.after) == (before, after)
        for name, metric in case.metrics.items()
    ]
    change = f"{after} against {before} (95% interval)"
    head = (("workload", "metric"), (before, after, change, "p"), ("better",), _COULD)
    return Table(columns(*head), rows)


_COULD = ("detectable",)


def _upgrade(found: UpgradeResult) -> Told:
    rows = [
        (
            case.what,
            name.upper(),
            figure(metric.old),
            figure(metric.new),
            metric.change.in_words,
            p_figure(metric.p_holm),
            "worse" if metric.worse else "better" if metric.significant else "",
            share_percent(metric.smallest_change),
        )
        for case in found.cases
        for name, metric in case.metrics.items()
    ]
    head = (("with", "metric"), ("old", "new", "change (95% interval)", "p"), ("",), _COULD)
    tables = [Table(columns(*head), rows)] if rows else []
    return Told(found.verdict, tables, not found.worse, _READ if rows else "")


def _profile(found: ProfileResult) -> Told:
    rows = [
        (
            each.what,
            "" if each.database is None else figure(each.database),
            _of_load(each),
            each.verdict,
            each.advice,
        )
        for each in found.rows
    ]
    head = (("figure",), ("database", "load"), ("verdict", "what to do"))
    return Told([found.verdict], [Table(columns(*head), rows)], bool(found.fits))


def _of_load(row: ComparedFigure) -> str:
    """A figure of the load, with the interval of its mean, if it has one."""
    if row.load is None:
        return ""
    low, high = row.low, row.high
    if low is None or high is None or figure(low) == figure(high):
        return figure(row.load)
    return f"{figure(row.load)} ({figure(low)} to {figure(high)})"


def _explained(found: Explanation) -> Told:
    measured = found.measured
    if measured is None or measured.runs is None:
        raise ValueError("the explanation has no runs")
    rows = [
        (step_words(step), _fitness(run))
        for step, run in zip(found.steps, measured.steps, strict=False)
    ]
    rows.append(("the winner against the baseline", _fitness(measured.winner)))
    runs, minimal = measured.runs, measured.minimal
    line = f"{runs.done} of {runs.total} runs succeeded, on {measured.host}."
    table = Table(columns(("change",), ("fitness, measured",)), rows)
    return Told([line, *minimal_lines(found)], [table], minimal is None or minimal.shown)


def _fitness(found: MeasuredGain | None) -> str:
    return "too few rounds" if found is None else estimate_words(found.fitness)
