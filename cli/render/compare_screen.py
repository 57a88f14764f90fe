"""What `rocktune compare` shows: what is compared, the runs, the table, and what it says."""

from __future__ import annotations

from rich.console import Console
from rich.table import Table

from cli.render.screen import plain
from jobs.experiments.comparison.comparison import ComparisonRequest, ComparisonResult
from jobs.experiments.comparison.tables import load_words
from jobs.results.figures import metric_amount, p_figure, share_percent
from sampler.common.byte_size import format_bytes


def show_subjects(console: Console, asked: ComparisonRequest) -> None:
    """One line a subject: what it is, what runs it, what it holds in memory; one a workload."""
    for each in asked.subjects:
        facts = each.build.facts
        version = f"RocksDB {facts.version}, " if facts else ""
        console.print(
            f"{each.name}: {plain(each.side.what)}; {version}{plain(each.build.program)}, "
            f"memtables and cache {format_bytes(each.memory)}",
            soft_wrap=True,
        )
    for workload in asked.workloads:
        console.print(plain(load_words(workload)), soft_wrap=True)


def show_compared(console: Console, compared: ComparisonResult) -> None:
    """The table, then the findings in words."""
    pairs = list(dict.fromkeys((each.before, each.after) for each in compared.tables))
    for before, after in pairs:
        if any(t.rows for t in compared.tables if (t.before, t.after) == (before, after)):
            console.print(_table(compared, before, after))
    console.print(
        "Medians; differences of runs next to each other with 95% intervals; p corrected over "
        "everything compared (Holm). Could show: what these rounds show 8 times in 10, each "
        "metric by itself.",
        soft_wrap=True,
    )
    for sentence in compared.verdict:
        console.print(plain(sentence), soft_wrap=True)


def _table(compared: ComparisonResult, before: str, after: str) -> Table:
    table = Table(box=None, pad_edge=False, header_style="bold")
    for title in ("workload", "metric"):
        table.add_column(title)
    for title in (before, after, f"{after} against {before} (95% interval)", "p"):
        table.add_column(title, justify="right")
    table.add_column("better")
    table.add_column("could show", justify="right")
    for each in compared.tables:
        if (each.before, each.after) != (before, after):
            continue
        workload = plain(each.workload)
        for name, row in each.rows.items():
            table.add_row(
                workload,
                name,
                metric_amount(row.old, name),
                metric_amount(row.new, name),
                row.in_words,
                p_figure(row.p_holm),
                each.better(name) or "",
                share_percent(row.smallest_change),
            )
            workload = ""
    return table
