"""The figures of one column family, from the events of a LOG and its last dump of statistics."""

import math
from collections import Counter
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from sampler.profile.compressibility import packed_of, value_ratio
from sampler.profile.log_events import (
    COMPACTION,
    FLUSH,
    KEY_TRAILER,
    FamilyEvents,
    LogEvents,
    Opened,
    value_bytes,
)
from sampler.profile.overwrites import overwrites
from sampler.profile.profile import (
    FamilyProfile,
    Level,
    Source,
    Sure,
    Unknown,
    ValueSize,
    written_in_order,
)
from sampler.profile.value_sizes import WrittenSizes
from sampler.stats_dumps.figure_lines import Cell, count_of
from sampler.stats_dumps.opening import Opening
from sampler.stats_dumps.parts import Part

TRACE = "record a trace with DB::StartTrace and profile it"
STATISTICS = (
    "open the database with its own statistics and stats_dump_period_sec above 0, and profile "
    f"it again after some periods; or {TRACE}"
)
_OLDER = f"keep all LOG.old files (keep_log_file_num) and profile the folder; or {TRACE}"
_RECOMPRESS = "profile the folder with its SST files and sst_dump on PATH (Debian's rocksdb-tools)"
# Of a write batch of one put (write_batch.cc): header, type and length of the key.
_BATCH_BYTES = 12 + 1 + 1
_LEAST_TABLES = 5  # whose means tell how much values differ, to about a third
_NO_CODEC = ("", "NoCompression")
GIB, MIB = 2**30, 2**20
_LEAST_GIB = 0.1  # that came in; a dump, which tells it to 0.01, says too little of less
_ROUNDING_GIB = 0.0055
READS = {"get": "number.keys.read", "seek": "number.db.seek", "multiget": "number.multiget.get"}


@dataclass(frozen=True)
class LogEvidence:
    """What was read of a database's LOGs, and the opening that operations are counted in."""

    events: LogEvents
    opened: Opened
    dump: Opening | None  # what dumps tell of that opening

    @property
    def tickers(self) -> Mapping[str, int]:
        """The last ones, without ``rocksdb.``; empty without statistics.

        So they are where they also count earlier openings, or other databases, of the process.
        """
        if self.dump is None:
            return {}
        found = {name.removeprefix("rocksdb."): n for name, n in self.dump.tickers.items()}
        came, counted = self.dump.intervals[-1].ingested_gib, found.get("bytes.written")
        if came is None or counted is None:
            return found
        agree = abs(counted / GIB - came) <= _ROUNDING_GIB + 0.001 * came
        return found if agree else {}

    def histogram(self, name: str) -> Mapping[str, float]:
        """A histogram of the last statistics; empty where it counts nothing."""
        told = self.dump.histograms if self.dump and self.tickers else {}
        found = told.get(f"rocksdb.{name}", {})
        return found if found.get("COUNT") and {"P50", "P99"} <= found.keys() else {}

    def count(self, name: str) -> float | None:
        """A count of the last dump, as RocksDB rounds it."""
        return count_of(self.dump.database.get(name)) if self.dump else None

    def part(self, family: str) -> Part | None:
        """The last part of a family in the dumps."""
        parts = self.dump.families if self.dump else ()
        return next((part for part in parts if part.family == family), None)

    def until_dump(self, family: str) -> Counter[str]:
        """Counts of a family in the opening until the last dump; until its end without a dump."""
        if self.dump and self.opened.at_dump is not None:
            return self.opened.at_dump.get(family, Counter())
        return self.opened.families.get(family, FamilyEvents()).counts

    def used(self, family: str) -> bool:
        """Whether a family holds or was given anything."""
        part = self.part(family)
        return any(family in each.families for each in self.events.openings) or bool(
            part
            and (part.figures.get("total_flush_gib") or any(row["files"] for row in part.levels))
        )

    def reads(self) -> dict[str, float]:
        """Gets, seeks and multigets of all families, where statistics are on."""
        told = self.tickers
        return {name: float(told[ticker]) for name, ticker in READS.items() if ticker in told}

    def ingested(self) -> float | None:
        """Bytes of write batches, until the last dump."""
        if "bytes.written" in self.tickers:
            return float(self.tickers["bytes.written"])
        last = self.dump.intervals[-1] if self.dump else None
        if last is None or last.ingested_gib is None:
            return None
        if last.ingested_gib >= _LEAST_GIB or last.cumulative_writes is None:
            return last.ingested_gib * GIB
        return last.cumulative_writes * MIB * last.at


@dataclass(frozen=True)
class Evidence:
    """What a family's figures are made of."""

    name: str
    alone: bool  # whether the database has no other family
    log: LogEvidence
    codec: str  # by the options, where tables do not tell it; "" if neither does
    written: float | None  # keys that were written to the family, until the last dump
    came_in: float | None  # their bytes in write batches

    @property
    def own(self) -> FamilyEvents:
        """The events of the family in the opening that operations are counted in."""
        return self.log.opened.families.get(self.name, FamilyEvents())

    @property
    def later(self) -> float:
        """Keys that were flushed by the end of the LOG over those of the last dump, at least 1."""
        return max(1.0, self.own.counts["written"] / self.written) if self.written else 1.0


@dataclass(frozen=True)
class Figures:
    """Fields of a profile and their source; and what is not known, with how to learn it."""

    fields: Mapping[str, Any] = field(default_factory=dict)
    where: str = ""
    sure: Sure = "counted"
    unknown: Mapping[str, str] = field(default_factory=dict)


def gathered(found: Collection[Figures]) -> tuple[dict[str, Any], dict[str, Source]]:
    """All fields together, and where each comes from."""
    fields = {name: value for each in found for name, value in each.fields.items()}
    return fields, {name: Source(each.where, each.sure) for each in found for name in each.fields}


def family_profile(evidence: Evidence) -> tuple[FamilyProfile, tuple[Unknown, ...]]:
    """The profile of a family, and what is not known of it."""
    whole = evidence.log.events.of_all_openings(evidence.name)
    own = evidence.log.opened.families.get(evidence.name, whole)
    written = own if own.summed(FLUSH) else whole
    keys, sizes = _keys(evidence), list(_sizes(evidence, written))
    values = next((f.fields["value_size"] for f in sizes if "value_size" in f.fields), ValueSize())
    levels, where = _levels(evidence)
    found = [
        *sizes,
        *_compression(evidence, written, values, keys.fields),
        keys,
        *_operations(evidence),
        *(read_figures(evidence.log) if evidence.alone else ()),
        Figures({"levels": levels} if levels else {}, where),
        *_work(evidence, whole),
    ]
    fields, sources = gathered(found)
    unknown = [
        Unknown(_of_family(what, evidence.name), how)
        for each in found
        for what, how in each.unknown.items()
    ]
    return FamilyProfile(name=evidence.name, **fields, sources=sources), tuple(unknown)


def _of_family(what: str, name: str) -> str:
    return f"{what} of column family {name!r}"


def compression_of(name: str) -> str:
    """What an ``Unknown`` calls the compressibility of a family's values."""
    return _of_family("compression_ratio", name)


def _sizes(evidence: Evidence, whole: FamilyEvents) -> Iterator[Figures]:
    """Of the tables of flushes, which hold what came in; compactions leave out what is hidden."""
    kind = FLUSH if whole.summed(FLUSH) else COMPACTION
    total = whole.summed(kind)
    if not total:
        yield Figures(unknown={"key and value size": _OLDER})
        return
    where = f"LOG: {total['tables']} tables made by {kind}"
    key_size = total["raw_key_size"] / total["num_entries"] - KEY_TRAILER
    yield Figures({"key_size": key_size}, where)
    with_value = total["num_entries"] - total["num_deletions"]
    if whole.counts["blobs"]:
        yield Figures(unknown={"value size": f"values are in blob files: {TRACE}"})
        return
    if with_value <= 0:
        return
    mean = value_bytes(total) / with_value
    batches = evidence.log.histogram("bytes.per.write")
    if len(whole.value_means) == 1 and mean == int(mean):
        where += "; their means are equal, so values have one size"
        yield Figures({"value_size": ValueSize(mean, mean, mean, 0.0)}, where, "estimated")
        return
    deviation = _deviation(total, mean)
    sure: Sure = "counted" if deviation is None else "estimated"
    if deviation is not None:
        where += "; their deviation by how far the means of the tables lie apart"
    if (
        evidence.alone
        and batches
        and batches["COUNT"] == evidence.log.tickers.get("number.keys.written")
        and total["num_deletions"] == total["num_merge_operands"] == 0
    ):
        beside = _BATCH_BYTES + key_size + (2 if mean > 127 else 1)
        p50, p99 = (max(0.0, batches[name] - beside) for name in ("P50", "P99"))
        where += "; percentiles from the buckets of histogram rocksdb.bytes.per.write"
        size = ValueSize(mean, p50, p99, deviation)
        yield Figures({"value_size": size}, where, "estimated")
    else:
        unknown = {"median and 99th percentile of the value size": TRACE}
        size = ValueSize(mean, deviation=deviation)
        yield Figures({"value_size": size}, where, sure, unknown)


def _deviation(total: Counter[str], mean: float) -> float | None:
    """Standard deviation of the sizes of values, by the means of tables; None of too few.

    The mean of a table of n values deviates by that of one over the square root of n, where their
    sizes do not hang on when they came.
    """
    if total["tables"] < _LEAST_TABLES:
        return None
    values = total["num_entries"] - total["num_deletions"]
    apart = total["value_squares"] - values * mean**2
    return math.sqrt(max(0.0, apart) / (total["tables"] - 1))


def _compression(
    evidence: Evidence, whole: FamilyEvents, values: ValueSize, keys: Mapping[str, Any]
) -> Iterator[Figures]:
    live, read = keys.get("entries", 0), evidence.own.counts["read"]
    in_order = written_in_order(keys.get("overwrite_share"), read, live)
    by_codec = Counter[str]()
    for (_, codec, _), sums in whole.made.items():
        by_codec[codec or evidence.codec] += sums["data_size"]
    codec = by_codec.most_common(1)[0][0] if by_codec else evidence.codec
    if codec:
        told = any(name for _, name, _ in whole.made)
        yield Figures({"codec": codec}, f"LOG: {'most of the tables' if told else 'options'}")
    # Tables of flushes come first: their sequence numbers are known not to be zeroed.
    for (kind, name, valued), sums in sorted(whole.made.items(), reverse=True):
        if not valued or whole.counts["blobs"] or (name or evidence.codec) in _NO_CODEC:
            continue
        packed = replace(packed_of(name or evidence.codec, sums), sizes=WrittenSizes.of(values))
        if kind == FLUSH:
            each = sums["num_entries"] / sums["tables"]
            spread = 1.0 if in_order else live / each
            packed = replace(packed, spread=spread, sequences=round(each), in_order=in_order)
        ratio = value_ratio(packed)
        if ratio:
            saved = "" if ratio.sure else "; nothing was saved, which fits lower ratios too"
            made = f"{sums['tables']} tables made by {kind} with {name or codec}"
            sure: Sure = "estimated" if ratio.sure else "assumed"
            yield Figures({"compression_ratio": ratio.value}, f"LOG: data of {made}{saved}", sure)
            return
    yield Figures(unknown={"compression_ratio": _RECOMPRESS})


def _keys(evidence: Evidence) -> Figures:
    events, name = evidence.log.events, evidence.name
    if events.accounted(name):
        history = events.history(name, evidence.log.opened)
        found = overwrites(history, events.merges[name], events.held(name), events.new(name))
        where = "LOG: entries dropped by flushes and compactions, if keys are drawn uniformly"
        if any(each.deletes for each in history):
            where += "; deletes are assumed to be drawn like puts"
        shares = {"overwrite_share": found.share, "rewrite_share": found.with_merges}
        told = {name: share for name, share in shares.items() if share is not None}
        return Figures({"entries": round(found.live_keys), **told}, where, "estimated")
    unknown = {"overwrite_share": f"some tables are older than the LOG: {_OLDER}"}
    made = events.of_all_openings(name).summed(FLUSH, COMPACTION)
    size = sum(level.bytes for level in _levels(evidence)[0])
    if not size or not made["file_size"]:
        return Figures(unknown={"entries": _OLDER, **unknown})
    where = "LOG: bytes of the levels / bytes per entry in the tables made"
    fields = {"entries": round(size * made["num_entries"] / made["file_size"])}
    return Figures(fields, where, "estimated", unknown)


def _operations(evidence: Evidence) -> Iterator[Figures]:
    log, written = evidence.log, evidence.written
    if written is None:
        yield Figures(unknown={"operations": STATISTICS})
        return
    counts = log.until_dump(evidence.name)
    own = evidence.own
    last_puts, last_deletes, last_merges = own.history[-1] if own.history else (1, 0, 0)
    # What is still in memory is taken to be as the last memtable that was flushed.
    in_memory = max(0.0, written - counts["written"])
    deletes = counts["deleted"] + in_memory * last_deletes / max(1, last_puts + last_deletes)
    merged = counts["merged"] + in_memory * last_merges / max(1, last_puts + last_deletes)
    puts = max(0.0, written - deletes)
    merges = min(puts, merged)
    did = {"put": puts - merges, "delete": deletes, "merge": merges}
    where, unknown = "LOG: entries of flushed memtables", {}
    if log.tickers:
        where = f"LOG: rocksdb.number.keys.written, split by {where[5:]}"
    if not log.reads():
        unknown = {"gets, seeks and multigets": STATISTICS}
    elif evidence.alone:
        did |= log.reads()
        where += "; reads from tickers"
    sure: Sure = "counted" if evidence.alone and not deletes + merges else "estimated"
    if evidence.later > 1:
        did = {name: count * evidence.later for name, count in did.items()}
        where, sure = f"{where}; same shares assumed after the last dump", "estimated"
    yield Figures({"operations": did}, where, sure, unknown)


def read_figures(log: LogEvidence) -> Iterator[Figures]:
    """Hit rate and length of scans, of all families together."""
    tickers = log.tickers
    gets = tickers.get("number.keys.read", 0) + tickers.get("number.multiget.keys.read", 0)
    hits = [tickers.get(f"{where}.hit", 0) for where in ("memtable", "l0", "l1", "l2andup")]
    if gets:
        where = "LOG: tickers rocksdb.memtable.hit, l0.hit, l1.hit and l2andup.hit / keys read"
        yield Figures({"hit_rate": min(1.0, sum(hits) / gets)}, where)
    if seeks := tickers.get("number.db.seek"):
        steps = tickers.get("number.db.next", 0) + tickers.get("number.db.prev", 0)
        where = "LOG: tickers rocksdb.number.db.next and prev / seek"
        yield Figures({"scan_length": steps / seeks}, where)


def _levels(evidence: Evidence) -> tuple[tuple[Level, ...], str]:
    part = evidence.log.part(evidence.name)
    rows = {str(row["level"]): row for row in (part.levels if part else ())}
    amplified = {level: _real(row.get("write_amplification")) for level, row in rows.items()}
    if evidence.log.events.accounted(evidence.name):
        files, sizes = Counter[int](), Counter[int]()
        for table in evidence.log.events.live.values():
            if table.family == evidence.name:
                files[table.level] += 1
                sizes[table.level] += table.size
        where = "LOG: live tables at its end; W-Amp of the last dump"
        told = ((level, files[level], sizes[level]) for level in sorted(files))
    else:
        where = "LOG: compaction table of the last dump"
        known = {n: row for n, row in rows.items() if n[1:].isdigit() and "size_mib" in row}
        told = (
            (int(n[1:]), int(_real(row["files"]) or 0), round((_real(row["size_mib"]) or 0) * MIB))
            for n, row in known.items()
        )
    return tuple(Level(n, f, b, amplified.get(f"L{n}")) for n, f, b in told), where


def _real(cell: Cell) -> float | None:
    return float(cell) if isinstance(cell, int | float) else None


def _work(evidence: Evidence, whole: FamilyEvents) -> Iterator[Figures]:
    log = evidence.log
    own, part = evidence.own, log.part(evidence.name)
    made = own.summed(FLUSH, COMPACTION) or whole.summed(FLUSH, COMPACTION)
    if made:
        where = f"LOG: {made['tables']} tables made by flushes and compactions"
        yield Figures({"table_bytes": made["file_size"] / made["tables"]}, where)
        yield Figures({"table_entries": made["num_entries"] / made["tables"]}, where)
    figures = part.figures if part else {}
    total = next((row for row in part.levels if row["level"] == "Sum"), {}) if part else {}
    read, dropped = count_of(total.get("keys_in")), count_of(total.get("keys_dropped"))
    if own.counts["read"]:
        read, kept = own.counts["read"], own.counts["kept"]
        fields = {"keys_in": read, "keys_dropped": max(0, read - kept)}
        yield Figures(fields, "LOG: its compaction events")
    elif read is not None and dropped is not None:
        fields = {"keys_in": round(read), "keys_dropped": round(dropped)}
        yield Figures(fields, "LOG: KeyIn and KeyDrop of the last dump, rounded by RocksDB")
    if own.counts["flushed"] or log.events.accounted(evidence.name):
        yield Figures({"flushed_bytes": own.counts["flushed"]}, "LOG: tables made by flushes")
    elif "total_flush_gib" in figures:
        flushed = {"flushed_bytes": round(float(figures["total_flush_gib"]) * GIB)}
        yield Figures(flushed, "LOG: Flush(GB) of the last dump")
    made_bytes: float = log.until_dump(evidence.name)["made"]
    where = "LOG: bytes of the tables made"
    names = ("flush.write.bytes", "compact.write.bytes")
    came_in = (evidence.came_in or 0.0) * evidence.later
    if evidence.later > 1:
        made_bytes = own.counts["made"]
    elif evidence.alone and all(name in evidence.log.tickers for name in names):
        made_bytes = sum(evidence.log.tickers[name] for name in names)
        where = "LOG: rocksdb.flush.write.bytes and compact.write.bytes"
    elif not made_bytes and "total_compaction_write_gib" in figures:
        made_bytes = float(figures["total_compaction_write_gib"]) * GIB
        where = "LOG: Cumulative compaction of the last dump"
    if made_bytes and came_in:
        fields_of = {"waf": made_bytes / came_in}
        yield Figures(fields_of, f"{where} / bytes written by the application", "estimated")
    else:
        yield Figures(unknown={"waf": STATISTICS})
