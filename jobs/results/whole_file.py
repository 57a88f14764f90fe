"""Writing a file whole or not at all."""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path

from sampler.common.errors import InputError


def write_whole(out: Path, content: bytes, *, field: str = "--out") -> None:
    """Replaces the file by one that is whole.

    Args:
        out: Where the user wants it; what a link leads to is replaced, not the link.
        content: What it will hold.
        field: What the user calls it.

    Raises:
        InputError: It cannot be written.
    """
    path = out.resolve()
    partial = path.parent / f".{path.name[:100]}.{os.getpid()}"
    try:
        if path.exists() and not path.is_file():
            raise InputError(field, f"{str(out)!r} is not a file")  # a device would be replaced
        partial.write_bytes(content)
        partial.replace(path)
    except OSError as error:
        raise InputError(field, f"cannot write {str(out)!r}: {error.strerror}") from None
    finally:
        with suppress(OSError):
            partial.unlink()
