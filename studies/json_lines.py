"""A file of JSON lines that a killed program leaves usable: each line whole or not there."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from sampler.common.errors import InputError


def read_lines(path: Path) -> list[dict[str, Any]]:
    """All whole lines; a last one that was torn off is left out.

    Raises:
        InputError: A line before the last is no JSON object.
    """
    if not path.exists():
        return []
    rows = []
    for number, line in enumerate(path.read_text(encoding="utf-8").split("\n")[:-1], start=1):
        try:
            row = json.loads(line)
        except ValueError as error:
            raise InputError("--out", f"line {number} of {path} is no JSON: {error}") from None
        if not isinstance(row, dict):
            raise InputError("--out", f"line {number} of {path} is no JSON object")
        rows.append(row)
    return rows


def append_line(path: Path, row: Mapping[str, Any]) -> None:
    """Keeps an object, on a line of its own."""
    _drop_torn_line(path)
    with path.open("ab") as file:
        file.write(json.dumps(row, separators=(",", ":")).encode() + b"\n")


def _drop_torn_line(path: Path) -> None:
    """What a killed program began to write is no line, and nothing may be written behind it."""
    if not path.exists() or path.stat().st_size == 0:
        return
    with path.open("r+b") as file:
        file.seek(-1, os.SEEK_END)
        if file.read(1) != b"\n":
            file.seek(0)
            file.truncate(file.read().rfind(b"\n") + 1)
