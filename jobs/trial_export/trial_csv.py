"""Trials as lines of CSV (RFC 4180, UTF-8), quick enough for a million of them.

Numbers and truth values look the same in JSON and in CSV, and orjson writes a row of them in the
time in which ``csv.writer`` writes one float; so a line is a JSON list without its brackets, with
texts put into it as CSV wants them.

**Formulas.** A program for spreadsheets runs a cell that begins with ``=``, ``+``, ``-`` or ``@``,
and a failure holds whatever a benchmark printed. Such a text (a header or a parameter's text too)
gets an apostrophe in front, as programs for spreadsheets themselves mark texts. It can be undone:
a text that begins with apostrophes and one of these signs has one apostrophe too many. Numbers,
and texts that are no more than a number, are left as they are.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import Any

import orjson

from jobs.trial_export.trial_columns import Column, plain_text

_EMPTY = orjson.Fragment("")
_NUMBERS = frozenset({int, float, bool})
_ACTS = re.compile(r"'*[=+\-@\t\r\n]")
_NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?", re.ASCII)
_NEEDS_QUOTES = re.compile(r'[",\r\n]')
# One look at a text, as most are plain.
_MAY_NEED_WORK = re.compile(r"""$|['=+\-@\t]|[^",\r\n]*[",\r\n]""")


def csv_line(texts: Iterable[str]) -> bytes:
    """One line of texts alone: the head."""
    return ",".join(map(_quoted, texts)).encode() + b"\r\n"


def csv_lines(columns: Sequence[Column]) -> bytes:
    """The lines of a page; None is an empty cell, and an empty text is ``""``."""
    try:
        return _lines(map(_cells, columns))
    except orjson.JSONEncodeError:  # a whole number of more than 64 bits
        return _lines(map(_cell, column) for column in columns)


def _lines(columns: Iterable[Iterable[Any]]) -> bytes:
    write = orjson.dumps
    return b"".join([write(row)[1:-1] + b"\r\n" for row in zip(*columns, strict=True)])


def _cells(column: Column) -> Iterable[Any]:
    """What orjson writes as the cells of a column."""
    kinds = set(map(type, column))
    gaps = type(None) in kinds
    kinds.discard(type(None))
    if kinds <= {str}:
        # A few texts many times, or each once: in both cases one look at each.
        texts = {text: _cell(text) for text in set(column)}
        return map(texts.__getitem__, column)
    if not kinds <= _NUMBERS:
        return map(_cell, column)
    return [_EMPTY if value is None else value for value in column] if gaps else column


def _cell(value: Any) -> Any:
    if value is None:
        return _EMPTY
    if isinstance(value, str):
        return orjson.Fragment(_quoted(value))
    if isinstance(value, int | float):
        return orjson.Fragment(plain_text(value))
    return orjson.Fragment(_quoted(plain_text(value)))


def _quoted(text: str) -> str:
    if not _MAY_NEED_WORK.match(text):
        return text
    if _ACTS.match(text) and not _NUMBER.fullmatch(text):
        text = "'" + text
    if not text or _NEEDS_QUOTES.search(text):
        return '"' + text.replace('"', '""') + '"'
    return text
