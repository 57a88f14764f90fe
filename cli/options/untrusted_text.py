"""Text of others made fit for a terminal: it may hold escape sequences and markup.

A service, a benchmark or a user's file may say anything; a terminal obeys some of it.
"""

from typing import Any


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
