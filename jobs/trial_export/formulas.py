"""Texts in CSV that a program for spreadsheets would run as formulas.

It runs a cell that begins with ``=``, ``+``, ``-`` or ``@``, and a failure holds whatever a
benchmark printed. Such a text gets an apostrophe in front, as programs for spreadsheets themselves
mark texts. It can be undone: a text that begins with apostrophes and one of these signs has one
apostrophe too many. Texts that are no more than a number are left as they are.
"""

import re

_ACTS = re.compile(r"'*[=+\-@\t\r\n]")
_NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?", re.ASCII)


def without_formula(text: str) -> str:
    """The text of a cell or a header, marked as a text where it would be run."""
    return f"'{text}" if _ACTS.match(text) and not _NUMBER.fullmatch(text) else text
