"""What a batch found, as a table: a line for each of its jobs."""

from collections.abc import Mapping
from typing import Any

from rich.table import Table

from cli.render.screen import bare_table

_METRICS = ("waf", "sa", "time", "rate")


def batch_table(document: Mapping[str, Any]) -> Table:
    """The table of a batch.json; changes are those of the proof's fresh runs, in percent.

    Metrics that none of its jobs measured have no column.
    """
    items = document["items"]
    metrics = [name for name in _METRICS if any(name in item["change"] for item in items)]
    figures = ("trials", "fitness", "95% interval", *(name.upper() for name in metrics))
    table = bare_table(("item",), figures, ("confirmed, or why not", "folder"))
    for item in items:
        table.add_row(*_cells(item, metrics))
    return table


def _cells(item: Mapping[str, Any], metrics: list[str]) -> list[str]:
    fitness = item["fitness"]
    low, high = fitness["low"], fitness["high"]
    interval = "" if low is None or high is None else f"{low:.0f} to {high:.0f}"
    return [
        item["item"],
        "" if item["trials"] is None else str(item["trials"]),
        "" if fitness["fitness"] is None else f"{fitness['fitness']:.0f}",
        interval,
        *(_change(item["change"].get(name)) for name in metrics),
        _verdict(item),
        item["folder"] if item["state"] == "done" else "",
    ]


def _change(change: Mapping[str, Any] | None) -> str:
    percent = None if change is None else change["percent"]
    return "" if percent is None else f"{percent:+.1f}%"


def _verdict(item: Mapping[str, Any]) -> str:
    if item["state"] != "done":
        return f"{item['state']}: {item['error']}" if item["error"] else str(item["state"])
    if item.get("kind") not in (None, "tune"):  # an experiment: what it says
        return item["why"] or "done"
    if item["confirmed"]:
        return "yes"
    return f"no: {item['why'] or 'no candidate could be measured'}"
