"""Work in a child that is killed at its so manyth step: `kill -9` at every place that there is."""

import os
import signal
import sys
import traceback
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

CHANGES_FILES = frozenset({"os.rename", "os.link", "os.mkdir", "os.remove", "os.rmdir"})
"""Events of Python's audit hooks, each told just before it happens."""


@dataclass
class Steps:
    """Counts what the child does, and kills it at one of its steps.

    Attributes:
        kill_at: From 1.
        armed: While it is not, nothing is counted.
        told: A descriptor that receives the name of the step at which it is killed.
    """

    kill_at: int
    armed: bool = True
    told: int | None = None
    taken: int = field(default=0, init=False)

    def take(self, name: str) -> None:
        if not self.armed:
            return
        self.taken += 1
        if self.taken == self.kill_at:
            if self.told is not None:
                os.write(self.told, f"{name}\n".encode())
            os.kill(os.getpid(), signal.SIGKILL)

    def hook(self, events: frozenset[str]) -> Callable[[str, tuple[Any, ...]], None]:
        """An audit hook: a step is an event of these, or that a file is opened to be written."""

        def audited(event: str, arguments: tuple[Any, ...]) -> None:
            if event in events or (event == "open" and arguments[1] in ("w", "wb")):
                self.take(event)

        return audited


def killed(
    steps: Steps, work: Callable[[], None], *, events: frozenset[str] = CHANGES_FILES
) -> bool:
    """Runs work in a child of this process; whether it was killed, for it had so many steps."""
    child = os.fork()
    if child == 0:
        status = 1
        try:
            sys.addaudithook(steps.hook(events))
            work()
            status = 0
        except BaseException:
            traceback.print_exc()
        finally:
            os._exit(status)
    ended = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    assert ended in (0, -signal.SIGKILL), "the work itself failed"
    return ended != 0
