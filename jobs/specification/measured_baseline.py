"""What is measured against: the library's defaults, a known point, or the user's OPTIONS file."""

from collections.abc import Mapping
from dataclasses import dataclass

from jobs.specification.request import require_file
from sampler.bench.bench_plan import BenchPlan
from sampler.bench.installed import InstalledDbBench
from sampler.bench.user_options import UserOptions, user_options
from sampler.common.byte_size import format_bytes
from sampler.common.errors import InputError
from sampler.options.option_values import filter_bits, prefix_of
from sampler.options.options_file import CF, TABLE
from sampler.parameters.parameter import Value
from sampler.space.space import LEAST_WRITE_BUFFER, Space, flushed_at
from sampler.space.starting_points import baseline_values
from sampler.workload.workload import Workload

# Bytes of db_bench's keys that differ: a number, the highest byte first (GenerateKeyFromInt).
_NUMBERED = 8
_UNDONE = "disable_auto_compactions"
_USUAL_BUFFER = 64 * 2**20  # the library's default (options.h)


@dataclass(frozen=True, kw_only=True)
class MeasuredBaseline:
    """A baseline under a workload."""

    values: Mapping[str, Value]  # of every known parameter, full scale
    library: Mapping[str, Value]  # the library's defaults
    own: UserOptions  # the user's file; empty without one

    def plan(self, workload: Workload, space: Space) -> BenchPlan:
        """How a space around this baseline is measured."""
        around = space.at_baseline(self.values)
        own = self.own
        return BenchPlan(
            workload, around, self.library, own.file, own.dropped, own.notes, own.text
        )


def measured_baseline(
    workload: Workload,
    installed: InstalledDbBench | None,
    *,
    library: Mapping[str, Value],
    base: str = "library",
    options: str | None = None,
    column_family: str | None = None,
    drop_unknown: bool = False,
    field: str = "baseline_options",
) -> MeasuredBaseline:
    """The values of a baseline, the facts of the workload among them.

    Without an ``installed`` db_bench, what it takes is found out later. The base is ``library``
    (whose defaults are given), ``db_bench`` or a shipped starting point; the text of an OPTIONS
    file over that may be without what its RocksDB does not know, and of its column families one
    counts, by default ``default``. ``field`` is the user's word.

    Raises:
        InputError: The text is no OPTIONS file, it has no such family, or RocksDB refuses it.
    """
    require_file(column_family, options)
    own = UserOptions()
    if options is not None:
        own = user_options(
            options, installed, name=field, family=column_family, drop_unknown=drop_unknown
        )
    values = {**baseline_values(base, library), **own.values, **workload.facts()}
    return MeasuredBaseline(values=values, library=library, own=own)


def scale_warnings(
    workload: Workload, values: Mapping[str, Value], *, field: str = "scale"
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
            f"at the scale {workload.scale} of {workload.name}, a write buffer of "
            f"{format_bytes(_USUAL_BUFFER)} falls below RocksDB's minimum of "
            f"{format_bytes(LEAST_WRITE_BUFFER)}; {better_scale(_USUAL_BUFFER)}",
        )
    raised = LEAST_WRITE_BUFFER * workload.scale
    return [
        f"at scale {workload.scale}, RocksDB raises a write buffer of {format_bytes(buffer)} to "
        f"its minimum of {format_bytes(LEAST_WRITE_BUFFER)}, so one of "
        f"{format_bytes(raised)} is measured; {better_scale(buffer)}"
    ]


def better_scale(buffer: int) -> str:
    """At which scale write buffers of so many bytes are measured as they are."""
    if most := buffer // LEAST_WRITE_BUFFER:
        return f"use a `scale` of at most {most}"
    return f"RocksDB raises it at any scale; write {LEAST_WRITE_BUFFER} or more"


def baseline_warnings(plan: BenchPlan) -> list[str]:
    """A line for each thing of the user's own file that the reader of the figures must know."""
    found, own, kept = [*plan.notes], plan.baseline_file, "a resulting file keeps what"
    found += _prefix_lines(plan)
    if plan.elsewhere:
        found.append(
            f"{', '.join(plan.elsewhere)} of your OPTIONS file: left out while measuring, "
            f"because each run writes only to its own folder; {kept} yours says"
        )
    if plan.unlogged:
        found.append(
            f"{', '.join(plan.unlogged)} of your OPTIONS file: at RocksDB's default while "
            f"measuring, because the LOG shows when the tree is at rest; {kept} yours says"
        )
    if own.get(CF, _UNDONE) in ("true", "1"):  # a write amplification that is owed, not saved
        found.append(
            f"{_UNDONE} of your OPTIONS file: no run compacts anything, so waf counts only "
            "flushes and compaction debt is never paid; remove it from the file to tune "
            "compactions"
        )
    if own.get(CF, "compaction_style") == "kCompactionStyleFIFO":  # one that costs data
        found.append(
            "compaction_style = kCompactionStyleFIFO: RocksDB deletes the oldest files beyond "
            "max_table_files_size, so waf counts flushes and sa only what is left"
        )
    return found


def _prefix_lines(plan: BenchPlan) -> list[str]:
    """What becomes of prefixes, and of a filter that holds only them, under the load's keys."""
    file, load = plan.baseline_file, plan.workload
    text = file.get(CF, "prefix_extractor")
    alone = bool(filter_bits(file)) and file.get(TABLE, "whole_key_filtering") in ("false", "0")
    if text in (None, "", "nullptr"):
        text = load.options.get("prefix_extractor")
    if not load.by_db_bench or load.trace or not (text or alone):
        return []
    size, prefix = load.key_size, prefix_of(text)
    said = f"prefix_extractor = {str(text)[:60]}"
    holds = "the filter holds only prefixes (whole_key_filtering = false), so"
    no_effect = f"{holds} it holds nothing and has no effect in what is measured"
    if prefix is None:
        return [f"{said if text else 'no prefix_extractor'}: {no_effect}"] if alone else []
    kind, length = prefix
    if kind == "fixed" and length > size:
        line = f"{said}: not measured, because the load's keys of {size} bytes are shorter"
        return [f"{line}; {no_effect}" if alone else line]
    if not alone or dict(load.flags).get("keys_per_prefix"):
        return []
    different = -(-load.num // 256 ** max(0, min(size, _NUMBERED) - length))
    if length < size and different < load.num:
        many = f"{different:,} prefix{'es' if different > 1 else ''}"
        little = f"holds {many} and has little effect in what is measured"
        return [f"{said}: {holds} of the load's {load.num:,} keys it {little}"]
    return [f"{said}: {holds} in what is measured it holds every key of the load"]
