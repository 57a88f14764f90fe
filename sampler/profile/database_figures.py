"""The figures of a whole database, from its LOG: rates, stalls, batches, latencies, mix.

Tickers and dumps count all column families together; what came in of each is told apart by the
memtables that were flushed.
"""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from statistics import median
from typing import Any

from sampler.profile.log_events import FamilyEvents, LogEvents, Opened
from sampler.profile.profile import Source, Sure
from sampler.stats_dumps.figure_lines import count_of
from sampler.stats_dumps.opening import Opening
from sampler.stats_dumps.parts import Part

GIB, MIB = 2**30, 2**20
_LEAST_GIB = 0.1  # that came in; a dump, which tells it to 0.01, says too little of less
_ROUNDING_GIB = 0.0055
READS = {"get": "number.keys.read", "seek": "number.db.seek", "multiget": "number.multiget.get"}
_KINDS = ("get", "write", "seek", "multiget")


@dataclass(frozen=True)
class LogEvidence:
    """What was read of a database's LOGs, and the opening that operations are counted in."""

    events: LogEvents
    opened: Opened
    dump: Opening | None  # what dumps tell of that opening

    @property
    def tickers(self) -> Mapping[str, int]:
        """The last ones, without ``rocksdb.``; empty without statistics."""
        found = self.dump.tickers if self.dump and not self._of_others_too() else {}
        return {name.removeprefix("rocksdb."): count for name, count in found.items()}

    def _of_others_too(self) -> bool:
        """Whether tickers also count earlier openings, or other databases, of the process."""
        came = self.dump.intervals[-1].ingested_gb if self.dump else None
        counted = self.dump.tickers.get("rocksdb.bytes.written") if self.dump else None
        if came is None or counted is None:
            return False
        return abs(counted / GIB - came) > _ROUNDING_GIB + 0.001 * came

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
        if last is None or last.ingested_gb is None:
            return None
        if last.ingested_gb >= _LEAST_GIB or last.cumulative_writes is None:
            return last.ingested_gb * GIB
        return last.cumulative_writes * MIB * last.at


def written_keys(log: LogEvidence, families: Sequence[str]) -> dict[str, float]:
    """Keys that were written to each family until the last dump, as far as that is told."""
    flushed = {name: log.until_dump(name)["written"] for name in families}
    used = [name for name in families if log.used(name)] or list(families)
    whole = sum(flushed.values())
    keys = log.tickers.get("number.keys.written")
    if keys is None:  # the count of a dump is rounded
        keys = max(whole, int(log.count("total_keys_count") or 0)) if len(used) == 1 else whole
    if not whole:
        return {used[0]: float(keys)} if len(used) == 1 and (keys or log.dump) else {}
    return {name: keys * count / whole for name, count in flushed.items()}


def written_bytes(
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


Told = Iterator[tuple[str, Any, str, Sure]]  # field of the profile, value, source


def database_figures(log: LogEvidence) -> tuple[dict[str, Any], dict[str, Source]]:
    """Fields of a ``DatabaseProfile`` and their sources; what is not told is left out."""
    told = [*_writes(log), *_rates(log), *_latency(log)]
    return {n: v for n, v, _, _ in told}, {n: Source(where, sure) for n, _, where, sure in told}


def _writes(log: LogEvidence) -> Told:
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
        yield "batch_size", max(1.0, keys / calls), f"{where}; keys written / calls", sure
    logged: float | None = tickers.get("write.wal")
    synced: float | None = tickers.get("wal.synced")
    where = "LOG: tickers rocksdb.wal.synced / write.wal"
    if logged is None or synced is None:
        logged, synced = log.count("total_wal_writes_count"), log.count("total_wal_syncs_count")
        where = "LOG: Cumulative WAL of the last dump, rounded by RocksDB"
    if logged is not None and keys:
        yield "wal", logged > 0, where, "counted"
    if logged and synced is not None:
        yield "sync_share", min(1.0, synced / logged), where, sure


def _rates(log: LogEvidence) -> Told:
    opened, dump = log.opened, log.dump
    if dump is None:
        if opened.begin and opened.end:
            yield "seconds", (opened.end - opened.begin) / 1e6, "LOG: event times", "estimated"
        return
    last = dump.intervals[-1]
    yield "seconds", last.at, "LOG: uptime at the last dump", "counted"
    ingested = log.ingested()
    if ingested is not None and last.at > 0:
        where = "LOG: bytes of write batches up to the last dump"
        yield "ingest_rate", ingested / last.at, where, "counted"
    usual = median(each.seconds for each in dump.intervals)
    rates = [each.writes for each in dump.intervals if each.seconds >= usual / 2 and each.writes]
    if rates:
        where = f"LOG: the busiest of {len(dump.intervals)} dumps, {usual:.4g} s apart"
        yield "ingest_peak", max(rates) * MIB, where, "counted"
    if last.cumulative_stall_percent is not None:
        where = "LOG: Cumulative stall of the last dump"
        yield "stall_percent", last.cumulative_stall_percent, where, "counted"


def _latency(log: LogEvidence) -> Told:
    found = {
        f"{kind}_{share.lower()}": histogram[share]
        for kind in _KINDS
        if (histogram := log.histogram(f"db.{kind}.micros"))
        for share in ("P50", "P99")
    }
    if found:
        yield "latency", found, "LOG: histograms of the last statistics dump", "estimated"
