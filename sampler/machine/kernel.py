"""What the kernel shows: files of /proc, /sys and control groups, and processes.

Any of the files may be missing: a sandbox or a container shows less. Of control groups version 2
and version 1 are read, and the least of a group and all its ancestors holds: in a container the
group's own folder may be the root of what is mounted. A process is named by its number and its
start, so that a recycled number is not mistaken for it.
"""

import contextlib
import os
import re
from collections.abc import Iterator, Mapping
from pathlib import Path

PROC, SYS = Path("/proc"), Path("/sys")
# Version 1 writes "no limit" as the largest number of whole pages.
_NO_LIMIT = 2**62
_SWITCHES = ("voluntary_ctxt_switches", "nonvoluntary_ctxt_switches")


def text_of(file: Path) -> str | None:
    """What a file holds; None where it cannot be read."""
    try:
        return file.read_text(encoding="utf-8", errors="replace")
    except OSError:
        return None


def line_of(file: Path) -> str | None:
    """The text of a file of one line, without its end; None where it cannot be read."""
    text = text_of(file)
    return None if text is None else text.strip()


def field_of(file: Path, name: str) -> str | None:
    """The value of the first line ``name: value`` of a file; None where there is none."""
    for line in (text_of(file) or "").splitlines():
        key, colon, value = line.partition(":")
        if colon and key.strip() == name:
            return value.strip()
    return None


def numbers_of(file: Path) -> dict[str, int]:
    """Lines of a name, perhaps a colon, and a whole number; none where there is no file."""
    lines = re.findall(r"^(\S+?):?\s+(\d+)", text_of(file) or "", re.M)
    return {name: int(number) for name, number in lines}


def process_stat(pid: int, proc: Path = PROC) -> tuple[str, list[str]] | None:
    """A process's name, and its fields from the third on: ``/proc/PID/stat`` (proc(5)).

    None if there is no such process. A zombie counts as gone: it runs nothing and holds nothing.
    """
    # The name stands in parentheses and may hold anything.
    before, _, after = (text_of(proc / str(pid) / "stat") or "").rpartition(")")
    fields = after.split()
    gone = len(fields) <= 19 or fields[0] in ("Z", "X")
    return None if gone else (before.partition("(")[2], fields)


def cpu_quota(proc: Path = PROC, sys: Path = SYS) -> float | None:
    """CPU seconds a second that are granted: ``cpu.max`` or ``cpu.cfs_quota_us``; None: all."""
    limits = (_quota_of(folder) for folder in _folders("cpu", proc, sys))
    return min((limit for limit in limits if limit is not None), default=None)


def memory_left(proc: Path = PROC, sys: Path = SYS) -> int | None:
    """Bytes that may still be used; None where no limit is set, or none can be read.

    The limits are ``memory.max`` and ``memory.high``, or ``memory.limit_in_bytes``. Files in the
    page cache are charged to a group, but the kernel drops them before it refuses memory: they
    count as left, as they do in the machine's own ``MemAvailable``. Pages of tmpfs do not.
    """
    rooms = (_memory_left_in(folder) for folder in _folders("memory", proc, sys))
    return min((room for room in rooms if room is not None), default=None)


def _folders(controller: str, proc: Path, sys: Path) -> Iterator[Path]:
    """The folders of this process's group and of its ancestors, some of which may not be there."""
    for line in (text_of(proc / "self/cgroup") or "").splitlines():
        _, controllers, place = line.split(":", 2)
        if controllers and controller not in controllers.split(","):
            continue
        below = Path(place.lstrip("/"))
        for root in (sys / "fs/cgroup" / controllers, sys / "fs/cgroup/unified"):
            for folder in (below, *below.parents):
                yield root / folder


def _quota_of(folder: Path) -> float | None:
    newer = (line_of(folder / "cpu.max") or "").split()
    older = [line_of(folder / f"cpu.cfs_{name}_us") or "" for name in ("quota", "period")]
    for numbers in (newer, older):  # "max", or -1: none
        if len(numbers) == 2 and all(number.isdecimal() for number in numbers):
            return int(numbers[0]) / max(int(numbers[1]), 1)
    return None


def _memory_left_in(folder: Path) -> int | None:
    names = ("memory.max", "memory.high", "memory.limit_in_bytes")
    limits = [limit for name in names if (limit := _number(folder / name)) is not None]
    limit = min(limits, default=_NO_LIMIT)
    if limit >= _NO_LIMIT:
        return None
    used = _number(folder / "memory.current") or _number(folder / "memory.usage_in_bytes") or 0
    # In the page cache, of the group and, as its use is, of those below it; of version 1 the names
    # without `total_` are of the group alone.
    kept, pages = numbers_of(folder / "memory.stat"), ("active_file", "inactive_file")
    droppable = sum(kept.get(f"total_{page}", kept.get(page, 0)) for page in pages)
    return max(0, limit - max(0, used - droppable))


def _number(file: Path) -> int | None:
    text = line_of(file) or ""
    return int(text) if text.isdecimal() else None


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
