"""Which process is meant, told so that a recycled number is not mistaken for it."""

import contextlib
import os

from sampler.machine.kernel_files import process_stat


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
