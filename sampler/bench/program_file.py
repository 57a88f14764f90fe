"""Whether a program is still the one that it was: upgrades do not wait for a job to end."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

from sampler.common.errors import InputError

FIELD = "db_bench"
_MEND = (
    "runs of both cannot be compared. What was measured is kept: put the first back and go on, or "
    "begin a new job, which may learn from this one (--warm-start)"
)


@dataclass(frozen=True)
class ProgramFile:
    """A program's file.

    Attributes:
        digest: SHA-256 of its content.
    """

    digest: str


def program_file(program: Path) -> ProgramFile:
    """What the file is like now; its content is read again only when it may be another.

    Raises:
        InputError: It cannot be read.
    """
    try:
        stat = program.stat()
        return _read(program, stat.st_ino, stat.st_size, stat.st_mtime_ns, stat.st_ctime_ns)
    except OSError as error:
        raise InputError(FIELD, f"cannot read {program}: {error.strerror}") from None


def require_same_file(program: Path, known: ProgramFile | None) -> None:
    """Refuses a program that was replaced since it was tried.

    Raises:
        InputError: It was, or it is gone.
    """
    if known is not None and program_file(program).digest != known.digest:
        raise InputError(FIELD, f"{program} was replaced while it measured; {_MEND}")


def require_same_version(program: Path, known: str, printed: str | None) -> None:
    """Refuses a program that says another version of RocksDB: its library was replaced.

    Raises:
        InputError: It does.
    """
    if printed is not None and printed != known:
        problem = f"{program} was RocksDB {known} at first and is {printed} now; {_MEND}"
        raise InputError(FIELD, problem)


@lru_cache(maxsize=64)
def _read(program: Path, *stat: int) -> ProgramFile:
    """``stat``: whatever is not the same for another content."""
    del stat
    return ProgramFile(hashlib.sha256(program.read_bytes()).hexdigest())
