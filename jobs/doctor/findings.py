"""The table of checks of a machine, and what readings of it say: how bad, and what to do.

A check is a row of ``checks.csv``: its name, the limits of what is graded, the fix for bad news.
Readings of processors, memory, load and disk are judged here.
"""

from bisect import bisect_left
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum

from optimizer.trials.trial import Trial
from sampler.bench.bench_folder import DiskSpeed, DiskState
from sampler.common.documents import packaged_rows
from sampler.common.text import format_bytes
from sampler.machine.host_load import CpuUse, Pressure
from sampler.machine.machine import CpuState, MemoryState


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


Limits = tuple[float, float, float]  # above them: a note, a warning, a problem


@dataclass(frozen=True)
class HostCheck:
    """A row of the table ``checks.csv``, whose last column is the reason of the limits."""

    fix: str  # what to do about bad news, where the judgement does not know better
    limits: Limits


def _check(row: Mapping[str, str]) -> HostCheck:
    note, warning, problem = (float(row[level] or "inf") for level in Severity if level != "ok")
    return HostCheck(row["fix"], (note, warning, problem))


CHECKS = {row["check"]: _check(row) for row in packaged_rows("jobs.doctor", "checks.csv")}
_MOVE = "set ROCKTUNE_BENCH_DIR to a folder on the disk to tune for"


def finding(check: str, level: Severity, found: str, fix: str = "") -> Finding:
    """What was found by a check, with its own fix unless a better one is given."""
    return Finding(check, level, found, "" if level is Severity.OK else fix or CHECKS[check].fix)


def fine(check: str, found: str) -> Finding:
    """Good news."""
    return Finding(check, Severity.OK, found)


def not_shown(check: str, where: str) -> Finding:
    """What nobody can judge, as ``where`` cannot be read: in a sandbox, in a container."""
    found = f"not visible here: cannot read {where}"
    return Finding(check, Severity.NOTE, found, "check it from outside: on the host, or as root")


def graded(value: float, limits: Limits) -> Severity:
    """The level of a figure of which more is worse; a limit itself is still within it."""
    return tuple(Severity)[bisect_left(limits, value)]


def graded_finding(check: str, value: float, found: str) -> Finding:
    """What was found by a check, at the level that its limits give."""
    return finding(check, graded(value, CHECKS[check].limits), found)


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


def judge_cpu(cpu: CpuState, *, most_jobs: int) -> Iterator[Finding]:
    """Judges the processors; ``most_jobs`` is what the space may draw of background jobs."""
    yield _cores(cpu, most_jobs)
    if cpu.governors:
        steady = cpu.governors == ("performance",)
        level = Severity.OK if steady else Severity.WARNING
        yield finding("governor", level, ", ".join(cpu.governors))
    else:
        yield fine("governor", f"not visible here: {_DECIDES[cpu.virtual]}")
    if cpu.turbo is not None:
        yield finding("turbo", Severity.NOTE, "on") if cpu.turbo else fine("turbo", "off")
    if cpu.virtual is None:
        found = "unknown: neither the processor nor the firmware reports one"
        fix = "ask the operator of this machine: other guests share caches, memory and disk"
        yield finding("hypervisor", Severity.NOTE, found, fix)
    if cpu.virtual:
        found = "virtual: other guests share caches, memory and disk, unseen by this check"
        yield finding("hypervisor", Severity.NOTE, found)
    if cpu.quota is not None and cpu.quota < cpu.cores:
        found = f"a control group allows {cpu.quota:g} of {cpu.cores} CPUs and throttles beyond"
        yield finding("CPU limit", Severity.WARNING, found)


def _cores(cpu: CpuState, most_jobs: int) -> Finding:
    if cpu.cores < LEAST_CORES:
        return finding("cores", Severity.WARNING, f"{cpu.cores}")
    found = f"{cpu.cores}; the space allows up to {most_jobs} background jobs"
    fix = "do not use the tuned max_background_jobs on a machine with more cores"
    level = Severity.NOTE if most_jobs > cpu.cores else Severity.OK
    return finding("cores", level, found, fix)


# Somebody waited for memory in so much of the last ten seconds: none do while there is enough.
STALLED = 0.01


def judge_memory(
    before: MemoryState, after: MemoryState, *, load_bytes: int, stalled: float | None
) -> list[Finding]:
    """Judges memory by two readings, for a workload that writes so many bytes.

    ``stalled`` is the share of the last ten seconds in which somebody waited for memory; None
    where the kernel does not tell.
    """
    level = Severity.NOTE if after.huge_pages == "always" else Severity.OK
    pages = finding("huge pages", level, after.huge_pages or "not visible here")
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
    level = Severity.OK if usable >= 2 * load_bytes else Severity.NOTE
    raised = "raise the limit (memory.max, docker --memory), which includes the page cache"
    return finding("memory", level, found, raised if limited else "")


def _swapping(before: MemoryState, after: MemoryState, stalled: float) -> Finding:
    told, moved = [], None
    if before.pages_swapped is not None and after.pages_swapped is not None:
        moved = after.pages_swapped - before.pages_swapped
        told.append(f"{moved} pages swapped during the check")
    if after.swap_used_bytes is not None:
        told.append(f"{format_bytes(after.swap_used_bytes)} swapped out")
    if (moved or 0) > 0 or stalled > STALLED:
        told.append(f"processes waited for memory {percentage(stalled)} of the last 10 s")
        return finding("swap", Severity.WARNING, ", ".join(told))
    return not_shown("swap", "/proc/vmstat") if moved is None else fine("swap", ", ".join(told))


def judge_load(use: CpuUse, pressure: Pressure, *, seconds: float) -> list[Finding]:
    """Judges what others did in the seconds in which Rocktune looked on."""
    stolen, waited = use.stolen, pressure.stalled.get("io")
    return [
        _others(use, pressure, seconds),
        not_shown("stolen time", "/proc/stat")
        if stolen is None
        else graded_finding("stolen time", stolen, f"{percentage(stolen)} of all CPU time"),
        not_shown("disk load", "/proc/pressure/io")
        if waited is None
        else graded_finding(
            "disk load",
            waited,
            f"processes waited for a disk {percentage(waited)} of the last 10 s",
        ),
    ]


def _others(use: CpuUse, pressure: Pressure, seconds: float) -> Finding:
    if use.others is None:
        return not_shown("other load", "/proc/stat")
    names = ", ".join(f"{name} ({pid}) {percentage(share)}" for name, pid, share in use.busiest)
    load = "not shown" if pressure.load is None else f"{pressure.load:g}"
    found = f"others used {percentage(use.others)} of all CPUs over {seconds:g} s"
    found += f", load average {load}"
    if (waited := pressure.stalled.get("cpu")) is not None:
        found += f", processes waited {percentage(waited)} of the last 10 s"
    check = CHECKS["other load"]
    level = graded(use.others, check.limits)
    if level is not Severity.OK:
        found += f": {names or 'unknown processes'}"
    divided = (
        "; nice does not limit it while kernel.sched_autogroup_enabled is 1, which divides CPU "
        "time by session first"
    )
    return finding("other load", level, found, check.fix + divided * pressure.by_session)


def judge_benchmarks(others: Sequence[int] | None, holder: str | None) -> list[Finding]:
    """Judges other benchmarks at work here: processes of db_bench, and who holds the host's lock.

    ``others`` is None where no process is shown.
    """
    if holder:
        found = f"{holder} is running a trial on this host"
        fix = "wait for its job to end: the two jobs would alternate trials"
        return [finding("benchmarks", Severity.WARNING, found, fix)]
    if others:
        found = f"db_bench is running outside Rocktune's lock: {', '.join(map(str, others))}"
        return [finding("benchmarks", Severity.PROBLEM, found)]
    if others is None:
        return [not_shown("benchmarks", "/proc")]
    return [fine("benchmarks", "no other is running")]


_IN_MEMORY = ("tmpfs", "ramfs", "devtmpfs")
# Another layer, or another machine, answers for the disk.
_LAYERED = (
    "overlay", "aufs", "nfs", "nfs4", "cifs", "smb3", "ceph", "glusterfs", "9p", "virtiofs",
)  # fmt: skip
# The quick load's 104 MB are written 3.4 times, log included, and the kernel brings them to the
# disk behind it. Below this rate that takes 3.5 s, longer than the load itself, and reaches into
# the next trial.
SLOW_WRITES = 100e6
# No device answers a flush sooner; what does is a cache that nothing makes safe.
SYNC_TOO_FAST = 20e-6


def judge_disk_state(
    disk: DiskState, *, needed_bytes: int, least_free_bytes: int, wants_direct: bool
) -> list[Finding]:
    """Judges what was seen without loading the disk, for a trial that needs so many bytes.

    A trial is ended when less than ``least_free_bytes`` is left (``ROCKTUNE_FREE_BYTES``);
    ``wants_direct``: whether the space may draw direct I/O.
    """
    folder = (
        finding("bench folder", Severity.PROBLEM, disk.refusal)
        if disk.refusal
        else fine("bench folder", str(disk.folder))
    )
    findings = [folder, _disk_room(disk, needed_bytes, least_free_bytes), _kind(disk)]
    if wants_direct and disk.direct is False:
        found = f"{disk.kind} does not support O_DIRECT: configurations with direct I/O will fail"
        findings.append(finding("direct I/O", Severity.WARNING, found))
    return findings


def _disk_room(disk: DiskState, own: int, reserve: int) -> Finding:
    # A trial that has all its data written must still find the reserve untouched.
    needed = own + reserve
    free, needs, leaves = (format_bytes(n) for n in (disk.free_bytes, own, reserve))
    found = f"{free} free; a trial needs {needs} and must leave {leaves}"
    if disk.free_bytes < needed:
        return finding("free disk", Severity.PROBLEM, found, f"free space, or {_MOVE}")
    level = Severity.NOTE if disk.free_bytes < 2 * needed else Severity.OK
    return finding("free disk", level, found)


def _kind(disk: DiskState) -> Finding:
    # Hypervisors often leave it at the kernel's default, so it is told and not judged.
    turning = {True: ", reported as rotational", False: ", reported as flash", None: ""}
    found = f"{disk.kind} on {disk.device}"
    if disk.kind in _IN_MEMORY:
        return finding("file system", Severity.PROBLEM, f"{found}: memory, not a disk", _MOVE)
    if disk.kind in _LAYERED or disk.kind.startswith("fuse"):
        return finding("file system", Severity.WARNING, f"{found}: layered or remote")
    return fine("file system", f"{found}{turning[disk.rotational]}")


def judge_disk_speed(speed: DiskSpeed) -> list[Finding]:
    """Judges what was measured."""
    rate = speed.bytes_per_second
    found = f"{rate / 1e6:,.0f} MB/s ({format_bytes(speed.written_bytes)}, fdatasync every 8 MiB)"
    level = Severity.NOTE if rate < SLOW_WRITES else Severity.OK
    return [finding("write speed", level, found), _syncs(speed)]


def _syncs(speed: DiskSpeed) -> Finding:
    median, p99 = speed.sync_median, speed.sync_p99
    found = (
        f"median {_time(median)}, p99 {_time(p99)} ({len(speed.sync_seconds)} appends of 4 KiB)"
    )
    if median < SYNC_TOO_FAST:
        fix = "find out what acknowledges unsafe writes: memory, a cache, libeatmydata"
        return finding("fsync", Severity.WARNING, f"{found}: faster than a device can", fix)
    return graded_finding("fsync", p99, found)


def _time(seconds: float) -> str:
    return f"{1e6 * seconds:.3g} us" if seconds < 1e-3 else f"{1e3 * seconds:.3g} ms"
