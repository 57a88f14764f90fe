"""What was different about the machine and the RocksDB from one night to the next."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from db.nightly.nights import Night


@dataclass(frozen=True)
class Difference:
    """One thing that changed.

    Attributes:
        night: The number of the first night that had it so.
        name: Of what: ``kernel``, ``rocksdb``, ``warnings``, ...
        before, after: As the results hold it; None where it was not known.
    """

    night: int
    name: str
    before: Any
    after: Any

    def words(self) -> str:
        """In a few words."""
        if isinstance(self.before, list) and isinstance(self.after, list):
            gone = [f"no longer {each!r}" for each in self.before if each not in self.after]
            new = [f"now {each!r}" for each in self.after if each not in self.before]
            return f"{self.name}: {', '.join(gone + new) or 'in another order'}"
        return f"{self.name} changed from {_told(self.before)} to {_told(self.after)}"


def differences(nights: Sequence[Night], item: str, low: int, high: int) -> list[Difference]:
    """What changed for an item on the nights from ``low`` to ``high``, by night and name.

    Each night is compared with the last one before it that measured the item.
    """
    found: list[Difference] = []
    before: Mapping[str, Any] | None = None
    for number, night in enumerate(nights[: high + 1]):
        measured = night.items.get(item)
        if measured is None or measured.result is None:
            continue
        now = _flat(measured.result.get("environment") or {})
        if before is not None and number >= low:
            names = sorted(before.keys() | now.keys())
            found += [
                Difference(number, name, before.get(name), now.get(name))
                for name in names
                if before.get(name) != now.get(name)
            ]
        before = now
    return found


def _flat(document: Mapping[str, Any], within: str = "") -> dict[str, Any]:
    flat: dict[str, Any] = {}
    for name, value in document.items():
        if isinstance(value, Mapping):
            flat |= _flat(value, f"{within}{name}.")
        else:
            flat[f"{within}{name}"] = value
    return flat


def _told(value: Any) -> str:
    return "unknown" if value is None else str(value)
