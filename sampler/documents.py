"""Documents that users write: TOML files of spaces, workloads and objectives."""

from __future__ import annotations

import tomllib
from collections.abc import Collection, Mapping
from importlib.resources import files
from pathlib import Path
from typing import Any

from sampler.errors import InputError


def read_document(text: str, *, field: str) -> dict[str, Any]:
    """Parses TOML.

    Raises:
        InputError: It is not TOML.
    """
    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise InputError(field, f"is not TOML: {error}") from None


def find_document(given: str, *, kind: str, shipped: tuple[str, ...], package: str) -> str:
    """The TOML text of a shipped entry or of a user's file.

    Args:
        given: A shipped name, or the path of a TOML file.
        kind: ``space``, ``workload`` or ``objective``.
        shipped: The shipped names.
        package: The room whose folder of the same name (plural) holds them.

    Raises:
        InputError: Neither.
    """
    if given in shipped:
        file = files(package).joinpath(f"{kind}s", f"{given}.toml")
        return file.read_text(encoding="utf-8")
    path = Path(given)
    if path.suffix == ".toml" or path.is_file():
        try:
            return path.read_text(encoding="utf-8")
        except (OSError, UnicodeDecodeError) as error:
            reason = error.strerror if isinstance(error, OSError) else "it is not UTF-8"
            raise InputError(f"--{kind}", f"cannot read {given!r}: {reason}") from None
    names = ", ".join(shipped)
    raise InputError(f"--{kind}", f"{given!r} is neither one of {names} nor a TOML file")


def refuse_unknown(document: Mapping[str, Any], known: Collection[str], where: str) -> None:
    """Refuses a key that means nothing: mostly a slip of the pen.

    Raises:
        InputError: There is one; the message lists those that are known.
    """
    for key in document:
        if key not in known:
            raise InputError(f"{where}.{key}", f"is unknown; known are {', '.join(sorted(known))}")
