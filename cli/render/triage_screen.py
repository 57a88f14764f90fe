"""The triage of a change between nights, on the terminal."""

from collections.abc import Mapping
from typing import Any

from rich.console import Console

from cli.render.screen import say
from jobs.regression.triage import build_words, counter_words
from optimizer.budget.power import p_words


def show_triage(console: Console, document: Mapping[str, Any]) -> None:
    """Since when, what moved, what else changed, the counters, and the commands to run."""
    if document["night"] is None:
        say(console, f"{document['batch']}: no change of level was found")
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
    say(console, f"Measured that night and not changed: {', '.join(document['steady']) or '-'}")
    for item in document["items"]:
        _show_item(console, item)
    say(console, document["caution"])


def _show_item(console: Console, item: Mapping[str, Any]) -> None:
    say(console, "", item["item"])
    for side in ("before", "after"):
        hosts = ", ".join(item["hosts"][side]) or "an unknown host"
        build = build_words(item["builds"][side])
        say(console, f"  {side}: job {item['jobs'][side]}, {build}, on {hosts}")
    changed = [f"{each['words']} ({each['at'][:10]})" for each in item["environment"]]
    changed += [
        f"default of {each['name']} changed from {each['before']} to {each['after']}"
        for each in item["options"]
    ]
    for line in changed or ["nothing that is recorded of the machine and RocksDB changed"]:
        say(console, f"  {line}")
    nights = item["nights"]
    say(
        console,
        f"  runs of the default, {nights['before']} nights before, {nights['after']} after:",
    )
    for row in item["counters"]:
        was, now = (counter_words(row["name"], row[side]) for side in ("before", "after"))
        change = "" if row["percent"] is None else f" ({row['percent']:+.1f}%)"
        apart = ", the nights apart" if row["apart"] else ""
        say(console, f"    {row['name']}: {was} before, {now} after{change}{apart}")
    note = f" ({item['note']})" if item["command"] and item["note"] else ""
    say(console, f"  Measure both again: {item['command'] or item['note']}{note}")
