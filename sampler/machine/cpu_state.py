"""What sets the speed of the processors: governor, turbo, hypervisor, a control group's limit.

Every function takes the folders that it reads, so that another machine's can be read too.
"""

import os
from dataclasses import dataclass
from pathlib import Path

from sampler.machine.kernel_files import PROC, SYS, cpu_quota, field_of, line_of

# How the firmware of guests names their maker or the machine (SMBIOS, type 1): those of
# systemd's detect-virt that name nothing else, and makers of clouds. All are beginnings.
# "Virtual Machine" is Hyper-V's and Azure's; other machines of Microsoft have other names.
_GUESTS = (
    "Alibaba Cloud ECS", "Apple Virtualization", "BHYVE", "Bochs", "Droplet",
    "Google Compute Engine", "Hyper-V", "KVM", "KubeVirt", "OpenStack", "Parallels", "QEMU", "VMW",
    "VMware", "Virtual Machine", "VirtualBox", "Xen", "innotek GmbH", "vServer",
)  # fmt: skip
_AMAZON, _METAL = "Amazon EC2", ".metal"


@dataclass(frozen=True, kw_only=True)
class CpuState:
    """The processors as this process may use them."""

    cores: int  # how many it may run on
    # The distinct governors of all processors; empty where the system shows none.
    governors: tuple[str, ...]
    # Whether the clock may rise above its nominal rate; None where that is not shown.
    turbo: bool | None
    virtual: bool | None  # whether a hypervisor is beneath; None where nothing tells
    quota: float | None  # CPU seconds a second that control groups grant; None for no limit


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


def is_virtual(proc: Path = PROC, sys: Path = SYS) -> bool | None:
    """Whether something says that a hypervisor is beneath; None where nothing tells.

    An x86 processor has a flag for it (CPUID 1, ECX bit 31). Others have none: there a firmware
    that names no hypervisor may just be unknown here.
    """
    told = _firmware(sys)
    try:
        filled = any((sys / "hypervisor").iterdir())  # Linux makes it on any machine
    except OSError:
        filled = False
    if told or filled or (proc / "device-tree/hypervisor").exists():
        return True
    flags = field_of(proc / "cpuinfo", "flags")  # of an x86 processor
    if flags is not None:
        return "hypervisor" in flags.split()
    return told


def _firmware(sys: Path) -> bool | None:
    names = (line_of(sys / "class/dmi/id" / name) for name in ("sys_vendor", "product_name"))
    maker, machine = (name or "" for name in names)
    if maker == _AMAZON and machine:
        return _METAL not in machine  # m7g.metal, c7i.metal-24xl: without one
    return True if maker.startswith(_GUESTS) or machine.startswith(_GUESTS) else None
