"""Writing a file whole or not at all: whoever reads it finds the old content or the new one."""

import os
from contextlib import suppress
from pathlib import Path

from sampler.common.errors import InputError


def atomic_write(path: Path, content: bytes | str) -> None:
    """Replaces a file, or makes it.

    Raises:
        OSError: It cannot be written; what was there is there still.
    """
    partial = path.with_name(f".{path.name[:100]}.{os.getpid()}")
    try:
        partial.write_bytes(content if isinstance(content, bytes) else content.encode())
        partial.replace(path)
    finally:
        with suppress(OSError):
            partial.unlink()


def write_output(out: Path, content: bytes, *, field: str = "--out") -> None:
    """Writes a file that a user asked for; what a link leads to is replaced, not the link.

    ``field`` is what the user calls it.

    Raises:
        InputError: It cannot be written.
    """
    path = out.resolve()
    try:
        if path.exists() and not path.is_file():
            raise InputError(field, f"{str(out)!r} is not a file")  # a device would be replaced
        atomic_write(path, content)
    except OSError as error:
        raise InputError(field, f"cannot write {str(out)!r}: {error.strerror}") from None
