"""Sections on a terminal: what finished jobs and experiments found, and the table of a batch."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table as RichTable
from rich.text import Text as RichText

from cli.render.screen import bare_table, if_known, say
from db.schema.job_row import JobKind
from jobs.report.changed import contributed_section, warm_start_lines
from jobs.report.section import Block, Cell, Items, Section, Table, Text, numbered
from jobs.report.sections import importance_lines, sections
from jobs.report.verdict import limit_lines, noise_line, power_lines
from optimizer.results.document import Result, tested_fitness
from sampler.common.text import cleaned
from sampler.workload.metric_table import shown_in

TOP = 6  # contributors
_SIDES = ("baseline", "best")  # values of options may be long
_WIDE = 100  # columns of a terminal
_STYLES = {"better": "green", "worse": "red", "not significant": "dim"}


def print_section(console: Console, section: Section) -> None:
    """Prints its texts and tables; charts are for pages."""
    for block in section.blocks:
        print_block(console, block)


def print_block(console: Console, block: Block) -> None:
    """Prints a text, a list or a table; a chart is left out."""
    match block:
        case Text(style="strong"):
            for part in block.words.removesuffix(".").split("; "):
                say(console, RichText(f"{part[:1].upper()}{part[1:]}.", "bold"))
        case Text():
            say(console, block.words)
        case Items():
            say(console, *(f"  {line}" for line in block.lines))
        case Table():
            console.print(_drawn(console, block))
            say(console, *filter(None, [block.caption]))


def _drawn(console: Console, table: Table) -> RichTable:
    """What stands below a figure, where that has a title, and its mark have their own columns."""
    found = RichTable(box=None, pad_edge=False, header_style="bold")
    rows = [[Cell(each) if isinstance(each, str) else each for each in row] for row in table.rows]
    apart = [
        (bool(column.under), any(row[place].mark for row in rows))
        for place, column in enumerate(table.columns)
    ]
    narrow = console.width < _WIDE
    for place, (column, (under, mark)) in enumerate(zip(table.columns, apart, strict=True)):
        found.add_column(
            column.name,
            justify="right" if column.figures else "left",
            # A name is copied; figures are cut rather than wrapped.
            no_wrap=place == 0 or (column.figures and column.name not in _SIDES),
            overflow="fold",
            max_width=10 if narrow and column.name in _SIDES else None,
        )
        if under:
            found.add_column(column.under, justify="right" if column.figures else "left")
        if mark:
            found.add_column("")
    before = ""
    for row in rows:
        cells: list[str | RichText] = []
        for cell, (under, mark) in zip(row, apart, strict=True):
            cells.append(cell.text)
            cells += [cell.under] if under else []
            cells += [RichText(cell.mark, _STYLES.get(cell.mark, ""))] if mark else []
        found.add_row("" if row[0].text == before else row[0].text, *cells[1:])
        before = row[0].text
    return found


def print_outcome(
    console: Console,
    document: Mapping[str, Any],
    *,
    job: int | None = None,
    out: Path | None = None,
    place: str | None = None,
    verbose: bool = False,
) -> None:
    """Prints the verdict, gains and costs, the changed options and what to do next.

    ``job`` and ``out``, its number and folder, complete the commands, as does ``place``, the
    option that names where the job is kept. ``verbose`` adds how it was measured, why the winner
    wins, and what matters.
    """
    document = cleaned(document)  # a line of another's stays one line
    result = Result.read(document)
    told = sections(result, job="ID" if job is None else job, out=out)
    print_section(console, told["verdict"])
    for name in ("trade", "changed"):
        if told[name].blocks:
            say(console, "")
            print_section(console, told[name])
    if result.contributions:  # its strategy has nothing to rank by
        say(console, "")
        print_section(console, contributed_section(result.contributions, TOP))
    say(console, "")
    print_section(console, told["reasons"])
    unranked = result.contributions or not result.verdict
    ranking = [] if unranked else importance_lines(result)
    limits = limit_lines(result) if result.best else []
    power = [] if verbose else power_lines(result)  # it is told with the proof
    say(console, *limits, *told["beside"].words, *power, *ranking[:1])
    if verbose:
        _print_details(console, result, told)
        say(console, *ranking[1:])
    say(console, "", RichText(told["next"].title, "bold"))
    print_section(console, told["next"])
    more = []
    if result.verdict:
        where = f"{out}/report.html" if out else "`rocktune report ID`"
        more.append(f"See the plots: {where}")
    if result.verdict and not verbose:
        more.append("See how it was measured: `rocktune show ID --verbose`")
    more += [f"Give these commands the same {place}."] if place else []
    say(console, *(f"  {numbered(line, 'ID' if job is None else job)}" for line in more))


def _print_details(console: Console, result: Result, told: Mapping[str, Section]) -> None:
    """How it was measured, why the winner wins, what else was found."""
    ended = result.search.why if result.search else ""
    print_section(console, told["proof"])
    say(
        console,
        *told["path"].words,
        *warm_start_lines(result),
        noise_line(result),
        *([f"When the search ended: {ended}."] if ended else []),
    )


def show_told(console: Console, kind: JobKind, result: Mapping[str, Any]) -> None:
    """What an experiment found: its tables, then its findings in words."""
    from jobs.experiments.told import told_of

    told = told_of(kind, result)
    for each in told.tables:
        print_block(console, each)
    say(console, *filter(None, [told.note]), *told.lines)


def batch_table(document: Mapping[str, Any]) -> RichTable:
    """The table of a batch.json; fitness and changes, in percent, are those that the proof tested.

    Metrics that none of its jobs measured have no column.
    """
    items = document["items"]
    metrics = [name for name in shown_in("batch") if any(name in item["change"] for item in items)]
    figures = ("trials", "fitness", "95% interval", *(name.upper() for name in metrics))
    table = bare_table(("job",), figures, ("proven, or why not", "folder"))
    for item in items:
        fitness = tested_fitness(item["fitness"])
        low, high = (item["fitness"][name] for name in ("low", "high"))
        changes = [(item["change"].get(name) or {}).get("percent") for name in metrics]
        table.add_row(
            item["item"],
            if_known(item["trials"], "{}"),
            if_known(fitness, "{:.0f}"),
            "" if low is None or high is None else f"{low:.0f} to {high:.0f}",
            *(if_known(percent, "{:+.1f}%") for percent in changes),
            _batch_verdict(item),
            item["folder"] if item["state"] == "done" else "",
        )
    return table


def _batch_verdict(item: Mapping[str, Any]) -> str:
    if item["state"] != "done":
        return f"{item['state']}: {item['error']}" if item["error"] else str(item["state"])
    if item.get("kind") not in (None, "tune"):  # an experiment: what it says
        return item["why"] or "done"
    if item["confirmed"]:
        return "yes"
    return f"no: {item['why'] or 'no candidate could be measured'}"
