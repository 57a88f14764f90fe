"""How busy the host is: processor time, the processes that use it, and how long work waits."""

from __future__ import annotations

import os
import resource
import time
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from operator import sub
from pathlib import Path
from typing import NamedTuple

from sampler.machine.machine import PROC, line_of, process_stat, text_of

_KERNEL_THREAD = 0x00200000  # PF_KTHREAD of include/linux/sched.h, in the field `flags`
_Place = tuple[int, int]  # a process: its number, and its start


class ProcessorTime(NamedTuple):
    """CPU seconds, since boot or between two moments."""

    busy: float = 0.0  # everything else
    idle: float = 0.0  # waiting for a disk included
    stolen: float = 0.0  # ready to run, while the hypervisor ran something else
    interrupts: float = 0.0  # served for devices

    @property
    def total(self) -> float:
        """Of all four."""
        return sum(self)

    def since(self, first: ProcessorTime) -> ProcessorTime:
        """What was added after an earlier moment."""
        return ProcessorTime(*map(sub, self, first))


def _read_processor_time(proc: Path = PROC) -> tuple[ProcessorTime, ProcessorTime]:
    """Of this process's processors, and of all that are shown; zeros where they cannot be read.

    Of its own if every one is there: lxcfs numbers a container's from 0, while the affinity keeps
    the host's numbers.
    """
    tick = os.sysconf("SC_CLK_TCK")
    rows: dict[str, ProcessorTime] = {}
    for line in (text_of(proc / "stat") or "").splitlines():
        if line.startswith("cpu"):
            name, *numbers = line.split()
            # proc(5). A guest's time, which follows, is in user and nice already.
            seconds = [int(number) / tick for number in numbers]
            user, nice, system, waits, io, irq, soft, steal = (*seconds, *[0.0] * 8)[:8]
            rows[name] = ProcessorTime(user + nice + system, waits + io, steal, irq + soft)
    mine = {f"cpu{number}" for number in os.sched_getaffinity(0)}
    shown = mine <= rows.keys()
    own = zip(*(rows[name] for name in mine if shown), strict=True)
    return ProcessorTime(*map(sum, own)), rows.get("cpu", ProcessorTime())


@dataclass(frozen=True, kw_only=True)
class CpuMoment:
    """The kernel's counters at one moment, in CPU seconds."""

    # Of the processors that this process may run on; zeros where they are not shown.
    mine: ProcessorTime
    shown: ProcessorTime = field(default_factory=ProcessorTime)  # of all processors that are shown
    own: float  # of this process and those of its children that have ended
    # Of every other process that can be seen, by number and start: name, seconds.
    processes: Mapping[_Place, tuple[str, float]] = field(default_factory=dict)
    # Those of them that are the kernel's own threads, on a processor that this process may use.
    kernel: frozenset[_Place] = frozenset()
    # Of each of the others there: seconds for which a thread was ready and waited, by its number.
    waited: Mapping[_Place, Mapping[str, float]] = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True)
class CpuUse:
    """What was used between two moments, as shares of all processors from 0 to 1."""

    # By other processes and the kernel; None where no processor's time was shown.
    others: float | None
    own: float | None  # by this process; None likewise
    stolen: float | None  # by the hypervisor's other guests; None likewise
    # Up to three other processes: name, number, share.
    busiest: tuple[tuple[str, int, float], ...] = ()


def watch_cpu(seconds: float) -> CpuUse:
    """Looks on for some seconds, using next to nothing itself."""
    first = read_moment()
    time.sleep(seconds)
    return between(first, read_moment())


def between(first: CpuMoment, last: CpuMoment) -> CpuUse:
    """What was used from one moment to a later one.

    Of the processors that this process may run on; where their counters do not grow, of all that
    are shown.
    """
    spent = _spent(first, last)
    if spent is None:
        return CpuUse(others=None, own=None, stolen=None)
    total, own = spent.total, last.own - first.own
    used = [
        (name, place[0], _grown(first, last, place) / total)
        for place, (name, _) in last.processes.items()
    ]
    busiest = sorted((row for row in used if row[2] > 0), key=lambda row: -row[2])

    def share(seconds: float) -> float:
        # Counters are kept in ticks, and one may even step back a little: proc(5), /proc/stat.
        return min(max(seconds / total, 0.0), 1.0)

    return CpuUse(
        others=share(spent.busy + spent.interrupts - own),
        own=share(own),
        stolen=share(spent.stolen),
        busiest=tuple(busiest[:3]),
    )


def others_demand(first: CpuMoment, last: CpuMoment, own: float) -> float | None:
    """What others wanted of the processors: 0 is nothing, 1 all of them; a crowd wants more.

    Their CPU time, and the time for which their threads were ready and waited, over all processor
    time: a busy thread wants one processor, however much a process leaves to it. Waiting counts of
    processes that are there at both moments, and so not of the process's own.

    What the hypervisor took counts as a share of the time that was asked for, so that it is the
    same for a process that asks for little. The kernel's threads and interrupts do not count: what
    they do is mostly the process's own writing. Where they are not shown, as in a container
    without lxcfs, the threads do count.

    The process, which used ``own`` CPU seconds, was started and ended between the two moments.

    Returns:
        None where no processor's time is shown.
    """
    spent = _spent(first, last)
    if spent is None:
        return None
    kernel = sum(_grown(first, last, place) for place in last.kernel)
    waited = sum(
        max(seconds - first.waited[place].get(thread, 0.0), 0.0)
        for place, threads in last.waited.items()
        if place in first.waited
        for thread, seconds in threads.items()
    )
    wanted = (max(spent.busy - kernel - own, 0.0) + waited) / spent.total
    stolen = max(spent.stolen, 0.0)
    return wanted + (stolen / (stolen + max(spent.busy, 0.0)) if stolen else 0.0)


def _spent(first: CpuMoment, last: CpuMoment) -> ProcessorTime | None:
    growth = (last.mine.since(first.mine), last.shown.since(first.shown))
    return next((grown for grown in growth if grown.total > 0), None)


def _grown(first: CpuMoment, last: CpuMoment, place: _Place) -> float:
    return last.processes[place][1] - first.processes.get(place, ("", 0.0))[1]


def read_moment(proc: Path = PROC) -> CpuMoment:
    """Reads ``/proc/stat``, ``/proc/PID/stat`` (proc(5)) and what threads waited now.

    With 250 processes this takes 7 ms of CPU time.
    """
    mine, shown = _read_processor_time(proc)
    spent = [resource.getrusage(w) for w in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    processes, kernel, users = _processes(proc)
    return CpuMoment(
        mine=mine,
        shown=shown,
        own=sum(used.ru_utime + used.ru_stime for used in spent),
        processes=processes,
        kernel=frozenset(kernel),
        # Who has used nothing yet has hardly waited.
        waited={p: _waited(p[0], proc) if processes[p][1] else {} for p in users},
    )


def running(name: str, proc: Path = PROC) -> tuple[int, ...] | None:
    """The numbers of the processes of a name, as far as they can be seen.

    None where not even this process can be.
    """
    if not (proc / str(os.getpid())).exists():
        return None
    found, *_ = _processes(proc)
    return tuple(sorted(pid for (pid, _), (own, _) in found.items() if own == name))


def _processes(proc: Path) -> tuple[dict[_Place, tuple[str, float]], set[_Place], set[_Place]]:
    """All that are shown but this one; of those on its processors the kernel's, and the others."""
    found: dict[_Place, tuple[str, float]] = {}
    kernel, others = set[_Place](), set[_Place]()
    mine, tick = os.sched_getaffinity(0), os.sysconf("SC_CLK_TCK")
    with suppress(OSError):
        numbers = [int(folder.name) for folder in proc.iterdir() if folder.name.isdecimal()]
        for number in numbers:
            if number != os.getpid() and (stat := process_stat(number, proc)):
                name, fields = stat
                place = number, int(fields[19])
                found[place] = (name, (int(fields[11]) + int(fields[12])) / tick)
                if set(map(int, fields[36:37])) <= mine:  # where it ran last, if that is told
                    (kernel if int(fields[6]) & _KERNEL_THREAD else others).add(place)
    return found, kernel, others


def _waited(pid: int, proc: Path) -> dict[str, float]:
    """Seconds by thread, where the kernel counts them: ``schedstat`` (sched-stats.rst)."""
    found: dict[str, float] = {}
    with suppress(OSError, IndexError):  # it may end meanwhile
        for task in (proc / str(pid) / "task").iterdir():
            found[task.name] = int((task / "schedstat").read_bytes().split()[1]) / 1e9
    return found


@dataclass(frozen=True, kw_only=True)
class Pressure:
    """The kernel's view of crowding."""

    # Tasks that run or wait, mean of the last minute; None where that is not shown.
    load: float | None
    # For ``cpu``, ``io`` and ``memory`` the share of the last ten seconds, from 0 to 1, in which
    # at least one task waited for it; what the kernel does not tell is left out.
    stalled: Mapping[str, float]
    # Whether processors are shared between sessions first, and by niceness only within each
    # (Documentation/scheduler/sched-design-CFS.rst, autogroup).
    by_session: bool = False


def read_pressure(proc: Path = PROC) -> Pressure:
    """Reads ``loadavg`` and ``pressure/*`` (Documentation/accounting/psi.rst)."""
    stalled = {kind: _some(proc / "pressure" / kind) for kind in ("cpu", "io", "memory")}
    means = (text_of(proc / "loadavg") or "").split()
    return Pressure(
        load=float(means[0]) if means else None,
        stalled={kind: share for kind, share in stalled.items() if share is not None},
        by_session=line_of(proc / "sys/kernel/sched_autogroup_enabled") == "1",
    )


def _some(file: Path) -> float | None:
    # A kernel that was started with psi=0 has the file and refuses to read it.
    text = text_of(file)
    if not text:
        return None
    fields = dict(part.split("=") for part in text.splitlines()[0].split()[1:])
    return float(fields["avg10"]) / 100
