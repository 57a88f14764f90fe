"""From a profile to the load of db_bench that expresses most of it, scaled down.

What the load does is chosen from the counts of operations: a plain fill or overwrite where only
puts are known, ``readrandomwriterandom`` with gets, ``mixgraph`` with scans or skewed keys, and
rounds of several benchmarks with deletes or merges. What none of them can do is said. A trace can
be replayed itself, onto a database that was filled beforehand.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from scipy.optimize import brentq
from scipy.stats import poisson

from sampler.common.documents import toml_text
from sampler.common.errors import InputError
from sampler.common.text import format_bytes, printable
from sampler.profile.evidence import SILENT
from sampler.profile.load_shape import (
    MOST_OPERATIONS,
    MOST_TURNOVERS,
    NONE,
    USUAL_ENTRIES,
    Counts,
    Shape,
    WrittenSizes,
)
from sampler.profile.profile import (
    DatabaseProfile,
    FamilyProfile,
    span_words,
    written_in_order,
)
from sampler.rocksdb.option_facts import usual_number
from sampler.rocksdb.parameters import Value
from sampler.workload.db_bench_benchmarks import MOST_REPEATS
from sampler.workload.workload import Workload
from sampler.workload.workload_file import workload_from_document

ROUNDS = 4  # of benchmarks that run one after the other where one cannot mix them
_EVEN = 0.45  # keys are skewed where less than this share of them takes half of the operations
_USUAL_KEY, _USUAL_VALUE, _USUAL_RATIO = 16, 1024, 0.5  # where nothing tells it
_MOST_PAIR = 3 * 2**30  # bytes of a key with its value
_SECONDS = 5  # that a replay takes, where the database keeps up
_LEAST_FAMILIES = 2  # with one, db_bench's replay dies of an assertion (7.8 to 11.8)
_NUMBERED = re.compile(r"id \d{1,9}", re.ASCII).fullmatch


@dataclass(frozen=True)
class ChosenLoad:
    """The load of a family."""

    workload: Workload
    document: Mapping[str, Any]  # the same as a workload's TOML file holds it
    reasons: Mapping[str, str]  # by field of the document: what it is made of, and how sure
    not_expressed: tuple[str, ...]  # what of the profile the load does not do


def choose_load(
    profile: DatabaseProfile,
    family: FamilyProfile,
    *,
    name: str,
    write_buffer: int | None = None,
    scale: int | None = None,
    times: float = 1.0,
) -> ChosenLoad:
    """The load that does what a family did, at a scale at which a run takes seconds.

    ``write_buffer`` is the family's, in bytes: RocksDB takes no smaller one than 64 KiB, which
    bounds the scale; None: RocksDB's default. ``times``: of a database so many times as large.

    Raises:
        InputError: The profile tells of no operations, or of sizes that cannot be.
    """
    counts = Counts.of(family).times(times)
    if not counts.writes and not counts.reads:
        raise InputError(
            "PATH",
            f"shows no operation of column family {family.name!r}: {_why_none(profile, family)}",
        )
    pair = (family.key_size or _USUAL_KEY) + _sizes(family).mean
    if pair > _MOST_PAIR:
        problem = f"shows {format_bytes(pair)} per key and value, above RocksDB's maximum (3 GiB)"
        raise InputError("PATH", f"{problem}: the LOG is damaged; give another, or a trace")
    scale = scale or counts.scale(pair, write_buffer or usual_number("write_buffer_size"))
    shape = Shape.of(counts, scale)
    span = f" in {span_words(profile.seconds)}" if profile.seconds else ""
    document: dict[str, Any] = {
        "name": name,
        "help": f"Operations of column family {printable(family.name)}{span}, scaled down",
        "key_size": max(1, round(family.key_size or _USUAL_KEY)),
        "value_size": _sizes(family).mean,
        "compression_ratio": round(min(1.0, max(0.01, _ratio(family))), 4),
        "scale": scale,
        "settle": "wait",
        "timeout_seconds": 600,
    }
    flags = {**_sizes(family).flags(), **_write_flags(profile)}
    document |= _operations(family, shape, flags)
    if shape.before:
        document["prepare"] = _filled(family, shape.before, document["benchmarks"])
    workload = workload_from_document(document)
    missing = tuple(_not_expressed(profile, family, shape, document))
    return ChosenLoad(workload, document, _reasons(profile, family), missing)


def _filled(family: FamilyProfile, keys: int, benchmarks: Sequence[str]) -> dict[str, Any]:
    """What was there before: values of the same sizes as what is written then."""
    sizes = _sizes(family).drawn_evenly() if "mixgraph" in benchmarks else _sizes(family)
    flags = {"flags": dict(sizes.flags())} if sizes.varied else {}
    return {"benchmarks": ["filluniquerandom"], "num": keys, **flags}


def _why_none(profile: DatabaseProfile, family: FamilyProfile) -> str:
    told = f"operations of column family {family.name!r}"
    found = [each for each in profile.unknown if each.what.startswith(told)]
    if any(each.how == SILENT for each in found):
        return SILENT
    why = next((why for each in found if (why := each.what[len(told) + 2 :])), None)
    why = why or "the LOG has no flush and no statistics"
    return f"{why}; give a LOG that covers some hours of the load, or a trace"


def _sizes(family: FamilyProfile) -> WrittenSizes:
    return WrittenSizes.of(family.value_size, _USUAL_VALUE)


def _ratio(family: FamilyProfile) -> float:
    """That of the values; else the one that makes tables as large, or db_bench's default."""
    ratio = family.compression_ratio or family.doubted.get("compression_ratio")
    return ratio or _USUAL_RATIO


def _write_flags(profile: DatabaseProfile) -> dict[str, Value]:
    flags: dict[str, Value] = {}
    if profile.wal is False:
        flags["disable_wal"] = True
    elif (profile.sync_share or 0.0) > 0.5:
        flags["sync"] = True
    if (profile.batch_size or 1.0) >= 1.5:
        flags["batch_size"] = round(profile.batch_size or 1.0)
    return flags


def _operations(family: FamilyProfile, shape: Shape, flags: dict[str, Value]) -> dict[str, Any]:
    if shape.deletes > NONE * shape.puts or shape.merging:
        return _in_rounds(family, shape, flags)
    reads = shape.gets + shape.seeks
    if not shape.puts:
        return _reading(family, shape, flags)
    if reads < NONE * shape.puts:
        writer = "overwrite" if shape.before else _filling(family, shape)
        return _document(shape, [writer], flags | {"writes": shape.puts})
    both = shape.gets + shape.puts - shape.first
    # db_bench does the larger of writes, which fill first, and reads.
    percent = 100 * shape.gets / both if both else 0.0
    coarse = abs(round(percent) - percent) > 0.1 * min(percent, 100 - percent)
    scans = shape.seeks > NONE * reads
    if scans or coarse or _skew(family) is not None or both < shape.first:
        return _mixed(family, shape, flags)
    count = {"reads": both, "readwritepercent": round(percent)}
    flags.pop("batch_size", None)
    return _beside_reads(shape, "readrandomwriterandom", flags | count)


def _beside_reads(shape: Shape, benchmark: str, flags: Mapping[str, Value]) -> dict[str, Any]:
    """A mix of reads and writes, after what fills the database for the reads to find."""
    if not shape.first:
        return _document(shape, [benchmark], flags)
    filled = _document(shape, ["filluniquerandom", benchmark], {**flags, "writes": shape.first})
    return {**filled, "measured": [benchmark]}


def _document(shape: Shape, benchmarks: list[str], flags: Mapping[str, Value]) -> dict[str, Any]:
    known = dict(flags)
    fewest = min(int(known.get(name, MOST_OPERATIONS)) for name in ("writes", "deletes"))
    if "batch_size" in known:  # whole batches are written, so at least one
        known["batch_size"] = min(int(known["batch_size"]), max(1, fewest))
    return {"benchmarks": benchmarks, "num": shape.num, "flags": known}


def _filling(family: FamilyProfile, shape: Shape) -> str:
    if shape.overwritten >= NONE:
        return "fillrandom"
    in_order = written_in_order(shape.overwritten, family.keys_in, family.entries)
    return "fillseq" if in_order else "filluniquerandom"


def _reading(family: FamilyProfile, shape: Shape, flags: dict[str, Value]) -> dict[str, Any]:
    flags.pop("batch_size", None)
    if min(shape.gets, shape.seeks) > NONE * max(shape.gets, shape.seeks):
        return _mixed(family, shape, flags)
    if shape.seeks > shape.gets:
        count = {"reads": shape.seeks, "seek_nexts": round(family.scan_length or 0)}
        return _document(shape, ["seekrandom"], flags | count)
    return _document(shape, ["readrandom"], flags | {"reads": shape.gets})


def _skew(family: FamilyProfile) -> float | None:
    """The share of keys that takes half of the operations, by what there is more of.

    It is that of many operations: of few, some keys are used more often by chance alone. None
    where it is not told, and where keys are used about evenly.
    """
    did, skew = family.operations, family.skew
    reads = did.get("get", 0.0) + did.get("multiget", 0.0)
    of_reads = skew.writes is None or (skew.reads is not None and reads >= did.get("put", 0.0))
    share, uses = (
        (skew.reads, skew.reads_per_key) if of_reads else (skew.writes, skew.writes_per_key)
    )
    if share and uses is not None:
        share = 0.5 * min(1.0, share / even_share(uses))
    return share if share is not None and share < _EVEN else None


def even_share(uses: float) -> float:
    """The share of the keys that takes half of the operations where all keys are drawn alike.

    ``uses`` is the mean of those that are drawn at all, at least 1. How often a key is drawn is
    then of a Poisson distribution without its zero.
    """
    if uses <= 1.001:
        return 0.5
    rate = brentq(lambda each: each / -math.expm1(-each) - uses, 1e-6, uses)
    counts = np.arange(math.ceil(rate + 12 * math.sqrt(rate) + 20), 0, -1)
    keys = np.cumsum(poisson.pmf(counts, rate))
    taken = np.cumsum(counts * poisson.pmf(counts, rate))
    return float(np.interp(taken[-1] / 2, [0, *taken], [0, *keys]) / keys[-1])


def _mixed(family: FamilyProfile, shape: Shape, flags: dict[str, Value]) -> dict[str, Any]:
    """``mixgraph``: gets, puts and seeks in one, with a power of keys.

    db_bench draws a key as the x at which a x^b is uniform (PowerCdfInversion). Then the share
    0.5^(1/b) of all keys takes half of the operations, and 1/a is their number to the b-th power.
    """
    puts = shape.puts - shape.first
    total = shape.gets + puts + shape.seeks
    length = float(max(0, round(family.scan_length or 0)))
    mixed: dict[str, Value] = {
        "reads": total,
        "mix_get_ratio": round(shape.gets / total, 4),
        "mix_put_ratio": round(puts / total, 4),
        "mix_seek_ratio": round(shape.seeks / total, 4),
        **_sizes(family).mixgraph_flags(),
        "iter_theta": length, "iter_k": 0.0, "iter_sigma": 0.0,
    }  # fmt: skip
    skew = _skew(family)
    if skew:
        power = math.log(0.5) / math.log(skew)
        mixed |= {"key_dist_a": float(f"{shape.num**-power:.6g}"), "key_dist_b": round(power, 4)}
    kept = {n: v for n, v in flags.items() if n in ("disable_wal", "sync")}
    if shape.first:  # what fills the database draws as other benchmarks do, as evenly
        kept |= _sizes(family).drawn_evenly().flags()
    return _beside_reads(shape, "mixgraph", kept | mixed)


def _in_rounds(family: FamilyProfile, shape: Shape, flags: dict[str, Value]) -> dict[str, Any]:
    """Each kind of operation by itself, a part of all at a time, in turn.

    db_bench has one flag for how many reads there are, of each kind: the rarer kind sets it, and
    the other is repeated. ``mergerandom`` does as many as the larger of writes and reads.
    """
    first = "overwrite" if shape.before else _filling(family, shape)
    later = ["overwrite"]
    counts: dict[str, Value] = dict(flags)
    if shape.merging:
        first, later = "mergerandom", ["mergerandom"]
        counts["merge_operator"] = "put"
    unique = first in ("fillseq", "filluniquerandom")
    counts["writes"] = shape.puts if unique else max(1, shape.puts // ROUNDS)
    kinds: list[str] = []
    if shape.deletes:
        kinds.append("deleterandom")
        counts["deletes"] = max(1, shape.deletes // ROUNDS)
    asked = {"readrandom": shape.gets // ROUNDS, "seekrandom": shape.seeks // ROUNDS}
    asked = {name: count for name, count in asked.items() if count > NONE * max(asked.values())}
    if asked:
        fewest = min(*asked.values(), shape.puts // ROUNDS or 1)
        counts["reads"] = max(1, fewest, -(-max(asked.values()) // MOST_REPEATS))
        times = {name: count // int(counts["reads"]) for name, count in asked.items()}
        kinds += [name if often < 2 else f"{name}[X{often}]" for name, often in times.items()]
    if "seekrandom" in asked:
        counts["seek_nexts"] = round(family.scan_length or 0)
    benchmarks = [first, *kinds]
    for _ in range(ROUNDS - 1):
        benchmarks += [*([] if unique else later), *kinds]
    return _document(shape, benchmarks, counts)


def _not_expressed(
    profile: DatabaseProfile, family: FamilyProfile, shape: Shape, document: Mapping[str, Any]
) -> Iterator[str]:
    others = [each.name for each in profile.families if each.name != family.name]
    if others:
        yield (
            f"the other column families ({', '.join(others)}): they share threads, cache and WAL "
            "with this one, but the load has only this one"
        )
    if shape.cut > 1:
        yield (
            f"the duration: the database did {shape.cut:.3g} times more; the load ends after "
            f"writing its live keys {MOST_TURNOVERS} times, or at {MOST_OPERATIONS:,} operations"
        )
    if profile.ingest_rate:
        peak = f", {profile.ingest_peak / 2**20:.3g} MiB/s at peak" if profile.ingest_peak else ""
        yield (
            f"the write rate: {profile.ingest_rate / 2**20:.3g} MiB/s on average{peak}; the load "
            "writes as fast as it can"
        )
    read = {name: profile.operations.get(name, 0.0) for name in ("get", "multiget", "seek")}
    if others and any(read.values()) and not any(map(family.operations.get, read)):
        told = ", ".join(f"{count:,.0f} {name}s" for name, count in read.items() if count)
        yield (
            f"reads: {told} of all column families together, which statistics do not tell apart; "
            "the load has none"
        )
    if shape.puts and family.overwrite_share is None:
        yield (
            "overwrites: the input does not tell how many puts overwrite a key; the load takes "
            f"{100 * shape.overwritten:.2g}%"
        )
    names, flags = document["benchmarks"], document["flags"]
    if profile.batch_size and profile.batch_size >= 1.5 and "batch_size" not in flags:
        yield f"batches of {profile.batch_size:.3g} keys: {names[0]} writes key by key"
    if family.operations.get("multiget"):
        yield "multigets: their keys are read one by one"
    if len(names) > ROUNDS:
        yield f"concurrent operations: the kinds run one after the other, in {ROUNDS} rounds"
    skew = _skew(family)
    if skew is not None and "mixgraph" not in names:
        yield (
            f"skewed keys ({100 * skew:.2g}% of them take half of the operations): the load "
            "draws keys uniformly"
        )
    if family.operations.get("merge"):
        how = "puts are merges, too" if "mergerandom" in names else "merges are puts"
        yield f"the application's merge operator, and merges mixed with puts: in the load {how}"
    yield "client threads: the load has one; the input does not tell the application's number"


def _reasons(profile: DatabaseProfile, family: FamilyProfile) -> dict[str, str]:
    fields = {
        "key_size": "key_size", "value_size": "value_size", "flags": "operations",
        "compression_ratio": "compression_ratio", "num": "overwrite_share",
    }  # fmt: skip
    found = {}
    for field, figure in fields.items():
        source = family.sources.get(figure) or profile.sources.get(figure)
        found[field] = f"{source.where} ({source.sure})" if source else "assumed: not in the input"
        if figure in family.doubted and figure == field:
            found[field] = "assumed: it makes tables as large as the database's"
    return found


def load_toml(chosen: ChosenLoad) -> str:
    """The workload file: each figure below the line that says what it is made of."""
    said = ["A load made by `rocktune profile`. It does not reproduce:"]
    said += [f"- {printable(each)}" for each in chosen.not_expressed]
    notes = {field: printable(why) for field, why in chosen.reasons.items()}
    return "".join(f"# {line}\n" for line in said) + toml_text(chosen.document, notes)


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
        raise InputError("PATH", f"the trace {trace} contains no operation")
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
        "help": f"Replay of {100 * share:.3g}% of {trace.name}",
        "num": entries,
        "benchmarks": ["replay"],
        "trace": str(trace),
        "fast_forward": float(max(1, math.ceil(seconds / _SECONDS))),
        "timeout_seconds": 600,
    }
    if share < 1:
        document["trace_until"] = float(f"{seconds:.6g}")
    document |= {"flags": flags, "prepare": _filled(family, entries, document["benchmarks"])}
    missing = (
        "the data from before the trace: [prepare] fills as many keys of the same sizes, but not "
        "the same keys; set num to fit your database",
        f"the pace: it is replayed {document['fast_forward']:g} times as fast as recorded",
    )
    num = "assumed: a trace does not tell the number of keys"
    reasons = {**base.reasons, **({} if family.entries else {"num": num})}
    return ChosenLoad(workload_from_document(document), document, reasons, missing)
