"""What a comparison says: tables of each metric, sentences, and its CSV files and page."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, replace
from typing import Any

from jobs.charts.changes import changes_chart, runs_chart
from jobs.charts.chart import Chart, axis, drawable
from jobs.experiments.experiment import MeasuredRun, Sets
from jobs.experiments.paired import CaseChange, compare_cases
from jobs.results.output_folder import REPORT, csv_text, rows_as_csv
from jobs.results.pages import document_html
from optimizer.objective.objective import Term
from sampler.common.errors import InputError
from sampler.workload.metric_table import better, db_bench_metrics, metric_unit, shown_in
from sampler.workload.workload import Prepare, Workload


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
        **asdict(row.change),
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


def tables(
    sets: Sets,
    workloads: Sequence[str],
    before: str,
    after: Sequence[str],
    metrics: Sequence[str],
) -> list[CaseChange]:
    """Compares each of ``after`` with ``before``, workload by workload.

    The family of Holm's correction is everything that is asked: if nothing differs, the chance
    that anything is called different is 5% at most.
    """
    terms = [Term(name, better(name) or "min") for name in metrics]
    return compare_cases(sets, before, after, workloads, terms)


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
        told = [f"{row.metric} {row.in_words}" for row in found]
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
    rows = [(name, asdict(row.change)) for name, row in table.metrics.items()]
    terms = [Term(name, row.better) for name, row in table.metrics.items()]
    could = {name: 100 * row.smallest_change for name, row in table.metrics.items()}
    chart = changes_chart(rows, terms, could)
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
