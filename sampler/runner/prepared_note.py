"""What preparing a database came to: kept beside it, so that a copy knows it, too."""

from __future__ import annotations

import json
import math
from dataclasses import asdict, dataclass
from pathlib import Path

NOTE = "prepared.json"


@dataclass(frozen=True, kw_only=True)
class PreparedNote:
    """One preparing process.

    Attributes:
        seconds: How long it lived.
        user_bytes: Bytes of keys and values that it wrote (bytes.written).
        stored_bytes: Bytes of table and blob files written for them, by flushes and compactions.
    """

    seconds: float
    user_bytes: int
    stored_bytes: int


def write_note(folder: Path, note: PreparedNote) -> None:
    """Keeps a note in a folder."""
    (folder / NOTE).write_text(json.dumps(asdict(note)), encoding="utf-8")


def read_note(folder: Path) -> PreparedNote | None:
    """The note of a folder; None where there is none that can be read."""
    try:
        document = json.loads((folder / NOTE).read_text(encoding="utf-8"))
        note = PreparedNote(
            seconds=float(document["seconds"]),
            user_bytes=int(document["user_bytes"]),
            stored_bytes=int(document["stored_bytes"]),
        )
    except (OSError, ValueError, KeyError, TypeError):
        return None
    return note if math.isfinite(note.seconds) else None
