"""How commands end: exit statuses, and one clear line for what went wrong."""

from __future__ import annotations

import sys
from enum import IntEnum, unique


@unique
class Exit(IntEnum):
    """Exit statuses that scripts rely on; each number has one name, whichever command ends so."""

    DONE = 0
    TOOL_FAILED = 1
    BAD_INPUT = 2
    # All went well, and the answer is no: nothing better was proven (tune, show, options), or this
    # machine is not fit (doctor).
    ANSWER_IS_NO = 3
    INTERRUPTED = 130


def complain(message: str) -> None:
    """Writes one line to standard error, whatever the message holds."""
    line = " ".join(message.split())
    sys.stderr.write(f"rocktune: {line}\n")
