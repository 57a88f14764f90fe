"""What stands at the top of both OPTIONS files."""

from __future__ import annotations

from sampler.kioxia_guide.cautions import cautions
from sampler.kioxia_guide.guide import Guide


def comments(guide: Guide) -> list[str]:
    """What the file was computed for, and what no OPTIONS file can hold: a line each."""
    planned = guide.planned
    return [
        "By KIOXIA's tuning guide for TRocksDB, worked out by Rocktune; not measured.",
        f"{planned.keys} keys of {planned.key_size} B, values of {planned.value_size} B, "
        f"{planned.cpu_threads} CPU threads, {planned.memory} B of memory, "
        f"{planned.open_files} open files",
        f"Set cache_size = {guide.cache_size} in the application: no OPTIONS file can hold it",
        f"The process needs `ulimit -n` well above {planned.open_files}",
        *(f"Warning: {each.setting}: {each.text}" for each in cautions(guide)),
    ]
