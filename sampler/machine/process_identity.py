"""Which process is meant, told so that a recycled number is not mistaken for it."""

from __future__ import annotations

import contextlib
import os
from pathlib import Path

import psutil

_PROC = Path("/proc")


def start_time(pid: int) -> int | None:
    """When a process started, in clock ticks since boot; None if there is no such process.

    A zombie counts as gone: it runs nothing and holds nothing.
    """
    try:
        stat = (_PROC / str(pid) / "stat").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return None
    # The command's name stands in parentheses and may hold spaces (proc(5), fields 3 and 22).
    fields = stat.rpartition(")")[2].split()
    return None if fields[0] in ("Z", "X") else int(fields[19])


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
    killed = 0
    for pid in psutil.pids():
        # Gone meanwhile, or not ours: no error.
        with contextlib.suppress(psutil.Error, OSError):
            process = psutil.Process(pid)
            if pid != os.getpid() and process.environ().get(name) == value:
                process.kill()
                killed += 1
    return killed
