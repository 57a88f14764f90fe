"""Memory: is there enough, does the machine swap, how are pages made?"""

from __future__ import annotations

from jobs.doctor.finding import Finding, Level
from sampler.byte_size import format_bytes
from sampler.memory_state import MemoryState

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
        _swapping(after.pages_swapped - before.pages_swapped, after, stalled or 0.0),
        _huge_pages(after.huge_pages),
    ]


def _room(memory: MemoryState, load_bytes: int) -> Finding:
    available, load = format_bytes(memory.available_bytes), format_bytes(load_bytes)
    found = f"{available} available, the load writes {load}"
    # Inputs and outputs of compactions are there together.
    if memory.available_bytes < 2 * load_bytes:
        advice = "free memory: with too small a page cache compactions read from the disk, now \
and then"
        return Finding("memory", Level.NOTE, found, advice)
    return Finding("memory", Level.OK, found)


def _swapping(pages: int, memory: MemoryState, stalled: float) -> Finding:
    used = format_bytes(memory.swap_used_bytes)
    if pages > 0 or stalled > STALLED:
        found = f"{pages} pages moved while I looked, {used} swapped out"
        advice = "free memory, then `swapoff -a`: a page fetched back stops a thread"
        return Finding("swap", Level.WARNING, found, advice)
    return Finding("swap", Level.OK, f"idle, {used} swapped out")


def _huge_pages(setting: str | None) -> Finding:
    if setting == "always":
        advice = "set transparent_hugepage/enabled to madvise, or to what production has: making \
huge pages takes time from whoever happens to run"
        return Finding("huge pages", Level.NOTE, setting, advice)
    return Finding("huge pages", Level.OK, setting or "not shown here")
