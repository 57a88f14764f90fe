"""What memory is left, whether the machine swaps, and how pages are made."""

import re
from dataclasses import dataclass
from pathlib import Path

from sampler.machine.kernel_files import PROC, SYS, line_of, memory_left, numbers_of


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
