"""What sets the speed of the processors: governor, turbo, hypervisor, a control group's limit.

Every function takes the folders that it reads, so that another machine's can be read too.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

from sampler.machine.control_groups import cpu_quota
from sampler.machine.hypervisor import is_virtual
from sampler.machine.kernel_files import PROC, SYS, line_of


@dataclass(frozen=True, kw_only=True)
class CpuState:
    """The processors as this process may use them.

    Attributes:
        cores: How many it may run on.
        governors: The distinct governors of all processors; empty where the system shows none.
        turbo: Whether the clock may rise above its nominal rate; None where that is not shown.
        virtual: Whether a hypervisor is beneath; None where nothing tells.
        quota: CPU seconds a second that control groups grant; None for no limit.
    """

    cores: int
    governors: tuple[str, ...]
    turbo: bool | None
    virtual: bool | None
    quota: float | None


def read_cpu_state(proc: Path = PROC, sys: Path = SYS) -> CpuState:
    """Reads it; what cannot be read is left unknown."""
    return CpuState(
        cores=len(os.sched_getaffinity(0)),
        governors=governors(sys),
        turbo=turbo(sys),
        virtual=is_virtual(proc, sys),
        quota=cpu_quota(proc, sys),
    )


def governors(sys: Path = SYS) -> tuple[str, ...]:
    """The distinct cpufreq governors, sorted (Documentation/admin-guide/pm/cpufreq.rst)."""
    files = (sys / "devices/system/cpu").glob("cpu[0-9]*/cpufreq/scaling_governor")
    return tuple(sorted({text for file in files if (text := line_of(file))}))


def turbo(sys: Path = SYS) -> bool | None:
    """Whether the clock may be raised: Intel's ``no_turbo``, or cpufreq's ``boost``."""
    cpu = sys / "devices/system/cpu"
    if (off := line_of(cpu / "intel_pstate/no_turbo")) is not None:
        return off == "0"
    boost = line_of(cpu / "cpufreq/boost")
    return None if boost is None else boost == "1"
