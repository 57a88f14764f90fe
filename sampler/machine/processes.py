"""Processes: which one is meant, whether its threads run, and an end to those that are marked.

A process is told by its number and its start, so that a recycled number is not mistaken for it.
"""

import contextlib
import os
from collections.abc import Mapping
from pathlib import Path

from sampler.machine.kernel_files import PROC, field_of, line_of, process_stat

_SWITCHES = ("voluntary_ctxt_switches", "nonvoluntary_ctxt_switches")


def start_time(pid: int) -> int | None:
    """When a process started, in clock ticks since boot; None if there is none, or a zombie."""
    stat = process_stat(pid)
    return None if stat is None else int(stat[1][19])


def is_alive(pid: int, started: int) -> bool:
    """Whether that very process still runs."""
    return start_time(pid) == started


def own_process() -> tuple[int, int]:
    """This process's number and start time."""
    pid = os.getpid()
    return pid, start_time(pid) or 0


def kill_marked(name: str, value: str) -> int:
    """Kills every process whose environment has ``name`` set to ``value``; returns how many.

    Finds what left its process group and outlived its parent. Other users' processes cannot be
    seen and are left alone.
    """
    import psutil  # takes 10 ms, and most commands start no trial

    killed = 0
    for pid in psutil.pids():
        # Gone meanwhile, or not ours: no error.
        with contextlib.suppress(psutil.Error, OSError):
            process = psutil.Process(pid)
            if pid != os.getpid() and process.environ().get(name) == value:
                process.kill()
                killed += 1
    return killed


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
