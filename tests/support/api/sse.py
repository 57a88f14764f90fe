"""Server-sent events as a browser reads them."""

import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Event:
    kind: str
    data: Any
    id: str | None


def events(lines: Iterable[str]) -> Iterator[Event]:
    """The events of a stream of lines, each as soon as it is whole; comments are left out."""
    fields: dict[str, str] = {}
    for line in lines:
        if line:
            name, _, value = line.partition(":")
            fields[name] = value.removeprefix(" ")
        elif "event" in fields:
            yield Event(fields["event"], json.loads(fields["data"]), fields.get("id"))
            fields = {}
        else:
            fields = {}


def tags(found: Iterable[Event]) -> list[tuple[str, int]]:
    """Trials by number, the rest by kind."""
    return [(e.kind, e.data["number"] if e.kind == "trial" else e.data["id"]) for e in found]
