"""The load that replays a trace itself, onto a database that was filled beforehand."""

import math
import re
from pathlib import Path
from typing import Any

from sampler.common.errors import InputError
from sampler.profile.load import ChosenLoad, choose_load
from sampler.profile.profile import DatabaseProfile, FamilyProfile
from sampler.profile.scaled_counts import MOST_OPERATIONS, USUAL_ENTRIES
from sampler.workload.workload_file import workload_from_document

_SECONDS = 5  # that a replay takes, where the database keeps up
_LEAST_FAMILIES = 2  # with one, db_bench's replay dies of an assertion (7.8 to 11.8)
_NUMBERED = re.compile(r"id \d{1,9}", re.ASCII).fullmatch


def replayed_load(
    profile: DatabaseProfile, family: FamilyProfile, trace: Path, *, name: str
) -> ChosenLoad:
    """A load that replays a slice of a trace from its beginning, faster than it was recorded.

    A trace is not thinned out: so large a part of it is replayed as takes seconds, and the
    options are scaled by as much as is left out.

    Raises:
        InputError: The trace holds no operation.
    """
    total = sum(sum(each.operations.values()) for each in profile.families)
    if not total:
        raise InputError("PATH", f"the trace {trace} holds no operation")
    share = min(1.0, MOST_OPERATIONS / total)
    scale = int(2 ** math.floor(math.log2(1 / share)))
    base = choose_load(profile, family, name=name, scale=scale)
    seconds = (profile.seconds or 0.0) * share
    # Where nothing names them, families are called by their numbers, which may have gaps.
    numbers = [int(each.name[3:]) + 1 for each in profile.families if _NUMBERED(each.name)]
    families = max(_LEAST_FAMILIES, len(profile.families), *numbers)
    flags: dict[str, Any] = {"num_column_families": families}
    if any(each.operations.get("merge") for each in profile.families):
        flags["merge_operator"] = "put"
    entries = max(1, round((family.entries or USUAL_ENTRIES) / scale))
    kept = ("name", "key_size", "value_size", "compression_ratio", "scale", "settle")
    document: dict[str, Any] = {
        **{field: base.document[field] for field in kept},
        "help": f"A replay of {trace.name}, {100 * share:.3g}% of it",
        "num": entries,
        "benchmarks": ["replay"],
        "trace": str(trace),
        "fast_forward": float(max(1, math.ceil(seconds / _SECONDS))),
        "timeout_seconds": 600,
    }
    if share < 1:
        document["trace_until"] = float(f"{seconds:.6g}")
    document |= {"flags": flags, "prepare": {"benchmarks": ["filluniquerandom"], "num": entries}}
    missing = (
        "what was there before the trace began: [prepare] fills as many keys of the same sizes, "
        "but other keys; name a num that fits your database",
        f"its pace: it is replayed {document['fast_forward']:g} times as fast as it was recorded",
    )
    num = "assumed: a trace does not tell how many keys there are"
    reasons = {**base.reasons, **({} if family.entries else {"num": num})}
    return ChosenLoad(workload_from_document(document), document, reasons, missing)
