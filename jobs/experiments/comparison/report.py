"""What a comparison says and leaves in its folder: sentences, result.json, CSV files, a page."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, replace
from functools import lru_cache
from pathlib import Path
from typing import Any

from jinja2 import Environment
from markupsafe import Markup

from jobs.charts.changes import changes_chart, runs_chart
from jobs.charts.chart import Chart, axis
from jobs.experiments.comparison.comparison import ComparisonResult, Table
from jobs.experiments.comparison.subject import Subject
from jobs.experiments.interleaved import RUNS, MeasuredRun
from jobs.experiments.upgrade.comparison import MetricChange
from jobs.experiments.upgrade.verdict import change_in_words
from jobs.report.report import data, metric_amount, p_value
from jobs.results.output_folder import csv_text, json_text, rows_as_csv, write_files
from jobs.results.pages import PLACE, page_environment, whole_page
from optimizer.objective.objective import Term
from sampler.common.byte_size import format_bytes
from sampler.parameters.parameter import Value
from sampler.runner.outcome import TrialState
from sampler.workload.metric_units import unit_of
from sampler.workload.prepare import Prepare
from sampler.workload.workload import Workload


def comparison_cautions(subjects: Sequence[Subject]) -> list[str]:
    """What must be known before the figures are read: unequal builds, memory, odd options."""
    every = [w for w in subjects[0].warnings if all(w in each.warnings for each in subjects)]
    told = [f"All: {warning}" for warning in every]
    told += [f"{each.name}: {w}" for each in subjects for w in each.warnings if w not in every]
    facts = [each.build.facts for each in subjects]
    for what, states in (
        ("assertions", {each.assertions for each in facts if each}),
        ("an optimising compiler", {each.optimised for each in facts if each}),
    ):
        if len(states) > 1:
            told.append(
                f"One build was made with {what}, another without: TIME and RATE differ for that "
                "alone"
            )
    versions = {each.name: each.build.facts.version for each in subjects if each.build.facts}
    if len(set(versions.values())) > 1:
        named = ", ".join(f"{name} {version}" for name, version in versions.items())
        told.append(
            f"They run different versions of RocksDB ({named}): what differs may be the version's "
            "doing alone"
        )
    if len({each.memories for each in subjects}) > 1:
        told.append(
            "They do not hold the same memory: more memtable and cache buys most metrics something"
        )
    same = {
        (each.build.program, each.side.options, each.side.base, str(each.values))
        for each in subjects
    }
    if len(same) == 1:
        told.append("All sides are the same: what differs is noise")
    return told


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
        *(f"{name} {_plainly(value)}" for name, value in workload.flags),
    ]
    what = _benchmarks(workload.benchmarks, workload)
    return f"{workload.name}: {what}{before}; {', '.join(facts)}"


def _benchmarks(names: Sequence[str], of: Workload | Prepare) -> str:
    """Every thread does ``num`` operations of each, unless a flag says another number."""
    threads = "1 thread" if of.threads == 1 else f"{of.threads} threads"
    return f"{', '.join(names)} (num {of.num:,}, {threads})"


def _plainly(value: Value) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def share_percent(share: float) -> str:
    """A share as a percentage of two digits, without an exponent: 0.0123 is ``1.2%``."""
    return f"{float(f'{100 * share:.2g}'):.12g}%"


def comparison_sentences(found: Sequence[Table]) -> list[str]:
    """A line for each workload and pair; never empty."""
    return [line for table in found for line in _lines(table)]


def _lines(table: Table) -> list[str]:
    where = f"{table.workload}, {table.after} against {table.before}"
    lines = [
        f"{where}: {name} failed in {count} of {table.rounds} runs: "
        f"{' '.join(table.failure[name].split())}"
        for name, count in table.failed.items()
        if count
    ]
    if not table.rows:
        return [*lines, f"{where}: too few rounds ended well to compare anything"]
    parts = []
    for how, name in (("better", table.after), ("worse", table.before)):
        told = [_told(row) for row in table.rows.values() if table.better(row.metric) == name]
        if told:
            parts.append(f"{how} in {', '.join(told)}")
    unknown = [name for name in table.rows if table.better(name) is None]
    if unknown:
        parts.append(f"no difference shown in {', '.join(unknown)}")
    return [*lines, f"{where}: {'; '.join(parts)}"]


def _told(row: MetricChange) -> str:
    return f"{row.metric} {change_in_words(row)}"


_DRAWN = ("rate", "time")  # of each workload, whichever it has first


def comparison_html(compared: ComparisonResult) -> str:
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
        "bytes": format_bytes,
        "percent": share_percent,
        "data": data,
        "amount": metric_amount,
        "p": p_value,
        "difference": change_in_words,
    }
    return environment


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
            runs_chart(f"turns-{place}", drawn, unit_of(drawn), _points(mine, names, drawn))
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
    chart = changes_chart(rows, terms, could)
    if chart is None:
        return None
    layout = dict(chart.layout)
    against = f"{table.after} against {table.before}"
    layout["xaxis"] = {**layout["xaxis"], **axis(f"{against}, %")}
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
            if run.side == name and run.state == TrialState.DONE.value and metric in run.metrics
        ]
        for name in names
    }


RESULT, TABLE, RUNS_CSV, REPORT = "result.json", "comparison.csv", "runs.csv", "report.html"


def write_comparison(compared: ComparisonResult, out: Path) -> list[Path]:
    """Writes the files, each whole or not at all; returns them, the runs first.

    Raises:
        InputError: One cannot be written.
    """
    content = {
        RESULT: json_text(compared.document),
        TABLE: table_csv(compared),
        RUNS_CSV: runs_csv(compared),
        REPORT: whole_page(comparison_html(compared)),
    }
    return [out / RUNS, *write_files(out, content)]


def table_csv(compared: ComparisonResult) -> str:
    """One row for each workload, pair of subjects and metric."""
    return rows_as_csv(
        [
            {
                "workload": table.workload,
                "metric": name,
                "unit": unit_of(name),
                "before": table.before,
                "after": table.after,
                "median_before": row.old,
                "median_after": row.new,
                "percent": row.change.percent,
                "low": row.change.low,
                "high": row.change.high,
                "p": row.change.p,
                "p_holm": row.p_holm,
                "rounds": row.pairs,
                "could_show_percent": 100 * row.smallest_change,
                "better": table.better(name),
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
