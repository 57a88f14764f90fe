"""What is measured against: the library's defaults, a known point, or the user's OPTIONS file."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from sampler.bench.bench_plan import BenchPlan
from sampler.bench.installed import InstalledDbBench
from sampler.bench.user_options import UserOptions, user_options
from sampler.common.byte_size import format_bytes
from sampler.common.errors import InputError
from sampler.options.options_file import CF
from sampler.parameters.parameter import Value
from sampler.space.space import LEAST_WRITE_BUFFER, Space, flushed_at
from sampler.space.starting_points import baseline_values
from sampler.workload.workload import Workload

_UNDONE = "disable_auto_compactions"
_USUAL_BUFFER = 64 * 2**20  # the library's default (options.h)


@dataclass(frozen=True, kw_only=True)
class MeasuredBaseline:
    """A baseline under a workload.

    Attributes:
        values: Of every known parameter, full scale.
        library: The library's defaults.
        own: The user's file; empty without one.
    """

    values: Mapping[str, Value]
    library: Mapping[str, Value]
    own: UserOptions

    def plan(self, workload: Workload, space: Space) -> BenchPlan:
        """How a space around this baseline is measured."""
        around = space.at_baseline(self.values)
        own = self.own
        return BenchPlan(workload, around, self.library, own.file, own.dropped, own.notes)


def measured_baseline(
    workload: Workload,
    installed: InstalledDbBench | None,
    *,
    library: Mapping[str, Value],
    base: str = "library",
    options: str | None = None,
    drop_unknown: bool = False,
    field: str = "--baseline",
) -> MeasuredBaseline:
    """The values of a baseline.

    Args:
        workload: The load; its facts are parameters, too.
        installed: The db_bench that measures; None: what it takes is found out later.
        library: The defaults of its library.
        base: ``library``, ``db_bench`` or a shipped starting point.
        options: The text of an OPTIONS file over that.
        drop_unknown: Whether to leave out what that RocksDB does not know.
        field: What the user calls the file.

    Raises:
        InputError: The text is no OPTIONS file, or RocksDB refuses it.
    """
    own = UserOptions()
    if options is not None:
        own = user_options(options, installed, name=field, drop_unknown=drop_unknown)
    values = {**baseline_values(base, library), **own.values, **workload.facts()}
    return MeasuredBaseline(values=values, library=library, own=own)


def scale_warnings(
    workload: Workload, values: Mapping[str, Value], *, field: str = "--scale"
) -> list[str]:
    """What must be said where RocksDB would not use the write buffers that it is given.

    Raises:
        InputError: At this scale it would not use those of its own defaults either.
    """
    buffer = flushed_at(values)
    if not workload.by_db_bench or buffer // workload.scale >= LEAST_WRITE_BUFFER:
        return []
    if _USUAL_BUFFER // workload.scale < LEAST_WRITE_BUFFER:
        raise InputError(
            field,
            f"at the scale {workload.scale} of {workload.name} a write buffer of "
            f"{format_bytes(_USUAL_BUFFER)} falls below RocksDB's least, "
            f"{format_bytes(LEAST_WRITE_BUFFER)}; {better_scale(_USUAL_BUFFER)}",
        )
    raised = LEAST_WRITE_BUFFER * workload.scale
    return [
        f"at scale {workload.scale} RocksDB raises a write buffer of {format_bytes(buffer)} to "
        f"its least, {format_bytes(LEAST_WRITE_BUFFER)}: what is measured is one of "
        f"{format_bytes(raised)}; {better_scale(buffer)}"
    ]


def better_scale(buffer: int) -> str:
    """At which scale write buffers of so many bytes are measured as they are."""
    most = buffer // LEAST_WRITE_BUFFER
    return (
        f"a --scale of at most {most} measures what is asked"
        if most
        else (f"RocksDB raises it at any scale; write {LEAST_WRITE_BUFFER} or more")
    )


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
