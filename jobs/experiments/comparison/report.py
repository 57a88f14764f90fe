"""What a comparison leaves in its folder beside its runs: result.json, two CSV files, a page."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, replace
from typing import Any

from jobs.charts.changes import changes_chart, runs_chart
from jobs.charts.chart import Chart, axis
from jobs.experiments.comparison.comparison import ComparisonResult
from jobs.experiments.comparison.tables import Table, load_words
from jobs.experiments.interleaved import MeasuredRun
from jobs.results.output_folder import REPORT, RESULT, csv_text, json_text, rows_as_csv
from jobs.results.pages import document_html
from optimizer.objective.objective import Term
from sampler.workload.metric_units import metric_unit

_DRAWN = ("rate", "time")  # of each workload, whichever it has first


def comparison_html(compared: ComparisonResult) -> str:
    """The page, with a place for what draws its plots."""
    return document_html(
        "comparison.html",
        asked=compared.asked,
        document=compared.document,
        cautions=compared.cautions,
        verdict=compared.verdict,
        parts=[_part(place, compared, table) for place, table in enumerate(compared.tables)],
        machine=compared.document["machine"],
    )


def _part(place: int, compared: ComparisonResult, table: Table) -> Mapping[str, Any]:
    """One workload and pair: its table and its plots."""
    mine = [run for run in compared.runs if run.case == table.workload]
    drawn = next((name for name in _DRAWN if name in table.rows), None)
    charts = [_differences(place, table)]
    # With three subjects all of them are drawn once, beside the first pair.
    first = all(each.workload != table.workload for each in compared.tables[:place])
    if drawn and first:
        names = [subject.name for subject in compared.asked.subjects]
        charts.append(
            runs_chart(f"turns-{place}", drawn, metric_unit(drawn), _points(mine, names, drawn))
        )
    (load,) = (each for each in compared.asked.workloads if each.name == table.workload)
    shown = [chart for chart in charts if chart]
    return {"table": table, "load": load_words(load), "charts": shown}


def _differences(place: int, table: Table) -> Chart | None:
    rows = [(name, asdict(row.change)) for name, row in table.rows.items()]
    terms = [Term(name, row.better) for name, row in table.rows.items()]
    could = {name: 100 * row.smallest_change for name, row in table.rows.items()}
    chart = changes_chart(rows, terms, could)
    if chart is None:
        return None
    against = f"{table.after} against {table.before}"
    layout = {**chart.layout, "xaxis": {**chart.layout["xaxis"], **axis(f"{against}, %")}}
    # The chart's own title goes by each interval alone, the table by what is corrected together.
    title = f"{against}, each metric by itself"
    return replace(chart, name=f"differences-{place}", title=title, layout=layout)


def _points(
    runs: Sequence[MeasuredRun], names: Sequence[str], metric: str
) -> dict[str, list[tuple[int, float]]]:
    return {
        name: [
            (run.round, run.metrics[metric])
            for run in sorted(runs, key=lambda each: each.round)
            if run.side == name and run.done and metric in run.metrics
        ]
        for name in names
    }


TABLE, RUNS_CSV = "comparison.csv", "runs.csv"


def comparison_files(compared: ComparisonResult) -> dict[str, str]:
    """The files by name."""
    return {
        RESULT: json_text(compared.document),
        TABLE: table_csv(compared),
        RUNS_CSV: runs_csv(compared),
        REPORT: comparison_html(compared),
    }


def table_csv(compared: ComparisonResult) -> str:
    """One row for each workload, pair of subjects and metric."""
    return rows_as_csv(
        [
            {
                "workload": table.workload,
                "metric": name,
                "unit": metric_unit(name),
                "before": table.before,
                "after": table.after,
                "median_before": row.old,
                "median_after": row.new,
                **table.difference(name),
            }
            for table in compared.tables
            for name, row in table.rows.items()
        ]
    )


def runs_csv(compared: ComparisonResult) -> str:
    """One row for each run that counts, with all its metrics."""
    metrics = list(dict.fromkeys(name for run in compared.runs for name in run.metrics))
    head = ["round", "workload", "subject", "started_at", "state", "seconds", *metrics, "failure"]
    rows = (
        [run.round, run.case, run.side, run.started_at, run.state, run.seconds,
         *(run.metrics.get(name) for name in metrics), run.failure]
        for run in compared.runs
    )  # fmt: skip
    return csv_text(head, rows)
