"""The machine that numbers come from: what it is, and the state of its processors and its memory.

Governor, turbo, hypervisor and a control group's limit set the speed of the processors. Functions
take the folders that they read, so that another machine's can be read too.
"""

import os
import platform
import re
import socket
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from sampler.machine.kernel import (
    PROC,
    SYS,
    cpu_quota,
    field_of,
    line_of,
    memory_left,
    numbers_of,
    text_of,
)

_ESCAPED = re.compile(r"\\([0-7]{3})")
# How the firmware of guests names their maker or the machine (SMBIOS, type 1): those of
# systemd's detect-virt that name nothing else, and makers of clouds. All are beginnings.
# "Virtual Machine" is Hyper-V's and Azure's; other machines of Microsoft have other names.
_GUESTS = (
    "Alibaba Cloud ECS", "Apple Virtualization", "BHYVE", "Bochs", "Droplet",
    "Google Compute Engine", "Hyper-V", "KVM", "KubeVirt", "OpenStack", "Parallels", "QEMU", "VMW",
    "VMware", "Virtual Machine", "VirtualBox", "Xen", "innotek GmbH", "vServer",
)  # fmt: skip
_AMAZON, _METAL = "Amazon EC2", ".metal"


def host_name() -> str:
    """This machine's name."""
    return socket.gethostname()


def cpu_threads() -> int:
    """Hardware threads that this process may use."""
    return len(os.sched_getaffinity(0))


def fingerprint(bench_dir: Path) -> dict[str, Any]:
    """CPU, memory, disk (of the bench folder), kernel and system, as far as they can be read."""
    device, kind = file_system(bench_dir)
    system = platform.system()
    with suppress(OSError):
        system = platform.freedesktop_os_release().get("PRETTY_NAME", system)
    return {
        "host": host_name(),
        "cpu": field_of(PROC / "cpuinfo", "model name") or platform.machine(),
        "cores": cpu_threads(),
        "governor": ", ".join(governors()) or None,
        "virtual": is_virtual(),
        "memory_bytes": os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES"),
        "disk": device,
        "file_system": kind,
        "kernel": platform.release(),
        "system": system,
        "python": platform.python_version(),
    }


def file_system(folder: Path) -> tuple[str, str]:
    """The device and type of the file system that a folder is, or will be, on.

    Behind a symbolic link that is where the link leads. Both are ``unknown`` where the system
    does not tell.
    """
    # Unlike Path.resolve() this bears links that lead in a circle.
    place = Path(os.path.realpath(folder))
    best, found = -1, ("unknown", "unknown")
    for line in (text_of(PROC / "self/mounts") or "").splitlines():
        # A space within a field is ``\040`` (getmntent(3)).
        parts = (_ESCAPED.sub(lambda o: chr(int(o[1], 8)), field) for field in line.split(" "))
        device, mounted, kind, *_ = parts
        # The longest mount point that holds the folder; of equals the last one mounted.
        if place.is_relative_to(mounted) and len(mounted) >= best:
            best, found = len(mounted), (device, kind)
    return found


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
    filled = False
    with suppress(OSError):
        filled = any((sys / "hypervisor").iterdir())  # Linux makes it on any machine
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


@dataclass(frozen=True, kw_only=True)
class MemoryState:
    """Memory at one moment; what cannot be read is None."""

    available_bytes: int | None  # what the machine has without swapping, the page cache included
    # What control groups leave this process; None too where they set no limit.
    left_by_groups: int | None
    swap_used_bytes: int | None  # what has been swapped out
    pages_swapped: int | None  # pages swapped in and out since boot
    huge_pages: str | None  # ``always``, ``madvise`` or ``never``

    @property
    def usable_bytes(self) -> int | None:
        """What a program can have here: the less of what there is and of what it is granted."""
        known = [n for n in (self.available_bytes, self.left_by_groups) if n is not None]
        return min(known, default=None)


def read_memory_state(proc: Path = PROC, sys: Path = SYS) -> MemoryState:
    """Reads ``meminfo``, ``vmstat`` (proc(5)), control groups and the setting of huge pages."""
    info, pages = numbers_of(proc / "meminfo"), numbers_of(proc / "vmstat")
    available = info.get("MemAvailable", info.get("MemFree"))
    total, free = info.get("SwapTotal"), info.get("SwapFree")
    read, written = pages.get("pswpin"), pages.get("pswpout")
    setting = line_of(sys / "kernel/mm/transparent_hugepage/enabled") or ""
    chosen = re.search(r"\[(\w+)\]", setting)
    return MemoryState(
        available_bytes=None if available is None else available * 1024,
        left_by_groups=memory_left(proc, sys),
        swap_used_bytes=None if total is None or free is None else (total - free) * 1024,
        pages_swapped=None if read is None or written is None else read + written,
        huge_pages=chosen.group(1) if chosen else None,
    )
