"""What a fit may be, for tests of the process that fits models."""

import os
import sys
import time
from pathlib import Path


def priority() -> tuple[int, int, int]:
    """The process, its niceness and its policy."""
    return os.getpid(), os.nice(0), os.sched_getscheduler(0)


def added(one: int, other: int) -> int:
    return one + other


def failing() -> None:
    raise KeyError("no such column")


def endless(told: str) -> None:
    """Says which process it is, and goes on until it is ended."""
    written = Path(f"{told}.written")
    written.write_text(str(os.getpid()))
    written.rename(told)
    while True:
        time.sleep(60)


if __name__ == "__main__":  # a server that has an endless fit
    from jobs.results.fits import fitted

    fitted(endless, sys.argv[1])
