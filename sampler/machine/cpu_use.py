"""Who uses the processors: this process, others, and the hypervisor's other guests."""

from __future__ import annotations

import os
import resource
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from sampler.machine.kernel_files import PROC, text_of
from sampler.machine.processor_time import ProcessorTime, read_processor_time


@dataclass(frozen=True, kw_only=True)
class CpuMoment:
    """The kernel's counters at one moment, in CPU seconds.

    Attributes:
        mine: Of the processors that this process may run on; zeros where they are not shown.
        shown: Of all processors that are shown.
        own: Of this process and those of its children that have ended.
        processes: Of every other process that can be seen, by number and start: name, seconds.
    """

    mine: ProcessorTime
    shown: ProcessorTime = field(default_factory=ProcessorTime)
    own: float
    processes: Mapping[tuple[int, int], tuple[str, float]] = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True)
class CpuUse:
    """What was used between two moments, as shares of all processors from 0 to 1.

    Attributes:
        others: By other processes and the kernel; None where no processor's time was shown.
        own: By this process; None likewise.
        stolen: By the hypervisor's other guests; None likewise.
        busiest: Up to three other processes: name, number, share.
    """

    others: float | None
    own: float | None
    stolen: float | None
    busiest: tuple[tuple[str, int, float], ...] = ()


def watch(seconds: float) -> CpuUse:
    """Looks on for some seconds, using next to nothing itself."""
    first = read_moment()
    time.sleep(seconds)
    return between(first, read_moment())


def between(first: CpuMoment, last: CpuMoment) -> CpuUse:
    """What was used from one moment to a later one.

    Of the processors that this process may run on; where their counters do not grow, of all that
    are shown.
    """
    growth = (last.mine.since(first.mine), last.shown.since(first.shown))
    spent = next((grown for grown in growth if grown.total > 0), None)
    if spent is None:
        return CpuUse(others=None, own=None, stolen=None)
    total, own = spent.total, last.own - first.own
    used = [
        (name, pid, (seconds - first.processes.get((pid, start), ("", 0.0))[1]) / total)
        for (pid, start), (name, seconds) in last.processes.items()
    ]
    busiest = sorted((row for row in used if row[2] > 0), key=lambda row: -row[2])

    def share(seconds: float) -> float:
        # Counters are kept in ticks, and one may even step back a little: proc(5), /proc/stat.
        return min(max(seconds / total, 0.0), 1.0)

    return CpuUse(
        others=share(spent.busy - own),
        own=share(own),
        stolen=share(spent.stolen),
        busiest=tuple(busiest[:3]),
    )


def read_moment(proc: Path = PROC) -> CpuMoment:
    """Reads ``/proc/stat`` and ``/proc/PID/stat`` (proc(5)) now."""
    mine, shown = read_processor_time(proc)
    spent = [resource.getrusage(w) for w in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return CpuMoment(
        mine=mine,
        shown=shown,
        own=sum(used.ru_utime + used.ru_stime for used in spent),
        processes=_processes(proc, os.sysconf("SC_CLK_TCK")),
    )


def running(name: str, proc: Path = PROC) -> tuple[int, ...] | None:
    """The numbers of the processes of a name, as far as they can be seen.

    None where not even this process can be.
    """
    if not (proc / str(os.getpid())).exists():
        return None
    return tuple(sorted(pid for (pid, _), (own, _) in _processes(proc, 1).items() if own == name))


def _processes(proc: Path, tick: int) -> dict[tuple[int, int], tuple[str, float]]:
    found = {}
    for number in _numbers(proc):
        # The name stands in parentheses and may hold anything; fields 3, 14, 15 and 22 follow.
        stat = text_of(proc / str(number) / "stat") or ""  # gone meanwhile
        before, _, after = stat.rpartition(")")
        fields = after.split()
        if len(fields) > 19 and fields[0] not in ("Z", "X"):
            seconds = (int(fields[11]) + int(fields[12])) / tick
            found[number, int(fields[19])] = (before.partition("(")[2], seconds)
    return found


def _numbers(proc: Path) -> list[int]:
    """Of all processes that are shown, but this one."""
    try:
        names = [folder.name for folder in proc.iterdir() if folder.name.isdecimal()]
    except OSError:
        return []
    return [int(name) for name in names if int(name) != os.getpid()]
