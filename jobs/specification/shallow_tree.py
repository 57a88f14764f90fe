"""A load too small to fill the deep levels of the tree, and the options that it misjudges."""

from sampler.common.byte_size import format_bytes
from sampler.space.space import Configuration, Space
from sampler.workload.workload import Workload


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
        f"the workload {workload.name} leaves about {stored}, which at scale {workload.scale} "
        f"fills levels 0 to {deepest} of the baseline's tree: {'; '.join(misjudged)}. What is "
        "found for these does not carry over to a deeper tree; raise num for one"
    ]


def _misjudged(space: Space, deepest: int) -> list[str]:
    """The options of the space of which some values mean nothing in so flat a tree."""
    beyond = deepest + 1
    highs = {p.name: p.high for p in space.parameters if p.high is not None}
    found = []
    if highs.get("min_level_to_compress", 0) >= beyond:
        found.append(f"min_level_to_compress of {beyond} and more compresses nothing")
    if highs.get("num_levels", 0) > beyond:
        found.append(f"num_levels of {beyond} and more are all the same")
    if deepest < 2 and "max_bytes_for_level_multiplier" in space.by_name:
        found.append("max_bytes_for_level_multiplier does nothing")
    return found


def _stored_bytes(workload: Workload, values: Configuration) -> float:
    """Bytes of live data as they are stored."""
    compressed = values["compression_type"] != "none" and values["min_level_to_compress"] == -1
    ratio = float(values.get("compression_ratio", workload.compression_ratio)) if compressed else 1
    keys = workload.distinct_keys(workload.threads_of(values))
    return keys * (workload.key_size + ratio * workload.value_size)
