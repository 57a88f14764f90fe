"""The lines of a dump that hold figures, of every version, as figures by name.

Names end in their unit: ``_gib`` and ``_mib`` are 2**30 and 2**20 bytes, which RocksDB calls GB
and MB; ``_count`` is as the file has it, exact below 10,000 and cut to ``24K`` above
(util/string_util.cc, NumberToHumanString). ``total_`` counts from the opening, ``interval_`` from
the dump before.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping

Figures = Mapping[str, float | int | str]

_GB, _MB = r"(-?\d{1,9}\.\d{1,9})", r"(\d{1,9}\.\d{1,9})"
_SPAN = {"Cumulative": "total", "Interval": "interval", "cumulative": "total"}
_WRITES = re.compile(
    rf"(Cumulative|Interval) writes: (\w{{1,20}}) writes, (?:(\w{{1,20}}) keys, )?"
    rf"(\w{{1,20}}) (?:commit groups|batches), .*?"
    rf"(?:ingest: {_MB} ([GM]B), {_MB} MB/s|{_MB} ([GM]B) user ingest)"
    rf"(?:, stall micros: (\d{{1,18}}))?"
)
_WAL = re.compile(
    rf"(Cumulative|Interval) WAL: (\w{{1,20}}) writes, (\w{{1,20}}) syncs, "
    rf".*?(?:written: {_MB} [GM]B, {_MB} MB/s|{_MB} [GM]B written)"
)
_COMPACTION = re.compile(
    rf"(Cumulative|Interval) compaction: {_GB} GB write, {_MB} MB/s write, "
    rf"{_GB} GB read, {_MB} MB/s read(?:, {_MB} seconds)?"
)
_STALL = re.compile(
    rf"(Cumulative|Interval) stall: (?:(\d{{1,9}}):(\d{{1,2}}):(\d{{1,2}}\.\d{{1,6}}) H:M:S)?"
    rf".*?, {_MB} percent"
)
_FLUSH = re.compile(rf"Flush\(GB\): (?:ac)?cumulative {_MB}, interval {_MB}")
_ADDED = re.compile(
    r"AddFile\((GB|Total Files|L0 Files|Keys)\): cumulative (\d{1,18}(?:\.\d{1,9})?), "
    r"interval (\d{1,18}(?:\.\d{1,9})?)"
)
_PENDING = re.compile(r"Estimated pending compaction bytes: (\d{1,20})")
_BLOBS = re.compile(
    rf"Blob file count: (\d{{1,18}}), total size: {_MB} GB"
    rf"(?:, garbage size: {_MB} GB, space amp: {_MB})?"
)
# RocksDB 2.x and 3.0.
_OLD_WRITES = re.compile(
    rf"Writes (cumulative|interval): (\d{{1,18}}) total, (\d{{1,18}}) batches, "
    rf".*?{_MB} ingest ([GM]B)"
)
_OLD_WAL = re.compile(
    rf"WAL (cumulative|interval): (\d{{1,18}}) WAL writes, (\d{{1,18}}) WAL syncs, "
    rf".*?{_MB} [GM]B written"
)
_OLD_COMPACTION = re.compile(
    rf"Compaction IO (cumulative|interval) \((GB|MB|MB/sec)\): "
    rf"{_GB} new, {_GB} read, {_GB} write"
)
_STALL_SECONDS = re.compile(r"(\d{1,9}\.\d{1,6}) \w+")

_ADDED_NAMES = {
    "GB": "added_files_gib",
    "Total Files": "added_files",
    "L0 Files": "added_files_l0",
    "Keys": "added_keys",
}
# What the line holds, how it is read, and whether it is of the database (else of a family).
_Reader = Callable[["re.Match[str]"], dict[str, float | int | str]]


def _writes(found: re.Match[str]) -> dict[str, float | int | str]:
    span, writes, keys, groups, size, unit, rate, old_size, old_unit, micros = found.groups()
    span = _SPAN[span]
    told = {"writes_count": writes, "keys_count": keys, "commit_groups_count": groups}
    figures: dict[str, float | int | str] = {
        f"{span}_{name}": count for name, count in told.items() if count is not None
    }
    figures |= _size(f"{span}_ingest", size or old_size, unit or old_unit)
    if rate is not None:
        figures[f"{span}_ingest_mib_s"] = float(rate)
    if micros is not None:
        figures[f"{span}_stall_seconds"] = int(micros) / 1e6
    return figures


def _size(name: str, amount: str, unit: str) -> dict[str, float]:
    """A size under the unit that the span has in all newer versions: GiB totals, MiB intervals."""
    wanted = "GB" if name.startswith("total") else "MB"
    value = float(amount)
    if unit != wanted:
        value = value / 1024 if wanted == "GB" else value * 1024
    return {f"{name}_{'gib' if wanted == 'GB' else 'mib'}": value}


def _wal(found: re.Match[str]) -> dict[str, float | int | str]:
    span, writes, syncs, size, rate, old_size = found.groups()
    name = _SPAN[span]
    figures: dict[str, float | int | str] = {
        f"{name}_wal_writes_count": writes,
        f"{name}_wal_syncs_count": syncs,
    }
    # The interval's size is divided by 2**30 and called MB up to 7.x: only its rate is right.
    if name == "total":
        figures["total_wal_gib"] = float(size or old_size)
    if rate is not None:
        figures[f"{name}_wal_mib_s"] = float(rate)
    return figures


def _compaction(found: re.Match[str]) -> dict[str, float | int | str]:
    span, *told = found.groups()
    names = ("write_gib", "write_mib_s", "read_gib", "read_mib_s", "seconds")
    return {
        f"{_SPAN[span]}_compaction_{name}": float(value)
        for name, value in zip(names, told, strict=True)
        if value is not None
    }


def _stall(found: re.Match[str]) -> dict[str, float | int | str]:
    span, hours, minutes, seconds, percent = found.groups()
    figures: dict[str, float | int | str] = {f"{_SPAN[span]}_stall_percent": float(percent)}
    if hours is not None:
        milliseconds = int(hours) * 3_600_000 + int(minutes) * 60_000 + float(seconds) * 1000
        figures[f"{_SPAN[span]}_stall_seconds"] = round(milliseconds) / 1000
    return figures


def _flush(found: re.Match[str]) -> dict[str, float | int | str]:
    return {
        "total_flush_gib": float(found[1]),
        "interval_flush_gib": float(found[2]),
    }


def _added(found: re.Match[str]) -> dict[str, float | int | str]:
    what, total, interval = found.groups()
    read: Callable[[str], float | int] = float if "." in total + interval else int
    name = _ADDED_NAMES[what]
    return {f"total_{name}": read(total), f"interval_{name}": read(interval)}


def _pending(found: re.Match[str]) -> dict[str, float | int | str]:
    return {"pending_compaction_bytes": int(found[1])}


def _blobs(found: re.Match[str]) -> dict[str, float | int | str]:
    names = ("blob_files", "blob_gib", "blob_garbage_gib", "blob_space_amplification")
    reads = (int, float, float, float)
    return {
        name: read(value)
        for name, read, value in zip(names, reads, found.groups(), strict=True)
        if value is not None
    }


def _old_writes(found: re.Match[str]) -> dict[str, float | int | str]:
    span, writes, groups, size, unit = found.groups()
    name = "total" if span == "cumulative" else span
    return {
        f"{name}_writes_count": writes,
        f"{name}_commit_groups_count": groups,
        **_size(f"{name}_ingest", size, unit),
    }


def _old_wal(found: re.Match[str]) -> dict[str, float | int | str]:
    span, writes, syncs, size = found.groups()
    name = "total" if span == "cumulative" else span
    figures: dict[str, float | int | str] = {
        f"{name}_wal_writes_count": writes,
        f"{name}_wal_syncs_count": syncs,
    }
    return figures | ({"total_wal_gib": float(size)} if name == "total" else {})


def _old_compaction(found: re.Match[str]) -> dict[str, float | int | str]:
    span, unit, _, read, write = found.groups()
    name = "total" if span == "cumulative" else span
    if unit == "MB/sec":
        return {
            f"{name}_compaction_write_mib_s": float(write),
            f"{name}_compaction_read_mib_s": float(read),
        }
    scale = 1.0 if unit == "GB" else 1 / 1024
    return {
        f"{name}_compaction_write_gib": float(write) * scale,
        f"{name}_compaction_read_gib": float(read) * scale,
    }


_READERS: tuple[tuple[str, re.Pattern[str], _Reader, bool], ...] = (
    (" writes: ", _WRITES, _writes, True),
    (" WAL: ", _WAL, _wal, True),
    (" stall: ", _STALL, _stall, True),
    (" compaction: ", _COMPACTION, _compaction, False),
    ("Flush(GB): ", _FLUSH, _flush, False),
    ("AddFile(", _ADDED, _added, False),
    ("Estimated pending compaction bytes: ", _PENDING, _pending, False),
    ("Blob file count: ", _BLOBS, _blobs, False),
    ("Writes ", _OLD_WRITES, _old_writes, True),
    ("WAL ", _OLD_WAL, _old_wal, True),
    ("Compaction IO ", _OLD_COMPACTION, _old_compaction, False),
)


def figures_in(line: str) -> tuple[Figures, bool] | None:
    """The figures of a line, and whether they are of the whole database; None for other lines."""
    for mark, pattern, reader, of_database in _READERS:
        if mark in line and (found := pattern.search(line)):
            return reader(found), of_database
    return None


def stall_seconds(line: str) -> float:
    """Seconds of all reasons together in a ``Stalls(secs):`` line (2.0 to 3.x)."""
    return sum(float(told) for told in _STALL_SECONDS.findall(line.partition("secs):")[2]))
