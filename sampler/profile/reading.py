"""Reads the folder of a database, or its LOG, into a profile; never writes, never opens it.

The LOG is read line by line, so a large one takes time but little memory.
"""

import math
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from itertools import chain, islice
from pathlib import Path

from sampler.bench.query_trace import is_trace
from sampler.common.errors import InputError
from sampler.options.options_file import DB, DEFAULT_FAMILY, OptionsFile, parse_options
from sampler.profile.compressibility import with_codecs
from sampler.profile.database_figures import (
    LogEvidence,
    database_figures,
    written_bytes,
    written_keys,
)
from sampler.profile.database_files import find_files, lines_of
from sampler.profile.family_figures import (
    STATISTICS,
    TRACE,
    Evidence,
    compression_of,
    family_profile,
)
from sampler.profile.log_events import LogEvents, Opened
from sampler.profile.profile import DatabaseProfile, FamilyProfile, Unknown
from sampler.profile.trace import read_trace_profile
from sampler.stats_dumps.figure_lines import count_of
from sampler.stats_dumps.opening import Opening, openings_in
from sampler.stats_dumps.parts import Contents, read_lines

_LEAST_TOLD = 0.1  # of what an opening flushed
_LEVELDB = re.compile(r"Level-0 table #\d+: started|Delete type=\d #\d+")


def read_profile(path: Path, *, told: Callable[[str], None] = lambda _: None) -> DatabaseProfile:
    """The profile of a database, from its LOGs and its OPTIONS file, or from a trace.

    Sizes of keys and values and the shape of the tree are of all LOGs; operations and rates are of
    the newest opening that the LOGs tell enough of.

    Args:
        path: The folder of a database, a LOG, or a folder that holds LOGs and an OPTIONS file; or
            a trace. A process may hold the database open.
        told: Is given lines on what is read, and on files that are passed over.

    Raises:
        InputError: It cannot be read, or is no LOG of RocksDB.
    """
    if is_trace(path):
        return read_trace_profile(path, told=told)
    logs, options_text = find_files(path, told)
    events = LogEvents()
    lines = chain.from_iterable(map(lines_of, logs))
    contents = read_lines(events.passing(lines), totals=True)
    dumps = openings_in(contents)
    if not (events.count or dumps or contents.versions):
        raise InputError(f"LOG {logs[-1]}", _not_rocksdb(logs[-1]))
    log = LogEvidence(events, *_chosen(events, dumps))
    if len(events.openings) > 1:
        number = 1 + events.openings.index(log.opened)
        told(f"Operations are from opening {number} of {len(events.openings)} in the LOG.")
    options = parse_options(options_text) if options_text else None
    families, unknown = _families(log, contents, options)
    families = with_codecs(path, families, events)
    # A live table may tell what the LOG does not.
    told_of = {compression_of(f.name) for f in families if f.compression_ratio is not None}
    figures, sources = database_figures(log)
    return DatabaseProfile(
        families=families,
        version=contents.versions[-1][1] if contents.versions else None,
        options=options_text,
        **figures,
        operations=_operations(families, log),
        sources=sources,
        unknown=(*_unknown(log, options), *(each for each in unknown if each.what not in told_of)),
    )


def _not_rocksdb(log: Path) -> str:
    for line in islice(lines_of(log), 1000):
        if _LEVELDB.search(line):
            return "is a LevelDB LOG; give a RocksDB LOG"
        if line.strip() in ("[Version]", f"[{DB}]"):
            return "is an OPTIONS file; give the LOG, or a folder that holds both"
    return "is not a RocksDB LOG: it has no version, table or statistics"


def _chosen(events: LogEvents, dumps: tuple[Opening, ...]) -> tuple[Opened, Opening | None]:
    """The newest opening in which something was written or read, with its dumps; or the newest."""
    ends = [*(opened.line for opened in events.openings[1:]), math.inf]
    pairs = [
        (opened, next((d for d in reversed(dumps) if opened.line <= d.line < end), None))
        for opened, end in zip(events.openings, ends, strict=True)
    ]
    opened, dump = next((pair for pair in reversed(pairs) if _tells(*pair)), pairs[-1])
    return opened, None if _too_early(opened) else dump


def _too_early(opened: Opened) -> bool:
    """Whether nearly all came after the last dump, which tells only of the beginning."""
    flushed = sum(family.counts["written"] for family in opened.families.values())
    before = sum(counts["written"] for counts in (opened.at_dump or {}).values())
    return before < _LEAST_TOLD * flushed


def _tells(opened: Opened, dump: Opening | None) -> bool:
    if any(family.counts["written"] for family in opened.families.values()):
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
    keys = written_keys(log, names)
    bytes_in = written_bytes(log, keys, {name: log.events.entry_size(name) for name in names})
    found = [
        family_profile(
            Evidence(
                name=name,
                alone=used <= {name} and (bool(used) or len(names) == 1),
                log=log,
                codec=_codec(name, contents, options),
                written=keys.get(name),
                came_in=bytes_in.get(name),
            )
        )
        for name in names
    ]
    return tuple(family for family, _ in found), [each for _, more in found for each in more]


def _codec(name: str, contents: Contents, options: OptionsFile | None) -> str:
    told = [keys for _, of, keys in contents.options if of == name and "compression" in keys]
    text = options.get(f'CFOptions "{name}"', "compression") if options else None
    plain = (text or "").removeprefix("k").removesuffix("Compression")
    return told[-1]["compression"] if told else plain


def _operations(families: Iterable[FamilyProfile], log: LogEvidence) -> dict[str, float]:
    total = Counter[str]()
    for did in (family.operations for family in families):
        total.update({n: c for n, c in did.items() if n in ("put", "delete", "merge")})
    return {**total, **log.reads()}


def _unknown(log: LogEvidence, options: OptionsFile | None) -> Iterator[Unknown]:
    if options is None:
        yield Unknown("options", "profile the database folder, or one with LOG and OPTIONS-NUMBER")
    if log.dump is None:
        yield Unknown("rates, batch size, syncs and stalls", STATISTICS)
    if not log.tickers:
        yield Unknown("hit rate, scan length and latencies", STATISTICS)
    yield Unknown("skew of reads and writes", TRACE)
