"""The disk under the bench folder: is it one, is there room, how fast is it?"""

from __future__ import annotations

from jobs.doctor.finding import Finding, Level, graded
from sampler.common.byte_size import format_bytes
from sampler.machine.disk_speed import DiskSpeed
from sampler.runner.bench_folder import DiskState

_MOVE = "set ROCKTUNE_BENCH_DIR to a folder on the disk that you tune for"
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
    """Judges what was seen without loading the disk.

    Args:
        disk: The reading.
        needed_bytes: Free bytes that a trial of the workload needs.
        least_free_bytes: A trial is ended when less is left (``ROCKTUNE_FREE_BYTES``).
        wants_direct: Whether the space may draw direct I/O.
    """
    findings = [_folder(disk), _room(disk, needed_bytes, least_free_bytes), _kind(disk)]
    if wants_direct and disk.direct is False:
        found = f"{disk.kind} refuses O_DIRECT: configurations with direct I/O will fail"
        advice = "choose another file system, or take direct I/O out of the space"
        findings.append(Finding("direct I/O", Level.WARNING, found, advice))
    return findings


def _folder(disk: DiskState) -> Finding:
    if disk.refusal:
        advice = "make it writable for this user, or set ROCKTUNE_BENCH_DIR to a folder that is"
        return Finding("bench folder", Level.PROBLEM, disk.refusal, advice)
    return Finding("bench folder", Level.OK, str(disk.folder))


def _room(disk: DiskState, own: int, reserve: int) -> Finding:
    # A trial that has all its data written must still find the reserve untouched.
    needed = own + reserve
    free, needs, leaves = (format_bytes(n) for n in (disk.free_bytes, own, reserve))
    found = f"{free} free, a trial needs {needs} and must leave {leaves}"
    if disk.free_bytes < needed:
        return Finding("free disk", Level.PROBLEM, found, f"make room, or {_MOVE}")
    if disk.free_bytes < 2 * needed:
        advice = "make room: flash and file systems slow down when they are nearly full"
        return Finding("free disk", Level.NOTE, found, advice)
    return Finding("free disk", Level.OK, found)


def _kind(disk: DiskState) -> Finding:
    # Hypervisors often leave it at the kernel's default, so it is told and not judged.
    turning = {True: ", said to be rotational", False: ", said to be flash", None: ""}
    found = f"{disk.kind} on {disk.device}"
    if disk.kind in _IN_MEMORY:
        return Finding("file system", Level.PROBLEM, f"{found}: memory, not a disk", _MOVE)
    if disk.kind in _LAYERED or disk.kind.startswith("fuse"):
        advice = f"{_MOVE}; in a container, on a volume"
        return Finding("file system", Level.WARNING, f"{found}: not a disk's own", advice)
    return Finding("file system", Level.OK, f"{found}{turning[disk.rotational]}")


def judge_disk_speed(speed: DiskSpeed) -> list[Finding]:
    """Judges what was measured."""
    rate = speed.bytes_per_second
    found = f"{rate / 1e6:,.0f} MB/s ({format_bytes(speed.written_bytes)}, fdatasync every 8 MiB)"
    slow = "expect what is written for one trial to reach into the next; use a faster disk if it \
is not the one that you tune for"
    level = Level.NOTE if rate < SLOW_WRITES else Level.OK
    return [
        Finding("write speed", level, found, "" if level is Level.OK else slow),
        _syncs(speed),
    ]


def _syncs(speed: DiskSpeed) -> Finding:
    median, p99 = speed.sync_median, speed.sync_p99
    found = (
        f"median {_time(median)}, p99 {_time(p99)} ({len(speed.sync_seconds)} appends of 4 KiB)"
    )
    if median < SYNC_TOO_FAST:
        advice = "find out what answers before the data is safe: memory, a cache, libeatmydata"
        return Finding("fsync", Level.WARNING, f"{found}: faster than a device can", advice)
    level = graded(p99, note=SYNC_NOTE, warning=SYNC_WARNING, problem=SYNC_PROBLEM)
    advice = "look for others at this disk (iostat -x 1), or for a limit of the provider's"
    return Finding("fsync", level, found, "" if level is Level.OK else advice)


def _time(seconds: float) -> str:
    return f"{1e6 * seconds:.3g} us" if seconds < 1e-3 else f"{1e3 * seconds:.3g} ms"
