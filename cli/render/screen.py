"""Text of others on the terminal: what a service says may hold escape sequences and markup."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from rich.console import Console

_WIDTH = 200  # a pipe has none of its own; a table must not be cut for it


def screen(*, stderr: bool = False) -> Console:
    """A console on which text is nothing but text."""
    from rich.console import Console

    console = Console(stderr=stderr, markup=False, emoji=False, highlight=False)
    if not console.is_terminal:
        console.width = _WIDTH
    return console


def plain(text: str) -> str:
    """The text in one line, without anything that a terminal would obey."""
    return "".join(each if each.isprintable() else " " if each.isspace() else "" for each in text)


def cleaned(document: Any, clean: Callable[[str], str] = plain) -> Any:
    """A document of JSON with every text in it made fit to be shown."""
    if isinstance(document, str):
        return clean(document)
    if isinstance(document, list):
        return [cleaned(each, clean) for each in document]
    if isinstance(document, dict):
        return {clean(name): cleaned(each, clean) for name, each in document.items()}
    return document


def without_markup(text: str) -> str:
    """For a console that reads markup: the text, and no instruction to it."""
    from rich.markup import escape

    return escape(plain(text))
