"""The machine: what the kernel shows, its processors and memory, and what numbers come from.

Governor, turbo, hypervisor and a control group's limit set the speed of the processors. Any of the
files of /proc, /sys and control groups may be missing: a sandbox or a container shows less. Of
control groups version 2 and version 1 are read, and the least of a group and all its ancestors
holds: in a container the group's own folder may be the root of what is mounted. A process is named
by its number and its start, so that a recycled number is not mistaken for it. Functions take the
folders that they read, so that another machine's can be read too.
"""

from __future__ import annotations

import os
import platform
import re
import signal
import socket
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

PROC, SYS = Path("/proc"), Path("/sys")
# Version 1 writes "no limit" as the largest number of whole pages.
_NO_LIMIT = 2**62
_SWITCHES = ("voluntary_ctxt_switches", "nonvoluntary_ctxt_switches")
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


@dataclass(frozen=True)
class SeenProcesses:
    """The processes that can be seen at one moment, so that later ones are told from them."""

    numbers: frozenset[int]
    # Processes and threads that the machine has started since boot; None where it is not told.
    started: int | None

    def since(self, before: SeenProcesses, proc: Path = PROC) -> frozenset[int]:
        """Those that may have been started after an earlier moment.

        The kernel gives numbers out in order and begins anew after ``pid_max``, so no number is
        given out twice while fewer than half of them were. Then who was there before is left out.
        """
        most = line_of(proc / "sys/kernel/pid_max") or ""
        if self.started is None or before.started is None or not most.isdecimal():
            return self.numbers
        again = 2 * (self.started - before.started) >= int(most)
        return self.numbers if again else self.numbers - before.numbers


def seen_processes(proc: Path = PROC) -> SeenProcesses:
    """The processes of now, by a listing of /proc: none of them is looked into."""
    numbers = (int(each.name) for each in proc.iterdir() if each.name.isdecimal())
    return SeenProcesses(frozenset(numbers), numbers_of(proc / "stat").get("processes"))


def kill_marked(name: str, value: str, before: SeenProcesses | None = None) -> int:
    """Kills every process whose environment has ``name`` set to ``value``; returns how many.

    Finds what left its process group and outlived its parent. Other users' processes cannot be
    seen and are left alone. Only those are looked at that were started after ``before``, where it
    is given. Looks again after each kill, for what was started meanwhile.
    """
    mark, killed = f"{name}={value}".encode(), set[int]()
    while True:
        now = seen_processes()
        found = now.since(before) if before else now.numbers
        ended = {pid for pid in found - killed - {os.getpid()} if _killed(pid, mark)}
        if not ended:
            return len(killed)
        killed |= ended


def _killed(pid: int, mark: bytes) -> bool:
    """Whether a process had the mark in its environment and was killed; a zombie has none."""
    with suppress(OSError):  # gone meanwhile, or not ours
        handle = os.pidfd_open(pid)  # its number cannot go to another process while it is open
        try:
            if mark in (PROC / str(pid) / "environ").read_bytes().split(b"\0"):
                signal.pidfd_send_signal(handle, signal.SIGKILL)
                return True
        finally:
            os.close(handle)
    return False


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
