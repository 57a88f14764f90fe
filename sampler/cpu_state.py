"""What sets the speed of the processors: governor, turbo, hypervisor, a control group's limit.

Every function takes the folders that it reads, so that another machine's can be read too.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

_PROC, _SYS = Path("/proc"), Path("/sys")


@dataclass(frozen=True, kw_only=True)
class CpuState:
    """The processors as this process may use them.

    Attributes:
        cores: How many it may run on.
        governors: The distinct governors of all processors; empty where the system shows none.
        turbo: Whether the clock may rise above its nominal rate; None where that is not shown.
        virtual: Whether a hypervisor is beneath.
        quota: CPU seconds a second that control groups grant; None for no limit.
    """

    cores: int
    governors: tuple[str, ...]
    turbo: bool | None
    virtual: bool
    quota: float | None


def read_cpu_state(proc: Path = _PROC, sys: Path = _SYS) -> CpuState:
    """Reads it; what cannot be read is left unknown."""
    return CpuState(
        cores=len(os.sched_getaffinity(0)),
        governors=governors(sys),
        turbo=turbo(sys),
        virtual=is_virtual(proc, sys),
        quota=cpu_quota(proc, sys),
    )


def governors(sys: Path = _SYS) -> tuple[str, ...]:
    """The distinct cpufreq governors, sorted (Documentation/admin-guide/pm/cpufreq.rst)."""
    files = (sys / "devices/system/cpu").glob("cpu[0-9]*/cpufreq/scaling_governor")
    return tuple(sorted({text for file in files if (text := line_of(file))}))


def turbo(sys: Path = _SYS) -> bool | None:
    """Whether the clock may be raised: Intel's ``no_turbo``, or cpufreq's ``boost``."""
    cpu = sys / "devices/system/cpu"
    if (off := line_of(cpu / "intel_pstate/no_turbo")) is not None:
        return off == "0"
    boost = line_of(cpu / "cpufreq/boost")
    return None if boost is None else boost == "1"


def is_virtual(proc: Path = _PROC, sys: Path = _SYS) -> bool:
    """Whether the processor, or the firmware, says that a hypervisor is beneath."""
    if (sys / "hypervisor/type").exists() or (proc / "device-tree/hypervisor").exists():
        return True
    try:
        text = (proc / "cpuinfo").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return False
    flags = (line for line in text.splitlines() if line.startswith("flags"))
    return "hypervisor" in next(flags, "").split()


def cpu_quota(proc: Path = _PROC, sys: Path = _SYS) -> float | None:
    """The least CPU seconds a second that the control groups above this process grant.

    Reads ``cpu.max`` of version 2 and ``cpu.cfs_quota_us`` of version 1; in a container the
    group's own folder may be the root of what is mounted.
    """
    found: list[float] = []
    try:
        groups = (proc / "self/cgroup").read_text(encoding="utf-8").splitlines()
    except OSError:
        return None
    for line in groups:
        _, controllers, place = line.split(":", 2)
        if controllers and "cpu" not in controllers.split(","):
            continue
        below = Path(place.lstrip("/"))
        for root in (sys / "fs/cgroup" / controllers, sys / "fs/cgroup/unified"):
            for folder in (below, *below.parents):
                limit = _limit_of(root / folder)
                found += [] if limit is None else [limit]
    return min(found, default=None)


def _limit_of(folder: Path) -> float | None:
    newer = (line_of(folder / "cpu.max") or "").split()
    older = [line_of(folder / f"cpu.cfs_{name}_us") or "" for name in ("quota", "period")]
    for numbers in (newer, older):  # "max", or -1: none
        if len(numbers) == 2 and all(number.isdecimal() for number in numbers):
            return int(numbers[0]) / max(int(numbers[1]), 1)
    return None


def line_of(file: Path) -> str | None:
    """The text of a file of one line; None where it cannot be read."""
    try:
        return file.read_text(encoding="utf-8", errors="replace").strip()
    except OSError:
        return None
