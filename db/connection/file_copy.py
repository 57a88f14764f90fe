"""A copy of a SQLite file beside it, made before its tables are changed."""

import os
import sqlite3
from contextlib import closing, suppress
from itertools import count
from pathlib import Path

from db.connection.address import FIELD
from sampler.common.errors import InputError


def copy_file(path: Path, revision: str) -> Path:
    """Copies what is committed in a SQLite file to a new file beside it, by SQLite's own backup.

    The caller keeps other writers out. The copy has the mode of the file, and its name tells the
    revision; an earlier copy is never replaced. It has its name only once it is whole.

    Raises:
        InputError: It cannot be written.
    """
    part = path.with_name(f"{path.name}.revision-{revision}.part")
    try:
        part.unlink(missing_ok=True)
        descriptor = os.open(part, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, 0o600)
        try:
            with closing(sqlite3.connect(path)) as source, closing(sqlite3.connect(part)) as copy:
                source.backup(copy)
            os.fchmod(descriptor, path.stat().st_mode & 0o777)
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
        return _named(part, path, revision)
    except (OSError, sqlite3.Error) as error:
        with suppress(OSError):
            part.unlink(missing_ok=True)
        reason = getattr(error, "strerror", None) or error
        problem = f"cannot copy {path} before its tables are changed ({reason})"
        raise InputError(FIELD, f"{problem}; make room beside it, or move it") from None


def _named(part: Path, path: Path, revision: str) -> Path:
    for number in count():
        again = f"-{number}" if number else ""
        copy = path.with_name(f"{path.name}.revision-{revision}{again}.bak")
        if not os.path.lexists(copy):
            part.rename(copy)
            return copy
    raise AssertionError("unreachable")
