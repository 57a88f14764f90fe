"""The one form of a study: what it is given, a log of rows that resumes, and how its page begins.

A study appends each row to a file of JSON lines when it is measured, so that one that was stopped
goes on, and writes its page from all rows.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import shlex
import sys
import tempfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from threadpoolctl import threadpool_limits  # type: ignore[import-untyped]

from sampler.common.errors import InputError
from sampler.machine.machine import fingerprint

FORMER_NAME = "`forest` is what the strategy `guided` was called when this was measured."
_PAGE = "--page"  # measures nothing, so it made none of the figures


def names(text: str) -> tuple[str, ...]:
    """The words, as a type for ``argparse``: in their order, each once.

    Raises:
        argparse.ArgumentTypeError: There is none.
    """
    found = tuple(dict.fromkeys(part.strip() for part in text.split(",") if part.strip()))
    if not found:
        raise argparse.ArgumentTypeError("names at least one, with commas between")
    return found


def counts(text: str) -> tuple[int, ...]:
    """The whole numbers of 1 or more, as a type for ``argparse``: in their order, each once.

    Raises:
        argparse.ArgumentTypeError: There is none, or one of them is no such number.
    """
    return tuple(dict.fromkeys(_count(part) for part in names(text)))


def _count(text: str) -> int:
    try:
        count = int(text)
    except ValueError:
        count = 0
    if count < 1:
        raise argparse.ArgumentTypeError(f"{text!r} is no whole number of 1 or more")
    return count


def make_command(goal: str, arguments: Sequence[str] | None) -> str:
    """``make GOAL ARGS="..."``.

    Args:
        goal: Of the Makefile.
        arguments: Of the program; None: those that this process was given.
    """
    given = sys.argv[1:] if arguments is None else arguments
    said = shlex.join(each for each in given if each != _PAGE)
    return f'make {goal} ARGS="{said}"' if said else f"make {goal}"


def days_words(days: Iterable[str]) -> str:
    """The day of measurements, or the first and the last one; at least one is given."""
    ordered = sorted(days)
    return " to ".join(dict.fromkeys((ordered[0], ordered[-1])))


def made_by(command: str, days: Iterable[str] = ()) -> str:
    """What made a page: its command, the days of its rows (else today), machine and Python."""
    machine = fingerprint(Path(tempfile.gettempdir()))
    when = days_words([*days] or [f"{datetime.now(UTC):%Y-%m-%d}"])
    return (
        f"`{command}`, {when}, {machine['cpu']}, {machine['cores']} cores, {machine['system']}, "
        f"Python {platform.python_version()}"
    )


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


@contextmanager
def one_thread() -> Iterator[None]:
    """Holds for what is loaded, and for what a strategy loads later (PyTorch, say)."""
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    with threadpool_limits(1):
        yield
