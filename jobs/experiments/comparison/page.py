"""A comparison as one page that needs nothing else, once ``report_engine`` is in it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, replace
from functools import lru_cache
from typing import Any

from jinja2 import Environment
from markupsafe import Markup

from jobs.charts.changes import changes
from jobs.charts.chart import Chart, axis
from jobs.charts.turns import turns
from jobs.experiments.comparison.compared import Compared
from jobs.experiments.comparison.table import Table
from jobs.experiments.comparison.words import load_words, percent
from jobs.experiments.in_turn.runs_file import Run
from jobs.experiments.upgrade.verdict import change_in_words
from jobs.report.report import amount, data, p_value
from jobs.results.page_environment import page_environment
from jobs.results.report_engine import PLACE
from optimizer.objective.objective import Term
from sampler.common.byte_size import format_bytes
from sampler.runner.outcome import TrialState
from sampler.workload.metric_units import metric_unit

_DRAWN = ("rate", "time")  # of each workload, whichever it has first


def comparison_html(compared: Compared) -> str:
    """The page, with a place for what draws its plots."""
    page = _environment().get_template("comparison.html")
    return page.render(
        place=Markup(PLACE),
        asked=compared.asked,
        document=compared.document,
        cautions=compared.cautions,
        verdict=compared.verdict,
        parts=[_part(place, compared, table) for place, table in enumerate(compared.tables)],
        machine=compared.document["machine"],
    )


@lru_cache(maxsize=1)
def _environment() -> Environment:
    environment = page_environment()
    environment.filters |= {
        "bytes": format_bytes, "percent": percent, "data": data, "amount": amount, "p": p_value,
        "difference": change_in_words,
    }  # fmt: skip
    return environment


def _part(place: int, compared: Compared, table: Table) -> Mapping[str, Any]:
    """One workload and pair: its table and its plots."""
    mine = [run for run in compared.runs if run.case == table.workload]
    drawn = next((name for name in _DRAWN if name in table.rows), None)
    charts = [_differences(place, table)]
    # With three subjects all of them are drawn once, beside the first pair.
    first = all(each.workload != table.workload for each in compared.tables[:place])
    if drawn and first:
        names = [subject.name for subject in compared.asked.subjects]
        charts.append(
            turns(f"turns-{place}", drawn, metric_unit(drawn), _points(mine, names, drawn))
        )
    (load,) = (each for each in compared.asked.workloads if each.name == table.workload)
    return {
        "table": table,
        "load": load_words(load),
        "charts": [chart for chart in charts if chart],
    }


def _differences(place: int, table: Table) -> Chart | None:
    rows = [(name, asdict(row.change)) for name, row in table.rows.items()]
    terms = [Term(name, "max" if row.better == "max" else "min")
             for name, row in table.rows.items()]  # fmt: skip
    could = {name: 100 * row.smallest_change for name, row in table.rows.items()}
    chart = changes(rows, terms, could)
    if chart is None:
        return None
    layout = dict(chart.layout)
    against = f"{table.after} against {table.before}"
    layout["xaxis"] = {**layout["xaxis"], **axis(f"{against}, %")}
    # The chart's own title goes by each interval alone, the table by what is corrected together.
    title = f"{against}, each metric by itself"
    return replace(chart, name=f"differences-{place}", title=title, layout=layout)


def _points(
    runs: Sequence[Run], names: Sequence[str], metric: str
) -> dict[str, list[tuple[int, float]]]:
    return {
        name: [
            (run.round, run.metrics[metric])
            for run in sorted(runs, key=lambda each: each.round)
            if run.side == name and run.state == TrialState.DONE.value and metric in run.metrics
        ]
        for name in names
    }
