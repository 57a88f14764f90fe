"""What was found about a machine, how bad that is, and what to do about it.

Readings of its processors, memory, load and disk are judged here.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import StrEnum

from optimizer.trials.trial import Trial
from sampler.common.byte_size import format_bytes
from sampler.machine.disk_speed import DiskSpeed
from sampler.machine.host_load import CpuUse, Pressure
from sampler.machine.machine import CpuState, MemoryState
from sampler.runner.bench_folder import DiskState


class Severity(StrEnum):
    """How bad a finding is, from nothing to a reason not to measure here."""

    OK = "ok"
    NOTE = "note"  # worth knowing
    WARNING = "warning"  # figures may be worse, or mean less, than they seem
    PROBLEM = "problem"  # what is measured here is not what is asked for


@dataclass(frozen=True)
class Finding:
    """One thing that was looked at."""

    check: str  # what was looked at, in one or two words
    level: Severity
    found: str  # what is there, with figures
    advice: str = ""  # what to do about it; never empty where the level is not `ok`

    def __post_init__(self) -> None:
        """Refuses bad news without advice."""
        if self.level is not Severity.OK and not self.advice:
            raise ValueError(f"{self.check}: {self.found}: advice is missing")


@dataclass(frozen=True, kw_only=True)
class ExaminationObserver:
    """Who is told what while a machine is examined."""

    found: Callable[[Finding], None]  # each finding, as it comes
    waiting: Callable[[str], None]  # who holds the host, while somebody does
    began: Callable[[int], None]  # the number of each run of the baseline, before it
    ended: Callable[[Trial], None]  # each run, after it


def not_shown(check: str, where: str) -> Finding:
    """What nobody can judge, as ``where`` cannot be read: in a sandbox, in a container."""
    found = f"not visible here: cannot read {where}"
    return Finding(check, Severity.NOTE, found, "check it from outside: on the host, or as root")


def graded(value: float, *, note: float, warning: float, problem: float) -> Severity:
    """The level of a figure of which more is worse; a limit itself is still within it."""
    if value > problem:
        return Severity.PROBLEM
    if value > warning:
        return Severity.WARNING
    return Severity.NOTE if value > note else Severity.OK


def percentage(share: float) -> str:
    """A share as people read it: ``0.046`` is ``4.6%``."""
    return f"{100 * share:.{2 if share < 0.1 else 3}g}%"


# The client, a flush and a compaction run at once as soon as a load does anything.
LEAST_CORES = 2
# Who sets the clock where no governor is shown: by whether a hypervisor is beneath.
_DECIDES = {
    True: "set by the hypervisor's host",
    False: "set by the firmware",
    None: "set by the firmware or a hypervisor's host",
}


def judge_cpu(cpu: CpuState, *, most_jobs: int) -> list[Finding]:
    """Judges the processors; ``most_jobs`` is what the space may draw of background jobs."""
    findings = [_cores(cpu, most_jobs), _governor(cpu)]
    if cpu.turbo:
        advice = (
            "turn it off for steadier times: turbo depends on heat and the number of busy cores"
        )
        findings.append(Finding("turbo", Severity.NOTE, "on", advice))
    elif cpu.turbo is not None:
        findings.append(Finding("turbo", Severity.OK, "off"))
    if cpu.virtual is None:
        found = "unknown: neither the processor nor the firmware reports one"
        advice = "ask the operator of this machine: other guests share caches, memory and disk"
        findings.append(Finding("hypervisor", Severity.NOTE, found, advice))
    if cpu.virtual:
        found = "virtual: other guests share caches, memory and disk, unseen by this check"
        advice = "repeat important measurements at another time, or on dedicated hardware"
        findings.append(Finding("hypervisor", Severity.NOTE, found, advice))
    if cpu.quota is not None and cpu.quota < cpu.cores:
        found = f"a control group allows {cpu.quota:g} of {cpu.cores} CPUs and throttles beyond"
        advice = "raise the limit (cpu.max, docker --cpus), or pin with --cpuset-cpus instead"
        findings.append(Finding("CPU limit", Severity.WARNING, found, advice))
    return findings


def _cores(cpu: CpuState, most_jobs: int) -> Finding:
    if cpu.cores < LEAST_CORES:
        advice = "use at least 2: on one core, clients, flushes and compactions take turns"
        return Finding("cores", Severity.WARNING, f"{cpu.cores}", advice)
    found = f"{cpu.cores}; the space allows up to {most_jobs} background jobs"
    if most_jobs > cpu.cores:
        advice = "do not use the tuned max_background_jobs on a machine with more cores"
        return Finding("cores", Severity.NOTE, found, advice)
    return Finding("cores", Severity.OK, found)


def _governor(cpu: CpuState) -> Finding:
    if not cpu.governors:
        return Finding("governor", Severity.OK, f"not visible here: {_DECIDES[cpu.virtual]}")
    found = ", ".join(cpu.governors)
    if cpu.governors == ("performance",):
        return Finding("governor", Severity.OK, found)
    advice = "run `cpupower frequency-set -g performance` as root, for a fixed clock rate"
    return Finding("governor", Severity.WARNING, found, advice)


# Somebody waited for memory in so much of the last ten seconds: none do while there is enough.
STALLED = 0.01


def judge_memory(
    before: MemoryState, after: MemoryState, *, load_bytes: int, stalled: float | None
) -> list[Finding]:
    """Judges memory by two readings, for a workload that writes so many bytes.

    ``stalled`` is the share of the last ten seconds in which somebody waited for memory; None
    where the kernel does not tell.
    """
    pages = Finding("huge pages", Severity.OK, after.huge_pages or "not visible here")
    if after.huge_pages == "always":
        advice = (
            "set transparent_hugepage/enabled to madvise, or to production's setting: making "
            "huge pages delays whichever process is running"
        )
        pages = Finding("huge pages", Severity.NOTE, "always", advice)
    return [_room(after, load_bytes), _swapping(before, after, stalled or 0.0), pages]


def _room(memory: MemoryState, load_bytes: int) -> Finding:
    usable, granted = memory.usable_bytes, memory.left_by_groups
    if usable is None:
        return not_shown("memory", "/proc/meminfo")
    limited = " (limited by a control group)" if usable == granted else ""
    found = (
        f"{format_bytes(usable)} available{limited}, the load writes {format_bytes(load_bytes)}"
    )
    # Inputs and outputs of compactions are there together.
    if usable >= 2 * load_bytes:
        return Finding("memory", Severity.OK, found)
    advice = (
        "raise the limit (memory.max, docker --memory), which includes the page cache"
        if limited
        else "free memory: with a small page cache, compactions sometimes read from the disk"
    )
    return Finding("memory", Severity.NOTE, found, advice)


def _swapping(before: MemoryState, after: MemoryState, stalled: float) -> Finding:
    told, moved = [], None
    if before.pages_swapped is not None and after.pages_swapped is not None:
        moved = after.pages_swapped - before.pages_swapped
        told.append(f"{moved} pages swapped during the check")
    if after.swap_used_bytes is not None:
        told.append(f"{format_bytes(after.swap_used_bytes)} swapped out")
    if (moved or 0) > 0 or stalled > STALLED:
        told.append(f"processes waited for memory {percentage(stalled)} of the last 10 s")
        advice = "free memory, then run `swapoff -a`: a page swapped in stops a thread"
        return Finding("swap", Severity.WARNING, ", ".join(told), advice)
    if moved is None:
        return not_shown("swap", "/proc/vmstat")
    return Finding("swap", Severity.OK, ", ".join(told))


# Shares of all processors. The quick load uses 1.6 CPU seconds in 1.3 s: of 2 cores it leaves
# 0.75, on the average and not in its bursts. What others take beyond a few percent is missing at
# times; a quarter of the machine, half a core of two, is missing often.
OTHERS_NOTE, OTHERS_WARNING, OTHERS_PROBLEM = 0.02, 0.05, 0.25
# Whoever steals is not to be seen from here and cannot be ended: it counts sooner.
STOLEN_NOTE, STOLEN_WARNING, STOLEN_PROBLEM = 0.005, 0.01, 0.10
# Share of the last ten seconds in which somebody waited for a disk: the same few percent at first,
# more at the end, for a trial writes mostly to the page cache.
IO_NOTE, IO_WARNING, IO_PROBLEM = 0.05, 0.15, 0.60


def judge_load(use: CpuUse, pressure: Pressure, *, seconds: float) -> list[Finding]:
    """Judges what others did in the seconds in which Rocktune looked on."""
    return [_others(use, pressure, seconds), _stolen(use.stolen), _disk_pressure(pressure)]


def _others(use: CpuUse, pressure: Pressure, seconds: float) -> Finding:
    if use.others is None:
        return not_shown("other load", "/proc/stat")
    names = ", ".join(f"{name} ({pid}) {percentage(share)}" for name, pid, share in use.busiest)
    load = "not shown" if pressure.load is None else f"{pressure.load:g}"
    found = f"others used {percentage(use.others)} of all CPUs over {seconds:g} s"
    found += f", load average {load}"
    if (waited := pressure.stalled.get("cpu")) is not None:
        found += f", processes waited {percentage(waited)} of the last 10 s"
    level = graded(use.others, note=OTHERS_NOTE, warning=OTHERS_WARNING, problem=OTHERS_PROBLEM)
    if level is Severity.OK:
        return Finding("other load", level, found)
    advice = "stop it, or measure when it has ended"
    if pressure.by_session:
        advice += (
            "; nice does not limit it while kernel.sched_autogroup_enabled is 1, which divides "
            "CPU time by session first"
        )
    return Finding("other load", level, f"{found}: {names or 'unknown processes'}", advice)


def _stolen(stolen: float | None) -> Finding:
    if stolen is None:
        return not_shown("stolen time", "/proc/stat")
    level = graded(stolen, note=STOLEN_NOTE, warning=STOLEN_WARNING, problem=STOLEN_PROBLEM)
    found = f"{percentage(stolen)} of all CPU time"
    advice = "use a host or an instance type with dedicated CPUs"
    return Finding("stolen time", level, found, "" if level is Severity.OK else advice)


def _disk_pressure(pressure: Pressure) -> Finding:
    if "io" not in pressure.stalled:
        return not_shown("disk load", "/proc/pressure/io")
    waited = pressure.stalled["io"]
    level = graded(waited, note=IO_NOTE, warning=IO_WARNING, problem=IO_PROBLEM)
    found = f"processes waited for a disk {percentage(waited)} of the last 10 s"
    advice = "find the process (iotop, pidstat -d 1), and measure when it has ended"
    return Finding("disk load", level, found, "" if level is Severity.OK else advice)


def judge_benchmarks(others: Sequence[int] | None, holder: str | None) -> list[Finding]:
    """Judges other benchmarks at work here: processes of db_bench, and who holds the host's lock.

    ``others`` is None where no process is shown.
    """
    if holder:
        found = f"{holder} is running a trial on this host"
        advice = "wait for its job to end: the two jobs would alternate trials"
        return [Finding("benchmarks", Severity.WARNING, found, advice)]
    if others:
        found = f"db_bench is running outside Rocktune's lock: {', '.join(map(str, others))}"
        advice = "stop it: two benchmarks on one machine disturb each other"
        return [Finding("benchmarks", Severity.PROBLEM, found, advice)]
    if others is None:
        return [not_shown("benchmarks", "/proc")]
    return [Finding("benchmarks", Severity.OK, "no other is running")]


_MOVE = "set ROCKTUNE_BENCH_DIR to a folder on the disk to tune for"
_IN_MEMORY = ("tmpfs", "ramfs", "devtmpfs")
# Another layer, or another machine, answers for the disk.
_LAYERED = (
    "overlay",
    "aufs",
    "nfs",
    "nfs4",
    "cifs",
    "smb3",
    "ceph",
    "glusterfs",
    "9p",
    "virtiofs",
)

# The quick load's 104 MB are written 3.4 times, log included, and the kernel brings them to the
# disk behind it. Below this rate that takes 3.5 s, longer than the load itself, and reaches into
# the next trial.
SLOW_WRITES = 100e6
# One stall of the disk against the quick load's 1.3 s: 5%, 10%, 50% of it.
SYNC_NOTE, SYNC_WARNING, SYNC_PROBLEM = 0.065, 0.13, 0.65
# No device answers a flush sooner; what does is a cache that nothing makes safe.
SYNC_TOO_FAST = 20e-6


def judge_disk_state(
    disk: DiskState, *, needed_bytes: int, least_free_bytes: int, wants_direct: bool
) -> list[Finding]:
    """Judges what was seen without loading the disk, for a trial that needs so many bytes.

    A trial is ended when less than ``least_free_bytes`` is left (``ROCKTUNE_FREE_BYTES``);
    ``wants_direct``: whether the space may draw direct I/O.
    """
    findings = [_folder(disk), _disk_room(disk, needed_bytes, least_free_bytes), _kind(disk)]
    if wants_direct and disk.direct is False:
        found = f"{disk.kind} does not support O_DIRECT: configurations with direct I/O will fail"
        advice = "use another file system, or remove direct I/O from the space"
        findings.append(Finding("direct I/O", Severity.WARNING, found, advice))
    return findings


def _folder(disk: DiskState) -> Finding:
    if disk.refusal:
        advice = "make it writable for this user, or set ROCKTUNE_BENCH_DIR to a writable folder"
        return Finding("bench folder", Severity.PROBLEM, disk.refusal, advice)
    return Finding("bench folder", Severity.OK, str(disk.folder))


def _disk_room(disk: DiskState, own: int, reserve: int) -> Finding:
    # A trial that has all its data written must still find the reserve untouched.
    needed = own + reserve
    free, needs, leaves = (format_bytes(n) for n in (disk.free_bytes, own, reserve))
    found = f"{free} free; a trial needs {needs} and must leave {leaves}"
    if disk.free_bytes < needed:
        return Finding("free disk", Severity.PROBLEM, found, f"free space, or {_MOVE}")
    if disk.free_bytes < 2 * needed:
        advice = "free space: flash and file systems slow down when nearly full"
        return Finding("free disk", Severity.NOTE, found, advice)
    return Finding("free disk", Severity.OK, found)


def _kind(disk: DiskState) -> Finding:
    # Hypervisors often leave it at the kernel's default, so it is told and not judged.
    turning = {True: ", reported as rotational", False: ", reported as flash", None: ""}
    found = f"{disk.kind} on {disk.device}"
    if disk.kind in _IN_MEMORY:
        return Finding("file system", Severity.PROBLEM, f"{found}: memory, not a disk", _MOVE)
    if disk.kind in _LAYERED or disk.kind.startswith("fuse"):
        advice = f"{_MOVE}; in a container, on a volume"
        return Finding("file system", Severity.WARNING, f"{found}: layered or remote", advice)
    return Finding("file system", Severity.OK, f"{found}{turning[disk.rotational]}")


def judge_disk_speed(speed: DiskSpeed) -> list[Finding]:
    """Judges what was measured."""
    rate = speed.bytes_per_second
    found = f"{rate / 1e6:,.0f} MB/s ({format_bytes(speed.written_bytes)}, fdatasync every 8 MiB)"
    writes = Finding("write speed", Severity.OK, found)
    if rate < SLOW_WRITES:
        advice = (
            "writes of one trial may delay the next; use a faster disk unless you tune for "
            "this one"
        )
        writes = Finding("write speed", Severity.NOTE, found, advice)
    return [writes, _syncs(speed)]


def _syncs(speed: DiskSpeed) -> Finding:
    median, p99 = speed.sync_median, speed.sync_p99
    found = (
        f"median {_time(median)}, p99 {_time(p99)} ({len(speed.sync_seconds)} appends of 4 KiB)"
    )
    if median < SYNC_TOO_FAST:
        advice = "find out what acknowledges unsafe writes: memory, a cache, libeatmydata"
        return Finding("fsync", Severity.WARNING, f"{found}: faster than a device can", advice)
    level = graded(p99, note=SYNC_NOTE, warning=SYNC_WARNING, problem=SYNC_PROBLEM)
    advice = "look for other users of this disk (iostat -x 1), or a limit of the provider"
    return Finding("fsync", level, found, "" if level is Severity.OK else advice)


def _time(seconds: float) -> str:
    return f"{1e6 * seconds:.3g} us" if seconds < 1e-3 else f"{1e3 * seconds:.3g} ms"
