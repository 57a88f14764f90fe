"""Text for people: sizes in bytes as they write them, and foreign text made fit to be shown.

Sizes are 64MiB, 128 MB, 8k, 67108864. A service, a benchmark or a user's file may say anything,
and programs that show it obey some of it. A terminal runs escape sequences. A program for
spreadsheets runs a cell that begins with ``=``, ``+``, ``-`` or ``@`` as a formula.
"""

import re
from collections.abc import Sequence
from typing import Any

from sampler.common.errors import InputError

_BINARY = {"": 1, "k": 2**10, "m": 2**20, "g": 2**30, "t": 2**40}
_DECIMAL = {"": 1, "k": 10**3, "m": 10**6, "g": 10**9, "t": 10**12}
# Python converts no number of more than 4,300 digits; no size has 30.
_SIZE = re.compile(r"\s*(\d{1,30}(?:\.\d{1,30})?)\s*([kmgt]?)(i?b)?\s*", re.IGNORECASE)
_ACTS = re.compile(r"'*[=+\-@\t\r\n]")
_NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?", re.ASCII)


def parse_bytes(text: str, *, field: str = "size") -> int:
    """Reads a size. ``MiB`` and a bare ``M`` (RocksDB's own habit) are 2**20, ``MB`` is 10**6.

    Raises:
        InputError: The text is not a size.
    """
    match = _SIZE.fullmatch(text)
    if match is None:
        problem = f"{text!r:.120} is not a size; write it like 64MiB, 3GB or 67108864"
        raise InputError(field, problem)
    number, prefix, unit = match.group(1), match.group(2).lower(), (match.group(3) or "").lower()
    factor = (_DECIMAL if unit == "b" and prefix else _BINARY)[prefix]
    return int(float(number) * factor) if "." in number else int(number) * factor


def format_bytes(size: float) -> str:
    """Writes a size with a binary prefix: ``format_bytes(67108864)`` is ``'64 MiB'``."""
    return _with_prefix(size, 1024, ("KiB", "MiB", "GiB", "TiB"))


def format_decimal(size: float) -> str:
    """Writes a size with a decimal prefix: ``format_decimal(168_000_000)`` is ``'168 MB'``."""
    return _with_prefix(size, 1000, ("kB", "MB", "GB", "TB"))


def _with_prefix(size: float, step: int, units: Sequence[str]) -> str:
    for power in range(len(units), 0, -1):
        if abs(size) >= step**power:
            return f"{size / step**power:.4g} {units[power - 1]}"
    return f"{size:.4g} B"


def printable(text: str) -> str:
    """The text in one line, without anything that a terminal would obey."""
    return "".join(each if each.isprintable() else " " if each.isspace() else "" for each in text)


def cleaned(document: Any) -> Any:
    """A document of JSON, of any nesting, with every text in it made fit to be shown."""
    if isinstance(document, str):
        return printable(document)
    if isinstance(document, list):
        return [cleaned(each) for each in document]
    if isinstance(document, dict):
        return {printable(name): cleaned(each) for name, each in document.items()}
    return document


def without_formula(text: str) -> str:
    """The text of a cell or a header of CSV, with an apostrophe in front where it would be run.

    So programs for spreadsheets themselves mark texts. It can be undone: a text that begins with
    apostrophes and one of these signs has one apostrophe too many. A text that is no more than a
    number is left as it is.
    """
    return f"'{text}" if _ACTS.match(text) and not _NUMBER.fullmatch(text) else text
