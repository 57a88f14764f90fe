"""What of a user's own OPTIONS file is not measured as the file says, or hides what is owed."""

from __future__ import annotations

from sampler.bench.bench_plan import BenchPlan
from sampler.options.options_file import CF

_UNDONE = "disable_auto_compactions"


def baseline_warnings(plan: BenchPlan) -> list[str]:
    """A line for each thing of the user's own file that the reader of the figures must know."""
    return [*plan.notes, *_elsewhere(plan), *_unlogged(plan), *_undone(plan), *_dropping(plan)]


def _elsewhere(plan: BenchPlan) -> list[str]:
    """That runs stay in their own folder, where the file leads out of it."""
    if not plan.elsewhere:
        return []
    names = ", ".join(plan.elsewhere)
    return [
        f"{names} of your OPTIONS file: left out while it is measured, for all that a run writes "
        "is in a folder of its own; a file that is handed back keeps what yours says"
    ]


def _unlogged(plan: BenchPlan) -> list[str]:
    """That RocksDB logs as it does by itself."""
    if not plan.unlogged:
        return []
    return [
        f"{', '.join(plan.unlogged)} of your OPTIONS file: at RocksDB's default while it is "
        "measured, for its LOG tells when the tree is at rest; a file that is handed back keeps "
        "what yours says"
    ]


def _undone(plan: BenchPlan) -> list[str]:
    """That nothing is compacted: a low write amplification that is owed, not saved."""
    if plan.baseline_file.get(CF, _UNDONE) not in ("true", "1"):
        return []
    return [
        f"{_UNDONE} of your OPTIONS file: no run compacts anything, so waf counts flushes alone "
        "and what is owed is never paid; take it out of the file to tune how compactions go"
    ]


def _dropping(plan: BenchPlan) -> list[str]:
    """That old data is deleted, not merged: a low write amplification that costs data."""
    if plan.baseline_file.get(CF, "compaction_style") != "kCompactionStyleFIFO":
        return []
    return [
        "compaction_style = kCompactionStyleFIFO: RocksDB deletes the oldest files beyond "
        "max_table_files_size, so waf counts flushes and sa only what is left"
    ]
