"""Text of others made fit for a terminal: it may hold escape sequences and markup.

A service, a benchmark or a user's file may say anything; a terminal obeys some of it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any


def printable(text: str) -> str:
    """The text in one line, without anything that a terminal would obey."""
    return "".join(each if each.isprintable() else " " if each.isspace() else "" for each in text)


def without_markup(text: str) -> str:
    """For a console that reads markup: the text, and no instruction to it."""
    from rich.markup import escape

    return escape(printable(text))


def cleaned(document: Any, clean: Callable[[str], str] = printable) -> Any:
    """A document of JSON with every text in it made fit to be shown.

    Args:
        document: Of any nesting.
        clean: What becomes of a text: ``printable``, or ``without_markup``.
    """
    if isinstance(document, str):
        return clean(document)
    if isinstance(document, list):
        return [cleaned(each, clean) for each in document]
    if isinstance(document, dict):
        return {clean(name): cleaned(each, clean) for name, each in document.items()}
    return document
