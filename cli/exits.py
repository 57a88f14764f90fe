"""How commands end: exit statuses, and one clear line for what went wrong."""

from __future__ import annotations

import sys
from enum import IntEnum


class Exit(IntEnum):
    """Exit statuses that scripts rely on."""

    DONE = 0
    TOOL_FAILED = 1
    BAD_INPUT = 2
    NOTHING_BETTER = 3
    NOT_FIT = 3  # of `doctor`: all went well, and the answer is no
    INTERRUPTED = 130


def complain(message: str) -> None:
    """Writes one line to standard error, whatever the message holds."""
    line = " ".join(message.split())
    sys.stderr.write(f"rocktune: {line}\n")
