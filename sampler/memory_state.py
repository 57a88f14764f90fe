"""What memory is left, whether the machine swaps, and how pages are made."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

from sampler.cpu_state import line_of

_PROC, _SYS = Path("/proc"), Path("/sys")


@dataclass(frozen=True, kw_only=True)
class MemoryState:
    """Memory at one moment.

    Attributes:
        available_bytes: What a program can have without swapping, the page cache included.
        swap_used_bytes: What has been swapped out.
        pages_swapped: Pages swapped in and out since boot.
        huge_pages: ``always``, ``madvise`` or ``never``; None where that is not shown.
    """

    available_bytes: int
    swap_used_bytes: int
    pages_swapped: int
    huge_pages: str | None


def read_memory_state(proc: Path = _PROC, sys: Path = _SYS) -> MemoryState:
    """Reads ``meminfo`` and ``vmstat`` (proc(5)), and the setting of huge pages."""
    info = _numbers((proc / "meminfo").read_text(encoding="utf-8"))
    pages = _numbers((proc / "vmstat").read_text(encoding="utf-8"))
    setting = line_of(sys / "kernel/mm/transparent_hugepage/enabled") or ""
    chosen = re.search(r"\[(\w+)\]", setting)
    return MemoryState(
        available_bytes=info.get("MemAvailable", info.get("MemFree", 0)) * 1024,
        swap_used_bytes=(info.get("SwapTotal", 0) - info.get("SwapFree", 0)) * 1024,
        pages_swapped=pages.get("pswpin", 0) + pages.get("pswpout", 0),
        huge_pages=chosen.group(1) if chosen else None,
    )


def _numbers(text: str) -> dict[str, int]:
    """Lines of a name, perhaps a colon, and a whole number."""
    return {name: int(number) for name, number in re.findall(r"^(\S+?):?\s+(\d+)", text, re.M)}
