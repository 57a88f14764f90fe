"""Writing files that hold a user's data: whole or not at all, and readable by their owner alone.

Whatever the umask, a new file has mode 0600 and a new folder 0700, from its first byte on: traces,
databases and OPTIONS files that only their owner may read are copied into them. What is there
already keeps its mode, so that who wants others to read a file grants that once.
"""

import os
import stat
import tempfile
from contextlib import suppress
from pathlib import Path
from typing import BinaryIO

from sampler.common.errors import InputError

_FOLDER_MODE, _FILE_MODE = 0o700, 0o600
FOR_ALL = 0o644  # of a file that says nothing of anybody's data
PRIVATE_UMASK = 0o077
"""The umask of a process that writes such files itself."""


def private(path: str, flags: int) -> int:
    """Opener of ``open`` for a file of a user's data: one that it makes has mode 0600."""
    return os.open(path, flags, _FILE_MODE)


def private_writer(path: Path, buffering: int = -1) -> BinaryIO:
    """An empty file that its owner alone may read, for writing; see ``private``."""
    descriptor = private(str(path), os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
    return os.fdopen(descriptor, "wb", buffering)


def write_private(path: Path, text: str) -> None:
    """Writes a text to a file that its owner alone may read; see ``private``."""
    with private_writer(path) as file:
        file.write(text.encode())


def make_private_folder(path: Path, *, exist_ok: bool = False) -> None:
    """Makes a folder that its owner alone may enter, and those above it as usual.

    Raises:
        OSError: It cannot be made, or is there without ``exist_ok``.
    """
    path.mkdir(mode=_FOLDER_MODE, parents=True, exist_ok=exist_ok)


def atomic_write(path: Path, content: bytes | str, *, mode: int = _FILE_MODE) -> None:
    """Replaces a file, which keeps its mode, or makes one with ``mode``.

    Raises:
        OSError: It cannot be written; what was there is there still.
    """
    descriptor, name = tempfile.mkstemp(prefix=f".{path.name[:100]}.", dir=path.parent)
    partial = Path(name)
    try:
        with os.fdopen(descriptor, "wb") as file:
            with suppress(FileNotFoundError):
                mode = stat.S_IMODE(path.stat().st_mode)
            os.fchmod(descriptor, mode)
            file.write(content if isinstance(content, bytes) else content.encode())
        partial.replace(path)
    finally:
        with suppress(OSError):
            partial.unlink()


def write_output(out: Path, content: bytes, *, field: str = "out", mode: int = _FILE_MODE) -> None:
    """Writes a file that a user asked for; what a link leads to is replaced, not the link.

    ``field`` is what the user calls it; ``mode`` is that of a new file.

    Raises:
        InputError: It cannot be written.
    """
    path = out.resolve()
    try:
        if path.exists() and not path.is_file():
            raise InputError(field, f"{str(out)!r} is not a file")  # a device would be replaced
        atomic_write(path, content, mode=mode)
    except OSError as error:
        raise InputError(field, f"cannot write {str(out)!r}: {error.strerror}") from None
