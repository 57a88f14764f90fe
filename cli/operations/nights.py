"""`rocktune nights`: the nights of a batch beside each other, and what has changed since when."""

import math
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any

from rich.console import Console
from rich.table import Table
from typer import Argument, Option

from cli.options.connections import Db, connected, require_there
from cli.options.exits import Exit
from cli.render.screen import bare_table, json_alone, print_json, say, screen
from db.connection.migrate import require_current
from db.nightly.nights import nights_of_batch as read_nights
from jobs.regression.detection import RegressionReport, date_of, detect_regressions
from jobs.regression.report import name_of, regression_page, report_lines
from jobs.regression.triage import counter_words, triage_of
from optimizer.budget.power import p_words
from sampler.bench.installed import build_words
from sampler.common.atomic_write import write_output
from sampler.common.errors import InputError
from sampler.common.text import printable

EXAMPLES = """
Examples:
  rocktune nights nightly                        the last 14 nights, and all changes found
  rocktune nights nightly --out nights.html      all nights as charts
  rocktune nights nightly --json                 for a program
  rocktune nights nightly --triage               the newest worsening, and what else changed
  rocktune nights nightly || mail -s "slower" me   3: worse on the newest night
"""


def nights_command(
    name: Annotated[str, Argument(metavar="NAME", help="Batch name.")],
    last: Annotated[int, Option(help="Nights in the table; all nights are judged.", min=1)] = 14,
    false_alarms: Annotated[
        float, Option(help="Accepted false alarms of the whole batch in 100 nights.")
    ] = 1.0,
    out: Annotated[
        Path | None, Option(help="HTML page to write, with a chart of every series.")
    ] = None,
    triage: Annotated[
        bool,
        Option(
            help="Show the newest worsening, what else changed then, and how to measure it again."
        ),
    ] = False,
    night: Annotated[
        int | None, Option(help="With --triage: number of the batch that the change began with.")
    ] = None,
    as_json: Annotated[bool, json_alone("one JSON document")] = False,
    db: Db = None,
) -> int:
    """Shows the nights of a batch, and detects regressions.

    The baseline and the winner of each night are compared with the nights before. A change of
    level is shown with its date, size and p-value, and with what changed then in kernel,
    RocksDB and machine. Rates of false alarms and delays: docs/results/watch.md.

    Exit status: 0 no worsening on the newest night, 3 a worsening, 2 bad input.
    """
    if not (math.isfinite(false_alarms) and 0 < false_alarms <= 100):
        raise InputError("--false-alarms", f"{false_alarms} is not in the range above 0 to 100")
    if night is not None and not triage:
        raise InputError("--night", "works only with --triage; add it")
    require_there(db)
    with connected(db) as engine:
        require_current(engine)
        found = read_nights(engine, name)
        if not found:
            raise InputError("NAME", f"no batch named {name!r} has ended in this database")
        watched = detect_regressions(found, per_100_nights=false_alarms)
        document = triage_of(engine, watched, name, night) if triage else None
    if out is not None:
        write_output(out, regression_page(watched, name))
    console = screen()
    if as_json:
        print_json(document or watched.document())
    elif document:
        _show_triage(console, document)
    else:
        console.print(_table(watched, last))
        say(console, *report_lines(watched))
    if out is not None and not as_json:
        say(console, f"Written to {out}")
    return Exit.ANSWER_IS_NO if watched.worsened else Exit.DONE


def _table(watched: RegressionReport, last: int) -> Table:
    """A row a series, a column a night; ``!``: a change begins, ``?``: the night stands out."""
    shown = range(max(0, len(watched.nights) - last), len(watched.nights))
    marks = {(each.series, each.night): "?" for each in watched.outliers}
    marks |= {(each.series, each.alarm.since): "!" for each in watched.findings}
    table = bare_table(("item", "figure"))
    for night in shown:
        table.add_column(date_of(watched.nights[night].at)[5:], justify="right")
    before = ""
    for series in watched.series:
        unit = ", %" if series.kind == "best" and series.logarithmic else ""
        cells = [
            f"{series.shown[night]:.4g}{marks.get((series, night), '')}"
            if math.isfinite(series.shown[night])
            else ""
            for night in shown
        ]
        item = "" if series.item == before else printable(series.item)
        table.add_row(item, printable(name_of(series) + unit), *cells)
        before = series.item
    return table


def _show_triage(console: Console, document: Mapping[str, Any]) -> None:
    if document["night"] is None:
        say(console, f"{document['batch']}: no change of level found")
        return
    night, before = (
        f"{document[each]['at'][:10]} (batch {document[each]['batch']})"
        for each in ("night", "before")
    )
    say(console, f"{document['batch']}: since {night}; the night before is {before}")
    for each in document["moved"]:
        low, high, on = (each[name][:10] for name in ("since_low", "since_high", "reported"))
        dated = "" if low == high else f", between {low} and {high}"
        told = f"{each['words']}, {'worse' if each['worse'] else 'better'}{dated}"
        say(console, f"  {each['item']}: {told}; {p_words(each['p'])}, found {on}")
    say(console, f"Measured that night, unchanged: {', '.join(document['steady']) or '-'}")
    for item in document["items"]:
        _show_item(console, item)
    say(console, document["caution"])


def _show_item(console: Console, item: Mapping[str, Any]) -> None:
    say(console, "", item["item"])
    for side in ("before", "after"):
        hosts = ", ".join(item["hosts"][side]) or "unknown hosts"
        build = build_words(item["builds"][side])
        say(console, f"  {side}: job {item['jobs'][side]}, {build}, on {hosts}")
    changed = [f"{each['words']} ({each['at'][:10]})" for each in item["environment"]]
    changed += [
        f"default of {each['name']} changed from {each['before']} to {each['after']}"
        for each in item["options"]
    ]
    for line in changed or ["no recorded property of the machine or RocksDB changed"]:
        say(console, f"  {line}")
    nights = item["nights"]
    say(
        console,
        f"  runs of the baseline, {nights['before']} nights before, {nights['after']} after:",
    )
    for row in item["counters"]:
        was, now = (counter_words(row["name"], row[side]) for side in ("before", "after"))
        change = "" if row["percent"] is None else f" ({row['percent']:+.1f}%)"
        apart = ", without overlap" if row["apart"] else ""
        say(console, f"    {row['name']}: {was} before, {now} after{change}{apart}")
    note = f" ({item['note']})" if item["command"] and item["note"] else ""
    say(console, f"  Measure both sides again: {item['command'] or item['note']}{note}")
