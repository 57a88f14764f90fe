"""What a configuration could save by owing it: a load that stays in memory, or uncompacted."""

from __future__ import annotations

from sampler.byte_size import format_bytes
from sampler.errors import InputError
from sampler.limits import limits
from sampler.space import COLUMN_FAMILIES, Space
from sampler.workload import Workload, least_user_bytes

_TRIGGER = "level0_file_num_compaction_trigger"


def debt_warnings(workload: Workload, space: Space, memory: int | None) -> list[str]:
    """What a job must say whose search could gain by what it owes; nothing where it cannot.

    Args:
        workload: A load; one that is not db_bench's own is never looked at.
        space: What is searched.
        memory: The budget of every configuration in bytes, at full scale; None: there is none.

    Raises:
        InputError: The space promises a budget, and offers more files in level 0 before compaction
            begins than the load flushes: nothing would be compacted.
    """
    if not workload.by_db_bench:
        return []
    cache = int(space.context["cache_size"])
    memtables = _most_memtables(space) if memory is None else memory - cache
    if memory is None and workload.loaded_bytes() < least_user_bytes(memtables, workload.scale):
        return [_kept_in_memory(workload, space, memtables)]
    return _never_compacted(workload, space, memtables)


def _kept_in_memory(workload: Workload, space: Space, memtables: int) -> str:
    return (
        f"the space {space.name} keeps no memory budget, and its write buffers of up to "
        f"{format_bytes(memtables)} are at scale {workload.scale} more than a sixteenth of the "
        f"{format_bytes(workload.loaded_bytes())} that {workload.name} writes: what holds the "
        "load in memory hardly compacts, and may win for that alone; --memory keeps a budget"
    )


def _never_compacted(workload: Workload, space: Space, memtables: int) -> list[str]:
    most = _latest_trigger(space)
    # No flush is larger than all memtables together.
    flushes = workload.loaded_bytes() // max(1, memtables // workload.scale)
    if most <= flushes:
        return []
    text = (
        f"compaction may wait for {most} files in level 0, and {workload.name} may flush as few "
        f"as {flushes}: what is never compacted looks cheap"
    )
    # The paper's own space promises none, and is only warned; so are several column families,
    # which flush by themselves and share the load in a way that is not known.
    one = memtables // workload.column_families
    surely = most > workload.loaded_bytes() // max(1, one // workload.scale)
    if space.memory_budget and surely and (_TRIGGER in space.by_name or _TRIGGER in space.fixed):
        raise InputError(f"parameter ({_TRIGGER})", f"{text}; lower it, or raise num")
    return [f"{_TRIGGER}: {text}"]


def _most_memtables(space: Space) -> int:
    families = int(space.start.get(COLUMN_FAMILIES, 1))
    return families * _most(space, "write_buffer_size") * _most(space, "max_write_buffer_number")


def _latest_trigger(space: Space) -> int:
    """As high as the triggers above it, at which writes are slowed and stopped, let it be."""
    moved = space.by_name.get(_TRIGGER)
    if moved is None:
        return int(space.start[_TRIGGER])
    return int(limits(moved, space.start, space.names, space, None)[1])


def _most(space: Space, name: str) -> int:
    """The largest value that a configuration of the space can have."""
    moved = space.by_name.get(name)
    return int(moved.high if moved and moved.high is not None else space.start[name])
