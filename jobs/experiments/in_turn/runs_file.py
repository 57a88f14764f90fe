"""Every run of a check as it is measured: one JSON line each, after a line that says what of.

A file of lines, not the trial store: a trial there belongs to a job with one build, one space and
phases; here there are two builds and pairs. A line is on the disk before the next run begins.
"""

from __future__ import annotations

import fcntl
import json
import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, BinaryIO

from sampler.common.errors import InputError

Side = str  # "old" or "new"; in a comparison the name of a subject
RUNS = "runs.jsonl"


@dataclass(frozen=True, kw_only=True)
class Run:
    """One run of one case on one build.

    Attributes:
        round: From 1; each round measures every case once on each build.
        state: How it ended, ``done`` if well.
        failure: Why it did not.
        seconds: How long db_bench lived.
    """

    round: int
    case: str
    side: Side
    started_at: str
    state: str
    failure: str | None
    metrics: Mapping[str, float]
    seconds: float


class RunsFile:
    """The runs so far, and where the next is added. Held by one process at a time."""

    def __init__(self, file: BinaryIO, runs: Sequence[Run]) -> None:
        """Takes the open file, at its end, and the runs that it holds."""
        self._file, self._runs = file, list(runs)

    @property
    def runs(self) -> Sequence[Run]:
        """All runs in the order in which they were measured."""
        return tuple(self._runs)

    def append(self, run: Run) -> None:
        """Adds a run; it is on the disk when this returns."""
        _write(self._file, asdict(run))
        self._runs.append(run)


@contextmanager
def runs_file(folder: Path, check: Mapping[str, Any], *, resume: bool) -> Iterator[RunsFile]:
    """Opens the runs of a check.

    Args:
        folder: Holds the file.
        check: What is compared with what: a file of another check is refused.
        resume: Whether to go on with the runs that are there.

    Raises:
        InputError: There are runs and ``resume`` is not given, they are another check's, or
            another process is at it.
    """
    path = folder / RUNS
    with path.open("a+b") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            raise InputError("--out", f"another check writes to {str(folder)!r}") from None
        lines = _whole_lines(file)
        check = json.loads(json.dumps(check))
        if not lines:
            _write(file, check)
            yield RunsFile(file, [])
            return
        _require_same(lines[0], check, folder, resume=resume)
        yield RunsFile(file, [Run(**line) for line in lines[1:]])


def _whole_lines(file: BinaryIO) -> list[dict[str, Any]]:
    """The lines; one that a crash cut off goes."""
    file.seek(0)
    content = file.read()
    whole = content[: content.rfind(b"\n") + 1]
    if len(whole) < len(content):
        file.truncate(len(whole))
    file.seek(0, os.SEEK_END)
    try:
        return [json.loads(line) for line in whole.splitlines()]
    except ValueError:
        raise InputError("--out", f"its {RUNS} is not made of JSON lines; move it away") from None


def _require_same(
    found: Mapping[str, Any], check: Mapping[str, Any], folder: Path, *, resume: bool
) -> None:
    if not resume:
        problem = f"{str(folder)!r} holds the runs of a check"
        raise InputError("--out", f"{problem}; go on with --resume, or name another folder")
    other = [name for name in {**check, **found} if found.get(name) != check.get(name)]
    if other:
        problem = f"{str(folder)!r} holds the runs of another check ({', '.join(other)} differ)"
        raise InputError("--resume", f"{problem}; name another folder")


def _write(file: BinaryIO, document: Mapping[str, Any]) -> None:
    file.write(json.dumps(document, allow_nan=False).encode() + b"\n")
    file.flush()
    os.fsync(file.fileno())
