"""Text of others made fit for where it is shown: a terminal, or a program for spreadsheets.

A service, a benchmark or a user's file may say anything, and both obey some of it. A terminal runs
escape sequences. A program for spreadsheets runs a cell that begins with ``=``, ``+``, ``-`` or
``@`` as a formula.
"""

import re
from typing import Any

_ACTS = re.compile(r"'*[=+\-@\t\r\n]")
_NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?", re.ASCII)


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
