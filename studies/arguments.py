"""What a study is given on its command line, and how its page says it."""

from __future__ import annotations

import argparse
import shlex
import sys
from collections.abc import Iterable, Sequence

FORMER_NAME = "`forest` is what the strategy `guided` was called when this was measured."
_PAGE = "--page"  # measures nothing, so it made none of the figures


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


def make_command(goal: str, arguments: Sequence[str] | None) -> str:
    """``make GOAL ARGS="..."``.

    Args:
        goal: Of the Makefile.
        arguments: Of the program; None: those that this process was given.
    """
    given = sys.argv[1:] if arguments is None else arguments
    said = shlex.join(each for each in given if each != _PAGE)
    return f'make {goal} ARGS="{said}"' if said else f"make {goal}"


def days_words(days: Iterable[str]) -> str:
    """The day of measurements, or the first and the last one; at least one is given."""
    ordered = sorted(days)
    return " to ".join(dict.fromkeys((ordered[0], ordered[-1])))
