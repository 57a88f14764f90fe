"""What the processors did since boot: the counters of /proc/stat."""

from __future__ import annotations

import os
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from sampler.machine.kernel_files import PROC, text_of


@dataclass(frozen=True)
class ProcessorTime:
    """CPU seconds, since boot or between two moments.

    Attributes:
        busy: Everything but idle and stolen.
        idle: Waiting for a disk included.
        stolen: Ready to run, while the hypervisor ran something else.
    """

    busy: float = 0.0
    idle: float = 0.0
    stolen: float = 0.0

    @property
    def total(self) -> float:
        """Of all three."""
        return self.busy + self.idle + self.stolen

    def since(self, first: ProcessorTime) -> ProcessorTime:
        """What was added after an earlier moment."""
        return ProcessorTime(
            self.busy - first.busy, self.idle - first.idle, self.stolen - first.stolen
        )


def read_processor_time(proc: Path = PROC) -> tuple[ProcessorTime, ProcessorTime]:
    """The counters now; zeros where they cannot be read.

    Returns:
        Of the processors that this process may run on, if every one of them is there: lxcfs
        numbers a container's from 0, while the affinity keeps the host's numbers. And of all
        processors that are shown, the line ``cpu``.
    """
    tick = os.sysconf("SC_CLK_TCK")
    rows: dict[str, ProcessorTime] = {}
    for line in (text_of(proc / "stat") or "").splitlines():
        if line.startswith("cpu"):
            name, *numbers = line.split()
            rows[name] = _row([int(number) / tick for number in numbers])
    mine = {f"cpu{number}" for number in os.sched_getaffinity(0)}
    shown = mine <= rows.keys()
    return _sum(rows[name] for name in mine if shown), rows.get("cpu", ProcessorTime())


def _row(seconds: list[float]) -> ProcessorTime:
    # proc(5). A guest's time, which follows, is in user and nice already.
    user, nice, system, waits, io, irq, soft, steal = (*seconds, *[0.0] * 8)[:8]
    return ProcessorTime(user + nice + system + irq + soft, waits + io, steal)


def _sum(rows: Iterable[ProcessorTime]) -> ProcessorTime:
    busy = idle = stolen = 0.0
    for row in rows:
        busy, idle, stolen = busy + row.busy, idle + row.idle, stolen + row.stolen
    return ProcessorTime(busy, idle, stolen)
