"""Which process is meant, told so that a recycled number is not mistaken for it."""

from __future__ import annotations

import os
import signal
from pathlib import Path

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


def kill_marked(mark: str) -> int:
    """Kills every process whose environment holds ``mark`` (``NAME=value``); returns how many.

    Finds what left its process group and outlived its parent. Other users' processes cannot be
    seen and are left alone.
    """
    wanted = mark.encode()
    killed = 0
    for folder in _PROC.iterdir():
        if not folder.name.isdecimal() or int(folder.name) == os.getpid():
            continue
        try:
            if wanted in (folder / "environ").read_bytes().split(b"\0"):
                os.kill(int(folder.name), signal.SIGKILL)
                killed += 1
        except OSError:
            continue  # gone meanwhile, or not ours
    return killed
