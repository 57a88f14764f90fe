"""Whether the threads of a process run, or have run since they were last looked at."""

from collections.abc import Mapping
from pathlib import Path

from sampler.machine.kernel_files import PROC, field_of, line_of

_SWITCHES = ("voluntary_ctxt_switches", "nonvoluntary_ctxt_switches")


def thread_runs(pid: int, proc: Path = PROC) -> Mapping[str, tuple[str | None, ...]] | None:
    """How often each thread has been taken off a processor, by its number (proc(5)).

    Two looks that are the same have no run of any thread between them: who wakes up, be it for a
    moment, is taken off again. A thread that waits for a limit on its rate wakes up all the time.
    The threads of its children, and of theirs, count as its own: a script may have started it.

    Returns:
        None where one runs, or waits for a processor or a disk, or nothing is told.
    """
    found: dict[str, tuple[str | None, ...]] = {}
    try:
        threads = list((proc / str(pid) / "task").iterdir())
    except OSError:
        return None
    for thread in threads:
        status = thread / "status"
        if not (field_of(status, "State") or "").startswith("S"):
            return None
        found[thread.name] = tuple(field_of(status, name) for name in _SWITCHES)
        for child in (line_of(thread / "children") or "").split():
            below = thread_runs(int(child), proc)
            if below is None:
                return None
            found |= below
    return found if all(all(switches) for switches in found.values()) else None
