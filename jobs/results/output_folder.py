"""The folder of a user's that receives the files of a command, each whole or not at all."""

import csv
import json
import os
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, Literal

from sampler.common.atomic_write import make_private_folder, write_output
from sampler.common.errors import InputError
from sampler.common.text import without_formula

OPTIONS, MINIMAL, FULLEST = "OPTIONS.ini", "OPTIONS.minimal.ini", "OPTIONS.full.ini"
DIFFERENCE = "OPTIONS.diff"  # from the user's own OPTIONS file to the first of these
# Of these, as users ask for them.
Which = Literal["best", "minimal", "fullest"]
RESULT, TRIALS, REPORT = "result.json", "trials.csv", "report.html"


def require_folder(out: Path) -> None:
    """Makes the folder before hours are spent; an InputError if nothing can be written there."""
    try:
        make_private_folder(out, exist_ok=True)
        probe = out / f".rocktune-{os.getpid()}"
        probe.touch()
        probe.unlink()
    except OSError as error:
        raise InputError("out", f"cannot write to {str(out)!r}: {error.strerror}") from None


def write_files(out: Path, contents: Mapping[str, str | bytes]) -> list[Path]:
    """Writes files by name into a folder, made if need be; returns them, or an InputError."""
    try:
        make_private_folder(out, exist_ok=True)
    except OSError as error:
        raise InputError("out", f"cannot create {str(out)!r}: {error.strerror}") from None
    for name, content in contents.items():
        write_output(out / name, content if isinstance(content, bytes) else content.encode())
    return [out / name for name in contents]


def json_text(document: Mapping[str, Any]) -> str:
    """A document as its file holds it; NaN and infinity are refused."""
    return json.dumps(document, indent=1, allow_nan=False) + "\n"


def csv_text(head: Sequence[str], rows: Iterable[Sequence[Any]]) -> str:
    """A table as CSV; empty where a cell is None; no text in it is a spreadsheet's formula."""
    lines = _Lines()
    marked = (
        [without_formula(each) if isinstance(each, str) else each for each in row]
        for row in (head, *rows)
    )
    csv.writer(lines, lineterminator="\r\n").writerows(marked)
    return "".join(lines)


class _Lines(list[str]):
    """Rows that end in a line feed alone.

    The writer quotes only such breaks as its rows may end in: told of a line feed, it would leave
    a carriage return in a failure without quotes, and the row would be two.
    """

    def write(self, line: str) -> None:
        self.append(line.removesuffix("\r\n") + "\n")


def rows_as_csv(table: Sequence[Mapping[str, Any]]) -> str:
    """Rows as CSV under all names that any of them has; empty where a row has none."""
    columns = list(dict.fromkeys(name for row in table for name in row))
    return csv_text(columns, ([row.get(name) for name in columns] for row in table))
