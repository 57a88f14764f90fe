"""Who uses the processors: this process, others, and the hypervisor's other guests."""

from __future__ import annotations

import os
import resource
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

_PROC = Path("/proc")


@dataclass(frozen=True, kw_only=True)
class CpuMoment:
    """The kernel's counters at one moment, in CPU seconds since boot.

    Attributes:
        busy: Of the processors that this process may run on: everything but idle and stolen.
        idle: Of the same.
        stolen: Of the same: ready to run, while the hypervisor ran something else.
        own: Of this process and those of its children that have ended.
        processes: Of every other process that can be seen, by number and start: name, seconds.
    """

    busy: float
    idle: float
    stolen: float
    own: float
    processes: Mapping[tuple[int, int], tuple[str, float]] = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True)
class CpuUse:
    """What was used between two moments, as shares of all processors from 0 to 1.

    Attributes:
        others: By other processes and the kernel.
        own: By this process.
        stolen: By the hypervisor's other guests.
        busiest: Up to three other processes: name, number, share.
    """

    others: float
    own: float
    stolen: float
    busiest: tuple[tuple[str, int, float], ...] = ()


def watch(seconds: float) -> CpuUse:
    """Looks on for some seconds, using next to nothing itself."""
    first = read_moment()
    time.sleep(seconds)
    return between(first, read_moment())


def between(first: CpuMoment, last: CpuMoment) -> CpuUse:
    """What was used from one moment to a later one."""
    busy, idle = last.busy - first.busy, last.idle - first.idle
    own, stolen = last.own - first.own, last.stolen - first.stolen
    # Counters are kept in ticks, and may even step back a little: proc(5), /proc/stat.
    total = max(busy + idle + stolen, 1e-9)
    used = [
        (name, pid, (seconds - first.processes.get((pid, start), ("", 0.0))[1]) / total)
        for (pid, start), (name, seconds) in last.processes.items()
    ]
    busiest = sorted((row for row in used if row[2] > 0), key=lambda row: -row[2])

    def share(seconds: float) -> float:
        return min(max(seconds / total, 0.0), 1.0)

    return CpuUse(
        others=share(busy - own), own=share(own), stolen=share(stolen), busiest=tuple(busiest[:3])
    )


def read_moment(proc: Path = _PROC) -> CpuMoment:
    """Reads ``/proc/stat`` and ``/proc/PID/stat`` (proc(5)) now."""
    tick = os.sysconf("SC_CLK_TCK")
    mine = {f"cpu{number}" for number in os.sched_getaffinity(0)}
    busy = idle = stolen = 0.0
    for line in (proc / "stat").read_text(encoding="utf-8").splitlines():
        name, *numbers = line.split()
        if name in mine:
            # A guest's time is in user and nice already.
            user, nice, system, waits, io, irq, soft, steal = map(int, numbers[:8])
            busy += (user + nice + system + irq + soft) / tick
            idle += (waits + io) / tick
            stolen += steal / tick
    spent = [resource.getrusage(w) for w in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    own = sum(used.ru_utime + used.ru_stime for used in spent)
    return CpuMoment(
        busy=busy, idle=idle, stolen=stolen, own=own, processes=_processes(proc, tick)
    )


def running(name: str, proc: Path = _PROC) -> tuple[int, ...]:
    """The numbers of the processes of a name, as far as they can be seen."""
    return tuple(sorted(pid for (pid, _), (own, _) in _processes(proc, 1).items() if own == name))


def _processes(proc: Path, tick: int) -> dict[tuple[int, int], tuple[str, float]]:
    found = {}
    for folder in proc.iterdir():
        if not folder.name.isdecimal() or int(folder.name) == os.getpid():
            continue
        try:
            stat = (folder / "stat").read_text(encoding="utf-8", errors="replace")
        except OSError:
            continue  # gone meanwhile
        # The name stands in parentheses and may hold anything; fields 3, 14, 15 and 22 follow.
        before, _, after = stat.rpartition(")")
        fields = after.split()
        if fields and fields[0] not in ("Z", "X"):
            seconds = (int(fields[11]) + int(fields[12])) / tick
            key = (int(folder.name), int(fields[19]))
            found[key] = (before.partition("(")[2], seconds)
    return found
