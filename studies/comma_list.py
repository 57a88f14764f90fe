"""Lists on a benchmark's command line: words or whole numbers with commas between."""

from __future__ import annotations

import argparse


def names(text: str) -> tuple[str, ...]:
    """The words, as a type for ``argparse``: in their order, each once.

    Raises:
        argparse.ArgumentTypeError: There is none.
    """
    found = tuple(dict.fromkeys(part.strip() for part in text.split(",") if part.strip()))
    if not found:
        raise argparse.ArgumentTypeError("names at least one, with commas between")
    return found


def counts(text: str) -> tuple[int, ...]:
    """The whole numbers of 1 or more, as a type for ``argparse``: in their order, each once.

    Raises:
        argparse.ArgumentTypeError: There is none, or one of them is no such number.
    """
    return tuple(dict.fromkeys(_count(part) for part in names(text)))


def _count(text: str) -> int:
    try:
        count = int(text)
    except ValueError:
        count = 0
    if count < 1:
        raise argparse.ArgumentTypeError(f"{text!r} is no whole number of 1 or more")
    return count
