"""Reads the folder of a database, or its LOG, into a profile; never writes, never opens it.

The LOG is read line by line, so a large one takes time but little memory. Tickers and dumps count
all column families together; what came in of each is told apart by its flushed memtables.
"""

import math
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import chain, islice
from pathlib import Path
from statistics import median

from sampler.bench.query_trace import is_trace
from sampler.common.errors import InputError
from sampler.profile.application_objects import ApplicationObjects, completed, with_objects
from sampler.profile.compressibility import with_codecs
from sampler.profile.evidence import (
    BATCH_HEADER,
    MIB,
    STATISTICS,
    TRACE,
    Evidence,
    Figures,
    LogEvidence,
    gathered,
    without_contradictions,
)
from sampler.profile.family_events import OpeningEvents
from sampler.profile.family_figures import compression_of, family_profile, read_figures
from sampler.profile.log_events import LogEvents
from sampler.profile.profile import DatabaseProfile, FamilyProfile, Source, Sure, Unknown
from sampler.profile.trace import read_trace_profile
from sampler.rocksdb.figure_lines import count_of
from sampler.rocksdb.forms import is_options_file, other_form
from sampler.rocksdb.log_reader import find_files, lines_of, quiet_log, read_log
from sampler.rocksdb.opening import Opening, openings_in
from sampler.rocksdb.options_file import DB, DEFAULT_FAMILY, OptionsFile, parse_options
from sampler.rocksdb.parts import Contents, Dumps

_LEAST_TOLD = 0.1  # of what an opening flushed
_LEAST_SURE = 2.0  # times by how much it may be wrong, of what is in memory
_LEAST_IN_MEMORY = 0.001  # of the keys that were written
_LATENCIES = ("get", "write", "seek", "multiget")
_READS = Source("LOG: tickers rocksdb.number.keys.read, db.seek and multiget.get", "counted")
_LEVELDB = re.compile(r"Level-0 table #\d+: started|Delete type=\d #\d+")


def read_profile(path: Path, *, told: Callable[[str], None] = lambda _: None) -> DatabaseProfile:
    """The profile of a database, from its LOGs and its OPTIONS file, or from a trace.

    Sizes of keys and values and the shape of the tree are of all LOGs; operations and rates are of
    the newest opening that the LOGs tell enough of. ``path`` is the folder of a database, which a
    process may hold open, or one that holds LOGs and an OPTIONS file, a LOG or a trace; ``told``
    is given lines on what is read, and on files that are passed over.

    Raises:
        InputError: It cannot be read, or is no LOG of RocksDB.
    """
    if is_trace(path):
        return read_trace_profile(path, told=told)
    logs, options_text = find_files(path, told)
    events, objects, told_by_dumps = LogEvents(), ApplicationObjects(), Dumps(totals=True)
    read_log(chain.from_iterable(map(lines_of, logs)), events, objects, told_by_dumps)
    events.settle()
    contents = told_by_dumps.contents
    dumps = openings_in(contents)
    if not (events.count or dumps or contents.versions):
        raise InputError(f"LOG {logs[-1]}", _not_rocksdb(logs[-1]))
    if contents.quiet and not events.count:
        raise InputError(f"LOG {logs[-1]}", f"{quiet_log(logs[-1])}, or a trace")
    version = contents.versions[-1][1] if contents.versions else None
    log = LogEvidence(events, *_chosen(events, dumps), version)
    in_log = [each for each in events.openings if each.in_log]
    if not log.opened.in_log:
        told("Operations are those that the LOG's recovery flushed: from the opening before it.")
    elif len(in_log) > 1:
        number = 1 + in_log.index(log.opened)
        told(
            f"Operations are from opening {number} of {len(in_log)} in the LOG; all openings "
            f"together flushed {_all_flushed(events):,} writes."
        )
    options = parse_options(options_text) if options_text else None
    families, unknown = _families(log, contents, options)
    families = with_codecs(path, with_objects(families, objects), events)
    # A live table may tell what the LOG does not.
    told_of = {compression_of(f.name) for f in families if f.compression_ratio is not None}
    figures, sources = gathered((*_writes(log), *_rates(log), *read_figures(log), *_latency(log)))
    profile = DatabaseProfile(
        families=families,
        version=version,
        options=completed(options_text, objects) if options_text else None,
        **figures,
        operations=_operations(families, log),
        sources={**sources, **({"operations": _READS} if log.reads() else {})},
        unknown=(
            *_unknown(log, options, [each.name for each in families]),
            *(each for each in unknown if each.what not in told_of),
        ),
    )
    return without_contradictions(profile)


def _all_flushed(events: LogEvents) -> int:
    counts = (each.counts for o in events.openings for each in o.families.values())
    return sum(each["written"] for each in counts)


def _not_rocksdb(log: Path) -> str:
    start = "".join(islice(lines_of(log), 100))
    if told := None if is_options_file(start) else other_form(start):
        return told
    for line in islice(lines_of(log), 1000):
        if _LEVELDB.search(line):
            return "is a LevelDB LOG; give a RocksDB LOG"
        if line.strip() in ("[Version]", f"[{DB}]"):
            return "is an OPTIONS file; give the LOG, or a folder that holds both"
    return "is not a RocksDB LOG: it has no version, table or statistics"


def _chosen(events: LogEvents, dumps: tuple[Opening, ...]) -> tuple[OpeningEvents, Opening | None]:
    """The newest opening in which something was written or read, with its dumps; or the newest."""
    ends = [*(opened.line for opened in events.openings[1:]), math.inf]
    pairs = [
        (opened, next((d for d in reversed(dumps) if opened.line <= d.line < end), None))
        for opened, end in zip(events.openings, ends, strict=True)
    ]
    opened, dump = next((pair for pair in reversed(pairs) if _tells(*pair)), pairs[-1])
    return opened, None if _too_early(opened) else dump


def _too_early(opened: OpeningEvents) -> bool:
    """Whether nearly all came after the last dump, which tells only of the beginning."""
    counts = [family.counts for family in opened.families.values()]
    flushed = sum(each["written"] - each["recovered"] for each in counts)
    before = sum(each.counts["written"] for each in (opened.at_dump or {}).values())
    return before < _LEAST_TOLD * flushed


def _tells(opened: OpeningEvents, dump: Opening | None) -> bool:
    counts = [family.counts for family in opened.families.values()]
    if any(each["written"] or each["lost_writes"] for each in counts):
        return True
    if dump is None:
        return False
    read = ("keys.read", "db.seek", "multiget.get")
    written = count_of(dump.database.get("total_writes_count"))
    return bool(written) or any(dump.tickers.get(f"rocksdb.number.{name}") for name in read)


def _families(
    log: LogEvidence, contents: Contents, options: OptionsFile | None
) -> tuple[tuple[FamilyProfile, ...], list[Unknown]]:
    told = [str(part.family) for part in (log.dump.families if log.dump else ())]
    headers = [name for _, name, _ in contents.options if name]
    listed = options.families if options else headers
    names = list(dict.fromkeys((DEFAULT_FAMILY, *listed, *told, *log.opened.families)))
    used = {name for name in names if log.used(name)}
    keys = _written_keys(log, names)
    bytes_in = _written_bytes(log, keys, {name: log.events.entry_size(name) for name in names})
    pairs = _pair_in_memory(log, keys, names)
    found = [
        family_profile(
            Evidence(
                name=name,
                alone=used <= {name} and (bool(used) or len(names) == 1),
                log=log,
                codec=_codec(name, contents, options, "compression"),
                blob_codec=_codec(name, contents, options, "blob_compression_type"),
                filtered=_filtered(name, contents),
                silent=_silent(log, name, names) if len(used) > 1 else None,
                written=keys.get(name),
                came_in=bytes_in.get(name),
                pair=pairs.get(name),
            )
        )
        for name in names
    ]
    return tuple(family for family, _ in found), [each for _, more in found for each in more]


def _codec(name: str, contents: Contents, options: OptionsFile | None, option: str) -> str:
    told = _told(name, contents, option)
    text = options.get(f'CFOptions "{name}"', option) if options else None
    return told or (text or "").removeprefix("k").removesuffix("Compression")


def _told(name: str, contents: Contents, option: str) -> str | None:
    """An option as the last header of the LOG has it."""
    told = (
        keys[option] for _, of, keys in reversed(contents.options) if of == name and option in keys
    )
    return next(told, None)


def _filtered(name: str, contents: Contents) -> bool | None:
    filters = (_told(name, contents, f"compaction_filter{end}") for end in ("", "_factory"))
    told = [each for each in filters if each is not None]
    return any(each != "None" for each in told) if told else None


def _silent(log: LogEvidence, family: str, families: Sequence[str]) -> float | None:
    """Keys that were written to all and not flushed, for a family that flushed nothing."""
    if log.events.of_all_openings(family).counts["written"]:
        return None
    keys = log.keys_written() or 0.0
    left = keys - sum(map(log.flushed, families))
    return left if left > _LEAST_IN_MEMORY * keys else None


def _written_keys(log: LogEvidence, families: Sequence[str]) -> dict[str, float]:
    """Keys that were written to each family until the last dump, as far as that is told.

    Those that are in memory are shared out by the rates at which memtables filled. What is left
    was written to families that flushed nothing: it is told where there is one of them, and the
    rates are known well enough.
    """
    flushed = {name: log.flushed(name) for name in families}
    used = [name for name in families if log.used(name)] or list(families)
    keys = log.keys_written()
    if keys is None or (log.number_of_keys is None and len(used) > 1):
        keys = sum(flushed.values())
    if not any(flushed.values()):
        return {used[0]: keys} if len(used) == 1 and (keys or log.dump) else {}
    left = max(0.0, keys - sum(flushed.values()))
    rates = {name: log.since_flush(name) for name in families}
    waiting = {name: count for name, (count, _) in rates.items()}
    if not any(waiting.values()):
        waiting = dict(flushed)
    factor = left / sum(waiting.values())
    several, silent = len(used) > 1, [name for name, count in flushed.items() if not count]
    if several and silent:  # some of it may be theirs
        factor = min(1.0, factor)
    written = {name: flushed[name] + factor * waiting[name] for name in families}
    rest, unsure = keys - sum(written.values()), sum(error for _, error in rates.values())
    if len(silent) == 1 and log.sequence is not None and rest > _LEAST_SURE * unsure:
        written[silent[0]] = rest
    return {name: count for name, count in written.items() if count or not several}


def _written_bytes(
    log: LogEvidence, keys: Mapping[str, float], sizes: Mapping[str, float]
) -> dict[str, float]:
    """Bytes of write batches of each family until the last dump, as far as that is told.

    ``sizes`` are mean bytes of a key with its value, by family. Where the LOG tells of no table,
    what was flushed of each family tells the shares.
    """
    weights = {name: keys.get(name, 0.0) * size for name, size in sizes.items()}
    ingested = log.ingested()
    if ingested is None:
        return weights
    if not any(weights.values()):
        parts = log.dump.families if log.dump else ()
        flushed = {str(p.family): p.figures.get("total_flush_gib", 0.0) for p in parts}
        weights = {name: float(size) for name, size in flushed.items()}
    whole = sum(weights.values())
    return {name: ingested * each / whole for name, each in weights.items()} if whole else {}


def _pair_in_memory(
    log: LogEvidence, keys: Mapping[str, float], families: Sequence[str]
) -> dict[str, float]:
    """Mean bytes of a key with its value, of the family that flushed nothing; empty if untold.

    They are those of all write batches, without the entries of the other families. An entry of a
    memtable has 8 bytes that a batch has not, and for a delete the length of its value; one of a
    batch has its type, and the number of a family other than the default (write_batch.cc).
    """
    silent = [name for name, count in keys.items() if count and not log.flushed(name)]
    size, calls = log.tickers.get("bytes.written"), log.tickers.get("write.self")
    if len(silent) != 1 or len(keys) < 2 or size is None or calls is None:
        return {}
    left = size - BATCH_HEADER * float(calls + log.tickers.get("write.other", 0))
    for name in (each for each in families if each in keys and each not in silent):
        counts = log.until_dump(name)
        last = log.opened.families[name].in_memory(counts)
        if counts["dataless"] or not last.data:
            return {}
        more = (keys[name] - counts["written"]) / max(1, last.entries)
        left -= counts["data"] + more * last.data - counts["deleted"] - more * last.deletes
        left += keys[name] * (8 - 1 - (name != DEFAULT_FAMILY))
    lengths = 3 + (silent[0] != DEFAULT_FAMILY)  # and the type
    pair = left / keys[silent[0]] - lengths
    return {silent[0]: pair} if pair > 0 else {}


def _operations(families: Iterable[FamilyProfile], log: LogEvidence) -> dict[str, float]:
    total = Counter[str]()
    for did in (family.operations for family in families):
        total.update({n: c for n, c in did.items() if n in ("put", "delete", "merge")})
    return {**total, **log.reads()}


def _unknown(
    log: LogEvidence, options: OptionsFile | None, names: Sequence[str]
) -> Iterator[Unknown]:
    if options is None:
        yield Unknown("options", "profile the database folder, or one with LOG and OPTIONS-NUMBER")
    for words in log.events.unknown.words():
        yield Unknown(f"what the LOG counts: {words}", f"its version is not known; {TRACE}")
    if log.dump is None:
        yield Unknown("rates, batch size, syncs and stalls", STATISTICS)
    if not log.tickers:
        yield Unknown("hit rate, scan length and latencies", STATISTICS)
    if any(log.reads().values()) and sum(map(log.used, names)) > 1:
        yield Unknown("gets, seeks and multigets by column family", TRACE)
    yield Unknown("skew of reads and writes", TRACE)


def _writes(log: LogEvidence) -> Iterator[Figures]:
    tickers = log.tickers
    calls: float | None = tickers.get("write.self", 0) + tickers.get("write.other", 0)
    keys: float | None = tickers.get("number.keys.written")
    where = "LOG: tickers rocksdb.write.self and other"
    sure: Sure = "counted"
    if not calls:
        calls = log.count("total_writes_count")
        keys = log.count("total_keys_count") if keys is None else keys
        where, sure = "LOG: Cumulative writes of the last dump, rounded by RocksDB", "estimated"
    if calls and keys is not None:
        size = {"batch_size": max(1.0, keys / calls)}
        yield Figures(size, f"{where}; keys written / calls", sure)
    logged: float | None = tickers.get("write.wal")
    synced: float | None = tickers.get("wal.synced")
    where = "LOG: tickers rocksdb.wal.synced / write.wal"
    if logged is None or synced is None:
        logged, synced = log.count("total_wal_writes_count"), log.count("total_wal_syncs_count")
        where = "LOG: Cumulative WAL of the last dump, rounded by RocksDB"
    if logged is not None and keys:
        yield Figures({"wal": logged > 0}, where)
    if logged and synced is not None:
        yield Figures({"sync_share": min(1.0, synced / logged)}, where, sure)


def _rates(log: LogEvidence) -> Iterator[Figures]:
    opened, dump = log.opened, log.dump
    if dump is None:
        if opened.begin and opened.end:
            lasted = {"seconds": (opened.end - opened.begin) / 1e6}
            yield Figures(lasted, "LOG: event times", "estimated")
        return
    last = dump.intervals[-1]
    yield Figures({"seconds": last.at}, "LOG: uptime at the last dump")
    ingested = log.ingested()
    if ingested is not None and last.at > 0:
        where = "LOG: bytes of write batches up to the last dump"
        yield Figures({"ingest_rate": ingested / last.at}, where)
    usual = median(each.seconds for each in dump.intervals)
    rates = [each.writes for each in dump.intervals if each.seconds >= usual / 2 and each.writes]
    if rates:
        where = f"LOG: the busiest of {len(dump.intervals)} dumps, {usual:.4g} s apart"
        yield Figures({"ingest_peak": max(rates) * MIB}, where)
    if last.cumulative_stall_percent is not None:
        where = "LOG: Cumulative stall of the last dump"
        yield Figures({"stall_percent": last.cumulative_stall_percent}, where)


def _latency(log: LogEvidence) -> Iterator[Figures]:
    found = {
        f"{kind}_{share.lower()}": histogram[share]
        for kind in _LATENCIES
        if (histogram := log.histogram(f"db.{kind}.micros"))
        for share in ("P50", "P99")
    }
    if found:
        where = "LOG: histograms of the last statistics dump"
        yield Figures({"latency": found}, where, "estimated")
