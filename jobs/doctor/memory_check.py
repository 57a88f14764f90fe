"""Memory: is there enough, does the machine swap, how are pages made?"""

from __future__ import annotations

from jobs.doctor.finding import Finding, Level, not_shown, percent
from sampler.common.byte_size import format_bytes
from sampler.machine.memory_state import MemoryState

# Somebody waited for memory in so much of the last ten seconds: none do while there is enough.
STALLED = 0.01


def judge_memory(
    before: MemoryState, after: MemoryState, *, load_bytes: int, stalled: float | None
) -> list[Finding]:
    """Judges memory.

    Args:
        before: A reading.
        after: Another, a little later.
        load_bytes: What the workload writes.
        stalled: Share of the last ten seconds in which somebody waited for memory; None where
            the kernel does not tell.
    """
    return [
        _room(after, load_bytes),
        _swapping(before, after, stalled or 0.0),
        _huge_pages(after.huge_pages),
    ]


def _room(memory: MemoryState, load_bytes: int) -> Finding:
    usable, granted = memory.usable_bytes, memory.left_by_groups
    if usable is None:
        return not_shown("memory", "/proc/meminfo")
    limited = " (what a control group leaves)" if usable == granted else ""
    found = (
        f"{format_bytes(usable)} available{limited}, the load writes {format_bytes(load_bytes)}"
    )
    # Inputs and outputs of compactions are there together.
    if usable < 2 * load_bytes:
        if limited:
            advice = "raise the limit (memory.max, docker --memory): page cache counts to it too"
            return Finding("memory", Level.NOTE, found, advice)
        advice = "free memory: with too small a page cache compactions read from the disk, now \
and then"
        return Finding("memory", Level.NOTE, found, advice)
    return Finding("memory", Level.OK, found)


def _swapping(before: MemoryState, after: MemoryState, stalled: float) -> Finding:
    if before.pages_swapped is None or after.pages_swapped is None:
        moved = None
    else:
        moved = after.pages_swapped - before.pages_swapped
    out = None if after.swap_used_bytes is None else format_bytes(after.swap_used_bytes)
    told = [] if moved is None else [f"{moved} pages moved while I looked"]
    told += [] if out is None else [f"{out} swapped out"]
    if (moved or 0) > 0 or stalled > STALLED:
        told += [f"somebody waited for memory {percent(stalled)} of the last 10 s"]
        advice = "free memory, then `swapoff -a`: a page fetched back stops a thread"
        return Finding("swap", Level.WARNING, ", ".join(told), advice)
    if moved is None:
        return not_shown("swap", "/proc/vmstat")
    return Finding("swap", Level.OK, ", ".join(told))


def _huge_pages(setting: str | None) -> Finding:
    if setting == "always":
        advice = "set transparent_hugepage/enabled to madvise, or to what production has: making \
huge pages takes time from whoever happens to run"
        return Finding("huge pages", Level.NOTE, setting, advice)
    return Finding("huge pages", Level.OK, setting or "not shown here")
