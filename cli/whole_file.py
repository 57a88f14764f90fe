"""Writing a file whole or not at all."""

from __future__ import annotations

import os
from pathlib import Path

from sampler.errors import InputError


def write_whole(out: Path, content: bytes) -> None:
    """Replaces the file by one that is whole.

    Args:
        out: The value of ``--out``.
        content: What it will hold.

    Raises:
        InputError: It cannot be written.
    """
    path = out.resolve()
    if path.exists() and not path.is_file():
        raise InputError("--out", f"{str(out)!r} is not a file")  # a device would be replaced
    partial = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        partial.write_bytes(content)
        partial.replace(path)
    except OSError as error:
        raise InputError("--out", f"cannot write {str(out)!r}: {error.strerror}") from None
    finally:
        partial.unlink(missing_ok=True)
