"""Paired runs compared, metric by metric: change, interval, p corrected for asking so often.

The core of comparisons and of upgrade checks: each pair was measured one after the other. Then
what a comparison says: tables of each metric, sentences, its CSV files and its page.
"""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from jobs.charts.changes import changes_chart, runs_chart
from jobs.charts.chart import Chart, axis, drawable
from jobs.experiments.experiment import MeasuredRun, Sets, Side
from jobs.experiments.told import MetricChange
from jobs.results.output_folder import REPORT, csv_text, rows_as_csv
from jobs.results.pages import document_html
from models.anova import holm
from optimizer.budget.power import LEAST_PAIRS, smallest_mean
from optimizer.confirmation.paired_tests import CONFIDENCE, Change, change, differences_of
from optimizer.objective.objective import Term
from sampler.common.errors import InputError
from sampler.workload.metric_table import db_bench_metrics, metric_unit, shown_in
from sampler.workload.workload import Prepare, Workload

SIGNIFICANT = 1 - CONFIDENCE
_MOST_LOG = 700.0


@dataclass(frozen=True, kw_only=True)
class CaseChange:
    """A case on a new side, compared with an old one."""

    case: str
    before: Side  # the old side, what is compared with
    after: Side  # the new one, what is compared
    metrics: Mapping[str, MetricChange]  # by metric; those with too few pairs are not in it
    pairs: int  # how many were measured
    failed: Mapping[Side, Sequence[MeasuredRun]]  # runs that did not end well, by side

    def better(self, metric: str) -> Side | None:
        """The side that is shown to be better; None where neither is."""
        found = self.metrics[metric]
        if not found.significant:
            return None
        return self.before if found.worse else self.after

    @property
    def worse(self) -> bool:
        """Whether a metric is worse, or the new side fails where the old one does not."""
        return self.fails or any(each.worse for each in self.metrics.values())

    @property
    def fails(self) -> bool:
        """Whether the new side fails where the old one does not.

        Where both fail: whether the new one does so surely more often (Fisher's exact test,
        one-sided), or so often that nothing of it can be compared and the old one's can.
        """
        failed_old, failed_new = (len(self.failed[side]) for side in (self.before, self.after))
        if not failed_old:
            return failed_new > 0
        good_old, good_new = self.pairs - failed_old, self.pairs - failed_new
        if good_new < LEAST_PAIRS <= good_old:
            return True
        from scipy.stats import fisher_exact  # takes a second to load, and is seldom asked

        table = np.array([[failed_new, good_new], [failed_old, good_old]])
        return bool(fisher_exact(table, alternative="greater").pvalue < SIGNIFICANT)


def compare_cases(
    sets: Sets,
    before: Side,
    after: Sequence[Side],
    cases: Sequence[str],
    terms: Sequence[Term],
) -> list[CaseChange]:
    """Compares every case on each of the sides ``after`` with the one ``before``, by metric.

    The family of Holm's correction is all metrics of all cases: if nothing changed, the chance
    that anything is called significant is 5% at most.
    """
    places = [(case, side) for case in cases for side in after]
    found = {
        (place, term): [*values]
        for place in places
        for term in terms
        if len(values := pair_values(sets, place[0], before, place[1], term.metric).values())
        >= LEAST_PAIRS
    }
    changes = [change(values) for values in found.values()]
    metrics: dict[tuple[str, Side], dict[str, MetricChange]] = {place: {} for place in places}
    for (place, term), each, p in zip(found, changes, holm_of(changes), strict=True):
        metrics[place][term.metric] = _metric(term, found[place, term], each, p)
    answers = []
    for case, side in places:
        mine = [runs for (_, name), runs in sets.items() if name == case]
        bad = {each: [r[each] for r in mine if not r[each].done] for each in (before, side)}
        answers.append(
            CaseChange(
                case=case, before=before, after=side, metrics=metrics[case, side],
                pairs=len(mine), failed=bad,
            )
        )  # fmt: skip
    return answers


def pair_values(
    sets: Sets, case: str, before: Side, after: Side, metric: str
) -> dict[int, tuple[float, float]]:
    """(old, new) by round, of the pairs that ended well on both sides."""
    pairs = [(number, r[before], r[after]) for (number, name), r in sets.items() if name == case]
    return {
        number: (old.metrics[metric], new.metrics[metric])
        for number, old, new in pairs
        if old.done and new.done and metric in old.metrics and metric in new.metrics
    }


def _metric(
    term: Term, values: Sequence[tuple[float, float]], found: Change, p: float
) -> MetricChange:
    differences, logarithmic = differences_of(values)
    smallest = smallest_mean(float(np.std(differences, ddof=1)), len(values))
    old, new = np.median(np.array(values), axis=0)
    significant = p < SIGNIFICANT
    return MetricChange(
        metric=term.metric,
        old=float(old),
        new=float(new),
        pairs=len(values),
        change=found,
        p_holm=p,
        smallest_change=math.expm1(min(smallest, _MOST_LOG)) if logarithmic else smallest,
        better=term.direction,
        significant=significant,
        worse=significant and (found.percent > 0) == (term.direction == "min"),
    )


def holm_of(changes: Iterable[Change]) -> list[float]:
    """The p-value of each, corrected for all of them."""
    # Holm leaves out only what was not asked.
    return [p for p in holm([each.p for each in changes]) if p is not None]


def table_document(table: CaseChange) -> dict[str, Any]:
    """One subject against another under one workload, as result.json holds it."""
    return {
        "workload": table.case,
        "before": table.before,
        "after": table.after,
        "rounds": table.pairs,
        "failed": {name: len(runs) for name, runs in table.failed.items()},
        "failure": {name: _failure(runs[0]) for name, runs in table.failed.items() if runs},
        "metrics": {
            name: {
                "unit": metric_unit(name),
                "medians": {table.before: row.old, table.after: row.new},
                **_difference(table, name),
            }
            for name, row in table.metrics.items()
        },
    }


def _failure(run: MeasuredRun) -> str:
    return run.failure or run.state


def _difference(table: CaseChange, metric: str) -> dict[str, Any]:
    """A metric's change, how sure it is, and for whom it speaks."""
    row = table.metrics[metric]
    return {
        **row.change.document(),
        "p_holm": row.p_holm,
        "rounds": row.pairs,
        "could_show_percent": 100 * row.smallest_change,
        "better": table.better(metric),
    }


def require_metrics(given: Sequence[str], workloads: Sequence[Workload]) -> tuple[str, ...]:
    """The metrics to compare, as asked for or the usual ones; an InputError of unknown ones."""
    known = dict.fromkeys(name for each in workloads for name in db_bench_metrics(each))
    for name in given:
        if name not in known:
            problem = f"there is no {name!r:.60}; choose one of {', '.join(known)}"
            raise InputError("metrics", problem)
    return tuple(dict.fromkeys(given)) or shown_in("compare")


def load_words(workload: Workload) -> str:
    """What a workload runs, in one line: benchmarks, sizes, threads, and how it ends."""
    before = ""
    if workload.prepare:
        before = f" after {_benchmarks(workload.prepare.benchmarks, workload.prepare)}"
    facts = [
        f"keys of {workload.key_size} B",
        f"values of {workload.value_size:,} B",
        f"settle {workload.owes}",
        f"scale {workload.scale}",
        *(f"{name} {str(v).lower() if isinstance(v, bool) else v}" for name, v in workload.flags),
    ]
    what = _benchmarks(workload.benchmarks, workload)
    return f"{workload.name}: {what}{before}; {', '.join(facts)}"


def _benchmarks(names: Sequence[str], of: Workload | Prepare) -> str:
    """Every thread does ``num`` operations of each, unless a flag says another number."""
    threads = "1 thread" if of.threads == 1 else f"{of.threads} threads"
    return f"{', '.join(names)} (num {of.num:,}, {threads})"


def comparison_sentences(found: Sequence[CaseChange]) -> list[str]:
    """A line for each workload and pair; never empty."""
    return [line for table in found for line in _lines(table)]


def _lines(table: CaseChange) -> list[str]:
    where = f"{table.case}, {table.after} against {table.before}"
    lines = [
        f"{where}: {name} failed in {len(runs)} of {table.pairs} runs: "
        f"{' '.join(_failure(runs[0]).split())}"
        for name, runs in table.failed.items()
        if runs
    ]
    if not table.metrics:
        return [*lines, f"{where}: too few rounds succeeded for a comparison"]
    parts = []
    for how, name in (("better", table.after), ("worse", table.before)):
        found = [row for row in table.metrics.values() if table.better(row.metric) == name]
        told = [f"{row.metric} {row.change.in_words}" for row in found]
        if told:
            parts.append(f"{how} in {', '.join(told)}")
    unknown = [name for name in table.metrics if table.better(name) is None]
    if unknown:
        parts.append(f"no difference shown in {', '.join(unknown)}")
    return [*lines, f"{where}: {'; '.join(parts)}"]


_DRAWN = ("rate", "time")  # of each workload, whichever it has first


def comparison_files(
    document: Mapping[str, Any],
    workloads: Sequence[Workload],
    runs: Sequence[MeasuredRun],
    found: Sequence[CaseChange],
) -> dict[str, str]:
    """Two CSV files and the page, without what draws its plots, by name.

    ``document`` is result.json, ``runs`` are all that count.
    """
    loads = {each.name: load_words(each) for each in workloads}
    parts = [
        {"table": table, "load": loads[table.case], "charts": _plots(place, found, runs)}
        for place, table in enumerate(found)
    ]
    return {
        "comparison.csv": _table_csv(found),
        "runs.csv": _runs_csv(runs),
        REPORT: document_html("comparison.html", document=document, parts=parts),
    }


def _plots(place: int, found: Sequence[CaseChange], runs: Sequence[MeasuredRun]) -> list[Chart]:
    """Of a table its differences, and of a workload's first one the runs of all subjects."""
    table = found[place]
    charts = [_differences(place, table)]
    drawn = next((name for name in _DRAWN if name in table.metrics), None)
    same = [each for each in found if each.case == table.case]
    if drawn and same[0] is table:
        points: dict[str, list[tuple[int, float]]] = {
            name: [] for name in (table.before, *(each.after for each in same))
        }
        for run in sorted(runs, key=lambda each: each.round):
            if run.case == table.case and run.done and drawn in run.metrics:
                points[run.side].append((run.round, run.metrics[drawn]))
        charts.append(runs_chart(f"turns-{place}", drawn, metric_unit(drawn), points))
    return drawable(charts)


def _differences(place: int, table: CaseChange) -> Chart | None:
    changes = {name: row.change for name, row in table.metrics.items()}
    terms = [Term(name, row.better) for name, row in table.metrics.items()]
    could = {name: 100 * row.smallest_change for name, row in table.metrics.items()}
    chart = changes_chart(changes, terms, could)
    if chart is None:
        return None
    against = f"{table.after} against {table.before}"
    across = {**chart.x, **axis(f"{against}, %")}
    # The chart's own title goes by each interval alone, the table by what is corrected together.
    title = f"{against}, each metric by itself"
    return replace(chart, name=f"differences-{place}", title=title, x=across)


def _table_csv(found: Sequence[CaseChange]) -> str:
    return rows_as_csv(
        [
            {
                "workload": table.case,
                "metric": name,
                "unit": metric_unit(name),
                "before": table.before,
                "after": table.after,
                "median_before": row.old,
                "median_after": row.new,
                **_difference(table, name),
            }
            for table in found
            for name, row in table.metrics.items()
        ]
    )


def _runs_csv(runs: Sequence[MeasuredRun]) -> str:
    metrics = list(dict.fromkeys(name for run in runs for name in run.metrics))
    head = ["round", "workload", "subject", "started_at", "state", "seconds", *metrics, "failure"]
    rows = (
        [run.round, run.case, run.side, run.started_at, run.state, run.seconds,
         *(run.metrics.get(name) for name in metrics), run.failure]
        for run in runs
    )  # fmt: skip
    return csv_text(head, rows)
