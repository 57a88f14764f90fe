"""The figures of one column family, from the events of a LOG and its last dump of statistics."""

import math
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace

from sampler.profile.compressibility import compression
from sampler.profile.evidence import (
    BATCH_HEADER,
    GIB,
    MIB,
    SILENT,
    STATISTICS,
    TRACE,
    Evidence,
    Figures,
    LogEvidence,
    gathered,
)
from sampler.profile.family_events import (
    COMPACTION,
    FLUSH,
    KEY_TRAILER,
    FamilyEvents,
    Writes,
    overwrites,
    value_bytes,
)
from sampler.profile.profile import (
    FamilyProfile,
    Level,
    Sure,
    Unknown,
    ValueSize,
)
from sampler.rocksdb.figure_lines import Cell, count_of

_OLDER = f"keep all LOG.old files (keep_log_file_num) and profile the folder; or {TRACE}"
_BATCH_BYTES = BATCH_HEADER + 1 + 1  # of one put: header, type and length of the key
_USUAL_KEY = 16
_MUCH = 0.1  # of what was written, in memory
_LEAST_TABLES = 5  # whose means tell how much values differ, to about a third
_DROPPED = "compaction.key.drop."
_MOST_HIDDEN = 0.3  # of the entries that were flushed, by recoveries
_NEARLY_ALL = 0.95
_ONE_RUN = 0.9  # of the entries of a tree, in its largest sorted run


def family_profile(evidence: Evidence) -> tuple[FamilyProfile, tuple[Unknown, ...]]:
    """The profile of a family, and what is not known of it."""
    whole = evidence.log.events.of_all_openings(evidence.name)
    own = evidence.log.opened.families.get(evidence.name, whole)
    written = own if own.summed(FLUSH) else whole
    sizes = list(_sizes(evidence, written))
    fields_of_sizes, _ = gathered(sizes)
    values = fields_of_sizes.get("value_size", ValueSize())
    in_memory = _in_memory(evidence, values, fields_of_sizes.get("key_size"))
    keys = _keys(evidence, whole, in_memory)
    levels, where = _levels(evidence)
    found = [
        *sizes,
        *compression(evidence, written, values, keys.fields),
        keys,
        *_operations(evidence, in_memory),
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
    doubted = {name: value for each in found for name, value in each.doubted.items()}
    family = FamilyProfile(name=evidence.name, **fields, sources=sources, doubted=doubted)
    return family, tuple(unknown)


def _of_family(what: str, name: str) -> str:
    return f"{what} of column family {name!r}"


def compression_of(name: str) -> str:
    """What an ``Unknown`` calls the compressibility of a family's values."""
    return _of_family("compression_ratio", name)


def _sizes(evidence: Evidence, whole: FamilyEvents) -> Iterator[Figures]:
    """Of the tables of flushes, which hold what came in; compactions leave out what is hidden."""
    kind = FLUSH if whole.summed(FLUSH) else COMPACTION
    total = whole.summed(kind)
    if not total and evidence.pair is not None:
        where = f"LOG: {evidence.pair:.0f} B of key and value, by the bytes of batches that are "
        where += f"not of other families; of them a key of {_USUAL_KEY} B"
        sizes = ValueSize(max(0.0, evidence.pair - _USUAL_KEY))
        yield Figures({"value_size": sizes}, where, "assumed", {"key size": SILENT})
        return
    if not total:
        yield Figures(
            unknown={"key and value size": _OLDER if evidence.silent is None else SILENT}
        )
        return
    where = f"LOG: {total['tables']} tables made by {kind}"
    key_size = total["raw_key_size"] / total["num_entries"] - KEY_TRAILER
    yield Figures({"key_size": key_size}, where)
    with_value = total["num_entries"] - total["num_deletions"]
    if whole.counts["blobs"] and not whole.counts["valued"]:
        yield Figures(unknown={"value size": f"values are in blob files: {TRACE}"})
        return
    if with_value <= 0:
        return
    if whole.counts["blobs"]:  # tables hold their places
        yield _sizes_of_blobs(whole)
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


def _sizes_of_blobs(whole: FamilyEvents) -> Figures:
    """Of values as they came into memtables: blob files hold them compressed."""
    mean = whole.counts["values"] / whole.counts["valued"]
    where = f"LOG: bytes and entries of {whole.counts['memtables']} flushed memtables"
    if len(whole.ingested_means) == 1:
        mean = next(iter(whole.ingested_means))
        where += "; their means are equal, so values have one size"
        return Figures({"value_size": ValueSize(mean, mean, mean, 0.0)}, where, "estimated")
    unknown = {"median and 99th percentile of the value size": TRACE}
    return Figures({"value_size": ValueSize(mean)}, where, "estimated", unknown=unknown)


def _hidden(evidence: Evidence, whole: FamilyEvents) -> str | None:
    """Why the entries that RocksDB dropped do not tell overwrites; None where they do."""
    events, name, counts = evidence.log.events, evidence.name, whole.counts
    tickers = evidence.log.tickers
    if counts["lost_writes"] or counts["lost_records"]:
        return f"{'; '.join(events.unknown.words())}: {TRACE}"
    if events.hidden[name] > _MOST_HIDDEN * counts["written"]:
        return f"a recovery does not tell what it dropped of the WAL: {TRACE}"
    if events.deleted_whole[name]:
        return f"tables were deleted whole (FIFO, DeleteFilesInRange): {TRACE}"
    if counts["ranges"]:
        return f"range deletes may have dropped entries: {TRACE}"
    told = f"{_DROPPED}user" in tickers
    if evidence.filtered and not (told and evidence.alone):
        return f"a compaction filter drops entries: {STATISTICS if evidence.alone else TRACE}"
    others = sum(tickers.get(f"{_DROPPED}{why}", 0) for why in ("user", "range_del"))
    if others and not evidence.alone and evidence.filtered is not False:
        return f"tickers add up what is dropped of all column families: {TRACE}"
    return None


def _keys(evidence: Evidence, whole: FamilyEvents, in_memory: Writes) -> Figures:
    events, name = evidence.log.events, evidence.name
    why = _hidden(evidence, whole)
    if why:
        return replace(_kept_keys(evidence, why), doubted=_as_if_drawn(evidence))
    if evidence.silent is not None:
        count = evidence.silent if evidence.written is None else evidence.written
        most = "at most " if evidence.written is None else "about "
        why = f"all of it is in memory, {most}{count:,.0f} writes; {SILENT}"
        return Figures(unknown={"entries": why, "overwrite_share": why})
    if events.accounted(name):
        history = events.history(name, evidence.log.opened)
        removed = evidence.log.tickers.get(f"{_DROPPED}user", 0) if evidence.alone else 0
        found = overwrites(
            history, events.merges[name], events.held(name), events.new(name), removed,
            [] if evidence.later > 1 else [in_memory],
        )  # fmt: skip
        if found.live_keys is None:
            why = f"nothing tells which keys deletes, single deletes or expiry removed: {TRACE}"
            return _kept_keys(evidence, why)
        where = "LOG: entries dropped by flushes and compactions, if keys are drawn uniformly"
        if any(each.deletes for each in history):
            where += "; deletes are assumed to be drawn like puts"
        if removed:
            where += "; without those of rocksdb.compaction.key.drop.user"
        shares = {"overwrite_share": found.share, "rewrite_share": found.with_merges}
        told = {name: share for name, share in shares.items() if share is not None}
        told |= {"entries": round(found.live_keys), "removed": removed}
        return Figures(told, where, "estimated")
    unknown = {"overwrite_share": f"some tables are older than the LOG: {_OLDER}"}
    counts = whole.counts
    met = counts["written"] - counts["deleted"] - whole.summed(FLUSH)["num_entries"]
    if not counts["deleted"] and met > _NEARLY_ALL * counts["written"] > 0:
        # As many were overwritten within a memtable; more were in the tables.
        share = (1 + met / counts["written"]) / 2
        where = "LOG: entries that flushes dropped; at most as many again as they kept"
        return Figures(
            {"overwrite_share": share, "rewrite_share": share}, where, "estimated",
            {"entries": _OLDER},
        )  # fmt: skip
    made = whole.summed(FLUSH, COMPACTION)
    size = sum(level.bytes for level in _levels(evidence)[0])
    if not size or not made["file_size"]:
        return Figures(unknown={"entries": _OLDER, **unknown})
    where = "LOG: bytes of the levels / bytes per entry in the tables made"
    fields = {"entries": round(size * made["num_entries"] / made["file_size"])}
    return Figures(fields, where, "estimated", unknown)


def _as_if_drawn(evidence: Evidence) -> dict[str, float]:
    """The share of overwrites if all that RocksDB dropped had been overwritten."""
    events, name = evidence.log.events, evidence.name
    if not events.accounted(name):
        return {}
    history = events.history(name, evidence.log.opened)
    found = overwrites(history, events.merges[name], events.held(name), events.new(name), 0)
    return {} if found.share is None else {"overwrite_share": found.share}


def _kept_keys(evidence: Evidence, why: str) -> Figures:
    """Live keys of a family whose overwrites are not known: those of a tree of one large run."""
    events, name = evidence.log.events, evidence.name
    held, unknown = events.held(name), {"overwrite_share": why}
    counts = events.of_all_openings(name).counts
    least = held.all if counts["deleted"] else _ONE_RUN * held.all  # others may hide its keys
    if events.accounted(name) and not counts["ranges"] and held.largest >= least > 0:
        where = "LOG: entries with values in the largest sorted run of the tree"
        return Figures({"entries": held.largest}, where, "estimated", unknown)
    return Figures(unknown={"entries": why, **unknown})


def _in_memory(evidence: Evidence, values: ValueSize, key: float | None) -> Writes:
    """What was written and not flushed, at the last dump; range deletes are deletes.

    Its mix is that of the memtable that is flushed next, else of the last one; where it is much,
    the bytes of all batches tell it.
    """
    written, counts = evidence.written, evidence.log.until_dump(evidence.name)
    if written is None:
        return Writes(0, 0)
    left = max(0.0, written - counts["written"])
    memtable = evidence.own.in_memory(counts)
    more = left / max(1, memtable.entries)
    deletes = more * (memtable.deletes + memtable.ranges)
    by_bytes = _puts_by_bytes(evidence, values, key)
    if by_bytes is not None and left > _MUCH * written:
        deletes = written - by_bytes - counts["deleted"] - counts["ranges"]
        deletes = min(left, max(0.0, deletes))
    return Writes(left - deletes, deletes, more * memtable.merges)


def _puts_by_bytes(evidence: Evidence, values: ValueSize, key: float | None) -> float | None:
    """Puts until the last dump, by the bytes of all batches: a delete has no value.

    None where the database has several families, or no statistics.
    """
    tickers, names = evidence.log.tickers, ("bytes.written", "number.keys.written", "write.self")
    if not evidence.alone or values.mean is None or key is None:
        return None
    if not all(name in tickers for name in names):
        return None
    size, keys, calls = (float(tickers[name]) for name in names)
    calls += tickers.get("write.other", 0)
    of_value = values.mean + (2 if values.mean > 127 else 1)  # with its length, as of keys
    left = size - BATCH_HEADER * calls - keys * (2 + key)
    return max(0.0, min(keys, left / of_value)) if of_value else None


def _operations(evidence: Evidence, in_memory: Writes) -> Iterator[Figures]:
    log, written, own = evidence.log, evidence.written, evidence.own
    if own.counts["lost_writes"]:
        words = "; ".join(log.events.unknown.words())
        yield Figures(unknown={"operations": f"{words}: {TRACE}"})
        return
    if written is None:
        yield Figures(unknown={"operations": STATISTICS if evidence.silent is None else SILENT})
        return
    counts = log.until_dump(evidence.name)
    deletes = counts["deleted"] + counts["ranges"] + in_memory.deletes
    merged = counts["merged"] + in_memory.merges
    puts = max(0.0, written - deletes)
    merges = min(puts, merged)
    did = {"put": puts - merges, "delete": deletes, "merge": merges}
    where, unknown = "LOG: entries of flushed memtables", {}
    if evidence.silent is not None:
        where = "LOG: rocksdb.number.keys.written, less what sequence numbers of flushes tell of "
        where += "the other families; all taken for puts"
    elif log.tickers:
        where = f"LOG: rocksdb.number.keys.written, split by {where[5:]}"
    if not log.reads():
        unknown = {"gets, seeks and multigets": STATISTICS}
    elif evidence.alone:
        did |= log.reads()
        where += "; reads from tickers"
    exact = bool(log.tickers) or written <= counts["written"]
    sure: Sure = "counted" if evidence.alone and exact and not deletes + merges else "estimated"
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
    if own.counts["lost_bytes"]:
        words = f"{'; '.join(log.events.unknown.words())}: {TRACE}"
        yield Figures(unknown={"waf": words, "flushed bytes": words})
        return
    if own.counts["flushed"] or log.events.accounted(evidence.name):
        yield Figures({"flushed_bytes": own.counts["flushed"]}, "LOG: tables made by flushes")
    elif "total_flush_gib" in figures:
        flushed = {"flushed_bytes": round(float(figures["total_flush_gib"]) * GIB)}
        yield Figures(flushed, "LOG: Flush(GB) of the last dump")
    made_bytes: float = log.until_dump(evidence.name)["made"]
    where = f"LOG: bytes of the tables {'and blob files ' if own.counts['blobs'] else ''}made"
    names = ("flush.write.bytes", "compact.write.bytes")
    came_in = (evidence.came_in or 0.0) * evidence.later
    if evidence.later > 1:
        made_bytes = own.counts["made"]
    elif evidence.alone and all(name in evidence.log.tickers for name in names):
        counted = sum(evidence.log.tickers[name] for name in names)
        if counted > made_bytes or not own.counts["blobs"]:
            made_bytes = counted
            where = "LOG: rocksdb.flush.write.bytes and compact.write.bytes"
    elif not made_bytes and "total_compaction_write_gib" in figures:
        made_bytes = float(figures["total_compaction_write_gib"]) * GIB
        where = "LOG: Cumulative compaction of the last dump"
    if made_bytes and came_in:
        fields_of = {"waf": made_bytes / came_in}
        yield Figures(fields_of, f"{where} / bytes written by the application", "estimated")
    else:
        yield Figures(unknown={"waf": STATISTICS if evidence.silent is None else SILENT})
