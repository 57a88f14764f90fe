"""The command that made a page, as its reader would type it."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Sequence

_PAGE = "--page"  # measures nothing, so it made none of the figures


def make_command(goal: str, arguments: Sequence[str] | None) -> str:
    """``make GOAL ARGS="..."``.

    Args:
        goal: Of the Makefile.
        arguments: Of the program; None: those that this process was given.
    """
    given = sys.argv[1:] if arguments is None else arguments
    said = shlex.join(each for each in given if each != _PAGE)
    return f'make {goal} ARGS="{said}"' if said else f"make {goal}"
