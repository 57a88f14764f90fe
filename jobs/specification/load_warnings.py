"""Warnings about a load and a baseline that measure something else than they seem to."""

from collections.abc import Mapping
from math import ceil

from sampler.bench.bench_plan import BenchPlan
from sampler.common.errors import InputError
from sampler.common.text import format_bytes
from sampler.rocksdb.option_values import FilterPolicy, prefix_of
from sampler.rocksdb.options_file import CF, TABLE
from sampler.rocksdb.parameters import Value
from sampler.space.latent import Ranges
from sampler.space.space import (
    LEAST_WRITE_BUFFER,
    Configuration,
    Space,
    cache_bytes,
    flushed_at,
    memtable_bytes,
)
from sampler.workload.workload import COLUMN_FAMILIES, Workload, least_user_bytes
from sampler.workload.workload_file import SHIPPED, load_workload

# Bytes of db_bench's keys that differ: a number, the highest byte first (GenerateKeyFromInt).
_NUMBERED = 8
_UNDONE = "disable_auto_compactions"
_USUAL_BUFFER = 64 * 2**20  # the library's default (options.h)


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
    alone = bool(FilterPolicy.of(file).bits) and file.get(TABLE, "whole_key_filtering") in (
        "false",
        "0",
    )
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


_WRITES = "writes"  # db_bench's flag for how much is written, where it is not num
_TRIGGER = "level0_file_num_compaction_trigger"


def small_load_warnings(workload: Workload, space: Space, memory: int | None) -> list[str]:
    """What a job must say whose load is small beside what is searched; nothing where it is not.

    Looked at are only loads of db_bench. ``memory`` is the budget of every configuration in
    bytes, at full scale; None: there is none.

    Raises:
        InputError: The space promises a budget, and the load stays in the write buffers, or
            flushes fewer files than level 0 may hold before compaction begins. The message names
            a load that suffices.
    """
    if not workload.by_db_bench:
        return []
    given = workload.loaded_bytes()
    # Each configuration of a budget may have all of it for its write buffers.
    kept = memtable_bytes(space.context) if memory is None else _limited(space, memory)
    found = []
    if given < least_user_bytes(kept, workload.scale):
        text = _in_memory(workload, kept)
        # Column families fill their write buffers in turn: with several it is a warning.
        one = kept // workload.column_families
        if space.memory_budget and given < least_user_bytes(one, workload.scale):
            fix = _larger(workload, kept, max(16, _latest_trigger(space)))
            raise InputError(f"workload ({workload.name})", f"{text}; {fix}, or less `memory`")
        found.append(f"the workload {workload.name} {text}")
    most = _most_memtables(space) if memory is None else kept
    if memory is not None or given >= least_user_bytes(most, workload.scale):
        return [*found, *_never_compacted(workload, space, most)]
    return [
        *found,
        f"the space {space.name} has no memory budget: its write buffers of up to "
        f"{format_bytes(most)} are, at scale {workload.scale}, more than a sixteenth of the "
        f"{format_bytes(given)} that {workload.name} writes. A load held in memory hardly "
        "compacts, which alone may make it win; `memory` sets a budget",
    ]


def too_small_warnings(workload: Workload, values: Configuration) -> list[str]:
    """What must be said of one configuration that keeps much of a load in its write buffers."""
    kept = memtable_bytes(values)
    least = least_user_bytes(kept, workload.scale)
    if not workload.by_db_bench or workload.loaded_bytes() >= least:
        return []
    fix = _larger(workload, kept, 16)
    return [f"the workload {workload.name} {_in_memory(workload, kept)}; {fix}"]


def _in_memory(workload: Workload, memtables: int) -> str:
    return (
        f"writes {format_bytes(workload.loaded_bytes())}, less than "
        f"{format_bytes(least_user_bytes(memtables, workload.scale))} (16 times the write "
        f"buffers of {format_bytes(memtables)} at scale {workload.scale}): it would measure "
        "memory, not the tree"
    )


def _larger(workload: Workload, memtables: int, buffers: int) -> str:
    """A load that writes so many times the write buffers: all counts that say what it writes."""
    if workload.trace:
        return "replay more of the trace (num is about the number of keys written), or raise scale"
    needed = buffers * (memtables // workload.scale)
    times = max(1.0, needed / max(1, workload.loaded_bytes()))
    shipped = (load_workload(name) for name in SHIPPED)
    enough = [
        each.name
        for each in shipped
        if each.by_db_bench
        and (each.benchmarks, each.prepare is None)
        == (workload.benchmarks, workload.prepare is None)
        and each.loaded_bytes() >= buffers * (memtables // each.scale)
    ]
    named = f"use `workload` {enough[0]}, or " if enough else ""
    counts: dict[str, Value | None] = {}
    for where, load in (("", workload), ("prepare.", workload.prepare)):
        if load is not None:
            counts[f"{where}num"] = load.num
            counts[f"{where}flags.writes"] = dict(load.flags).get(_WRITES)
    raised = [
        f"{name} = {_rounded_up(int(count) * times):_}"
        for name, count in counts.items()
        if count is not None
    ]
    return f"{named}give a workload file with {' and '.join(raised)}"


def _rounded_up(count: float) -> int:  # to three digits
    least = ceil(count)
    digits = int(10 ** max(0, len(str(least)) - 3))
    return -(-least // digits) * digits


def _limited(space: Space, memory: int) -> int:
    rest = memory - cache_bytes(space.context)
    limit = int(space.context.get("db_write_buffer_size", 0))
    return min(limit, rest) if limit else rest


def _never_compacted(workload: Workload, space: Space, memtables: int) -> list[str]:
    most = _latest_trigger(space)
    # No flush is larger than all memtables together.
    flushes = workload.loaded_bytes() // max(1, memtables // workload.scale)
    if most <= flushes:
        return []
    text = (
        f"compaction may wait for {most} files in level 0, and {workload.name} may flush only "
        f"{flushes}: data that is never compacted looks cheap"
    )
    # The paper's own space promises none, and is only warned; so are several column families,
    # which flush by themselves and share the load in a way that is not known.
    one = memtables // workload.column_families
    surely = most > workload.loaded_bytes() // max(1, one // workload.scale)
    if space.memory_budget and surely and (_TRIGGER in space.by_name or _TRIGGER in space.fixed):
        fix = _larger(workload, memtables, most)
        raise InputError(f"space.parameter ({_TRIGGER})", f"{text}; {fix}, or lower it")
    return [f"{_TRIGGER}: {text}"]


def _most_memtables(space: Space) -> int:
    highs = {p.name: p.high for p in space.parameters if p.high is not None}
    most = {**space.start, **highs}
    buffers = int(most["write_buffer_size"]) * int(most["max_write_buffer_number"])
    return int(space.start.get(COLUMN_FAMILIES, 1)) * buffers


def _latest_trigger(space: Space) -> int:
    """As high as the triggers above it, at which writes are slowed and stopped, let it be."""
    moved = space.by_name.get(_TRIGGER)
    if moved is None:
        return int(space.start[_TRIGGER])
    return int(Ranges(space, space.start, space.names).of(moved)[1])


def deepest_level(workload: Workload, values: Configuration) -> int | None:
    """The deepest level that a load fills with leveled compaction, computed from sizes.

    Level 1 holds ``max_bytes_for_level_base``, each deeper one the multiplier times more
    (version_set.cc, ``CalculateBaseBytes``); with dynamic level sizes it is the number of levels
    in use, which are then counted from the last one up. Values are taken to be compressed to the
    load's ratio where the baseline compresses; keys, blocks and overwritten pairs not yet
    compacted are left out, so a load at the very edge of a level may reach one more.

    Every known parameter is needed, at full scale. The answer is from 1; None where the
    compaction is another, or db_bench does not measure.
    """
    if not workload.by_db_bench or values["compaction_style"] != "level":
        return None
    left = _stored_bytes(workload, values)
    holds = float(values["max_bytes_for_level_base"]) / workload.scale
    last = int(values["num_levels"]) - 1
    level = 1
    while left > holds and level < last:
        left -= holds
        holds *= float(values["max_bytes_for_level_multiplier"])
        level += 1
    return level


def shallow_warnings(workload: Workload, space: Space) -> list[str]:
    """What a job must say whose load leaves deep levels empty; nothing where it does not matter.

    A larger scale of the same load does not mend it: options and load grow alike, and the tree
    keeps its shape. More keys do.
    """
    deepest = deepest_level(workload, space.start)
    misjudged = [] if deepest is None else _misjudged(space, deepest)
    if not misjudged:
        return []
    stored = format_bytes(_stored_bytes(workload, space.start))
    return [
        f"the workload {workload.name} stores about {stored}, which at scale {workload.scale} "
        f"fills levels 0 to {deepest} of the baseline's tree: {'; '.join(misjudged)}. Findings "
        "for these do not apply to a deeper tree; raise num to fill one"
    ]


def _misjudged(space: Space, deepest: int) -> list[str]:
    """The options of the space of which some values mean nothing in so flat a tree."""
    beyond = deepest + 1
    highs = {p.name: p.high for p in space.parameters if p.high is not None}
    found = []
    if highs.get("min_level_to_compress", 0) >= beyond:
        found.append(f"min_level_to_compress of {beyond} or more compresses nothing")
    if highs.get("num_levels", 0) > beyond:
        found.append(f"num_levels of {beyond} or more makes no difference")
    if deepest < 2 and "max_bytes_for_level_multiplier" in space.by_name:
        found.append("max_bytes_for_level_multiplier has no effect")
    return found


def _stored_bytes(workload: Workload, values: Configuration) -> float:
    compressed = values["compression_type"] != "none" and values["min_level_to_compress"] == -1
    ratio = float(values.get("compression_ratio", workload.compression_ratio)) if compressed else 1
    keys = workload.distinct_keys(workload.threads_of(values))
    return keys * (workload.key_size + ratio * workload.value_size)
