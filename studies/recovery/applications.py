"""Applications that count what they do: databases of a kind that db_bench does not make.

They write through rocksdict, a binding of RocksDB's C API: blob files, a TTL, range deletes, FIFO
compaction, several openings, and five families with loads of their own.
"""

from __future__ import annotations

import shutil
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import rocksdict

from sampler.bench.settings import Settings
from sampler.profile.compressibility import BINARY, values_source
from sampler.profile.reading import read_profile
from studies.recovery.making import STATISTICS, about_row, amplification, found_in
from studies.study import append_line, read_lines

TRUTH = "truth.json"  # what the application counted, kept beside the LOG
_MIB = 2**20
_BATCH = 50  # writes of a call
_LAST_DUMP = 7.0  # seconds: RocksDB dumps statistics each second, and writes its LOG out in five
_CODECS = {
    "none": rocksdict.DBCompressionType.none, "snappy": rocksdict.DBCompressionType.snappy,
    "lz4": rocksdict.DBCompressionType.lz4, "zstd": rocksdict.DBCompressionType.zstd,
}  # fmt: skip
Sizes = Callable[[np.random.Generator, int], "np.ndarray[Any, Any]"]


def one_size(size: int) -> Sizes:
    """Values of one size."""
    return lambda _, count: np.full(count, size)


@dataclass(frozen=True)
class Family:
    """What an application does with one column family, in each of its rounds."""

    keys: int  # that are drawn from; new ones each time where ``unique``
    puts: int
    sizes: Sizes
    unique: bool = False
    deletes: int = 0  # of keys that are drawn alike
    ranges: int = 0  # range deletes
    width: int = 0  # numbers of keys in a range
    gets: int = 0
    seeks: int = 0
    steps: int = 0  # after each seek
    key_size: int = 16
    compression_ratio: float = 0.5  # of values, as db_bench makes them
    codec: str = "lz4"
    buffer: int = 2 * _MIB
    blobs_from: int | None = None  # bytes of a value that goes to a blob file
    fifo: int | None = None  # bytes at which FIFO compaction drops the oldest table


@dataclass(frozen=True)
class Application:
    """Families that are written and read in turn, in rounds; the same in each opening."""

    name: str
    families: Mapping[str, Family]
    rounds: int = 20
    pause: float = 0.0  # seconds after each round
    openings: int = 1
    ttl: int | None = None  # seconds
    statistics: bool = True


@dataclass
class _Told:
    """What is counted of a family: in the last opening, but for what is there."""

    there: np.ndarray[Any, Any]  # by number of the key
    done: Counter[str] = field(default_factory=Counter)
    value_bytes: int = 0
    next: int = 0  # number of the next unique key
    at: int = 0  # where its next value begins in the source


def uneven(generator: np.random.Generator, count: int) -> np.ndarray[Any, Any]:
    """Sizes of a lognormal distribution, of 100 bytes on average."""
    drawn = generator.lognormal(np.log(100) - 0.5**2 / 2, 0.5, count)
    return np.clip(drawn.round(), 1, None).astype(int)


def _some_large(generator: np.random.Generator, count: int) -> np.ndarray[Any, Any]:
    """One value in ten of 8 KiB, the others of 100 bytes."""
    return np.where(generator.random(count) < 0.1, 8192, 100)


APPLICATIONS = (
    Application("app-uneven-values", {
        "default": Family(150_000, 20_000, uneven),
    }),
    Application("app-blobs", {
        "default": Family(8000, 700, one_size(8192), blobs_from=4096, buffer=256 << 10,
                          gets=300),
    }),
    Application("app-some-blobs", {
        "default": Family(60_000, 6000, _some_large, blobs_from=4096),
    }),
    Application("app-ttl", {
        "default": Family(0, 20_000, one_size(120), unique=True),
    }, pause=0.6, ttl=3),
    Application("app-range-deletes", {
        "default": Family(300_000, 20_000, one_size(120), ranges=1000, width=40),
    }),
    Application("app-range-deletes-few", {
        "default": Family(300_000, 20_000, one_size(200), ranges=20, width=500, deletes=2000),
    }),
    Application("app-few-flushes", {
        "default": Family(200_000, 15_000, one_size(150), deletes=5000, buffer=32 * _MIB),
    }),
    Application("app-fifo", {
        "default": Family(0, 20_000, one_size(200), unique=True, fifo=16 * _MIB),
    }),
    Application("app-reopened", {
        "default": Family(40_000, 6000, one_size(150), buffer=8 * _MIB),
    }, openings=3),
    Application("app-five-families", {
        "default": Family(500, 100, one_size(40), gets=80),
        "events": Family(0, 15_000, one_size(400), unique=True, key_size=18, codec="zstd",
                         compression_ratio=0.3, gets=800, seeks=80, steps=50),
        "index": Family(150_000, 7500, one_size(8), deletes=2500, gets=400, seeks=80),
        "counters": Family(6000, 12_000, one_size(32), gets=800),
        "blobs": Family(3000, 250, one_size(16384), deletes=40, blobs_from=1024, gets=150,
                        buffer=128 << 10),
    }),
)  # fmt: skip


def make_application(application: Application, work: Path) -> Path:
    """Runs an application unless its folder is there; returns the folder of LOG and OPTIONS.

    Beside them are what the application counted and RocksDB's own counters at its end.
    """
    kept = work / application.name
    if kept.exists():
        return kept
    work.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=work, prefix=".making-") as folder:
        made, database = Path(folder) / "made", Path(folder) / "new"
        made.mkdir()
        told: dict[str, _Told] = {}
        for seed in range(application.openings):
            left = Path(folder) / f"left-{seed}"
            counters = _opening(application, database, left, told, seed)
            database = left
        (made / STATISTICS).write_text(counters, encoding="utf-8")
        append_line(made / TRUTH, _truth(application, told))
        for path in [*database.glob("LOG*"), *database.glob("OPTIONS-*")]:
            shutil.copy2(path, made)
        made.rename(kept)
    return kept


def _opening(
    application: Application, database: Path, left: Path, told: dict[str, _Told], seed: int
) -> str:
    """Opens, does all rounds, waits for the last dump; returns RocksDB's counters.

    What is ``left`` is a copy from before the database is closed, as after a crash: closing would
    flush what is in memory.
    """
    names = application.families
    options = {name: _options(family, application) for name, family in names.items()}
    access = rocksdict.AccessType.read_write()
    if application.ttl:
        access = rocksdict.AccessType.with_ttl(application.ttl)
    db = rocksdict.Rdict(str(database), options["default"], options, access)
    generator = np.random.default_rng(seed)
    handles = {name: db.get_column_family_handle(name) for name in names}
    readers = {name: db.get_column_family(name) for name in names}
    sources = {name: _source(family) for name, family in names.items()}
    for name, family in names.items():
        before = told.setdefault(name, _Told(np.zeros(max(1, family.keys), bool)))
        before.done, before.value_bytes = Counter(), 0
    for _ in range(application.rounds):
        for name, family in names.items():
            writes = list(_writes(family, told[name], generator))
            for start in range(0, len(writes), _BATCH):
                batch = rocksdict.WriteBatch(raw_mode=True)
                for what, number, size in writes[start : start + _BATCH]:
                    key = _key(number, family.key_size)
                    if what == "put":
                        batch.put(key, _value(sources[name], told[name], size), handles[name])
                    elif what == "delete":
                        batch.delete(key, handles[name])
                    else:
                        end = _key(number + family.width, family.key_size)
                        batch.delete_range(key, end, handles[name])
                db.write(batch)
            _read(readers[name], family, told[name], generator)
        time.sleep(application.pause)
    time.sleep(_LAST_DUMP)
    counters = options["default"].get_statistics() if application.statistics else None
    shutil.copytree(database, left)
    readers.clear()
    db.close()
    shutil.rmtree(database)
    return counters or ""


def _options(family: Family, application: Application) -> rocksdict.Options:
    options = rocksdict.Options(raw_mode=True)
    options.create_if_missing(True)
    options.create_missing_column_families(True)
    options.set_stats_dump_period_sec(1)
    options.set_keep_log_file_num(10)
    options.set_compression_type(_CODECS[family.codec]())
    options.set_write_buffer_size(family.buffer)
    options.set_target_file_size_base(family.buffer)
    options.set_max_bytes_for_level_base(4 * family.buffer)
    if application.statistics:
        options.enable_statistics()
    if family.blobs_from is not None:
        options.set_enable_blob_files(True)
        options.set_min_blob_size(family.blobs_from)
        options.set_blob_compression_type(_CODECS[family.codec]())
        options.set_enable_blob_gc(True)
    if family.fifo is not None:
        options.set_compaction_style(rocksdict.DBCompactionStyle.fifo())
        fifo = rocksdict.FifoCompactOptions()
        fifo.max_table_files_size = family.fifo
        options.set_fifo_compaction_options(fifo)
    return options


def _writes(
    family: Family, told: _Told, generator: np.random.Generator
) -> Iterator[tuple[str, int, int]]:
    """The writes of a round in a drawn order: kind, number of the key, bytes of the value."""
    kinds = np.repeat(["put", "delete", "range"], [family.puts, family.deletes, family.ranges])
    generator.shuffle(kinds)
    sizes = iter(family.sizes(generator, family.puts))
    for kind in map(str, kinds):
        if family.unique:
            number, told.next = told.next, told.next + 1
        else:
            number = int(generator.integers(family.keys - family.width))
        size = 0
        if kind == "put":
            size = int(next(sizes))
            told.value_bytes += size
            told.done["overwrite"] += int(not family.unique and told.there[number])
        if not family.unique:
            told.there[number : number + (family.width if kind == "range" else 1)] = kind == "put"
        told.done["delete" if kind == "range" else kind] += 1
        yield kind, number, size


def _read(
    reader: rocksdict.Rdict, family: Family, told: _Told, generator: np.random.Generator
) -> None:
    """The reads of a round, of keys that are drawn from all that are or were there."""
    keys = told.next if family.unique else family.keys
    for number in generator.integers(keys, size=family.gets):
        told.done["found"] += reader.get(_key(int(number), family.key_size)) is not None
    for number in generator.integers(keys, size=family.seeks):
        iterator = reader.iter()
        iterator.seek(_key(int(number), family.key_size))
        for _ in range(family.steps):
            if not iterator.valid():
                break
            iterator.next()
            told.done["step"] += 1
    told.done.update(get=family.gets, seek=family.seeks)


def _value(source: bytes, told: _Told, size: int) -> bytes:
    """The next one, as db_bench's RandomGenerator takes it out of its source."""
    told.at = told.at if told.at + size <= len(source) else 0
    told.at += size
    return source[told.at - size : told.at]


def _key(number: int, size: int) -> bytes:
    return number.to_bytes(8, "big").ljust(size, b"0")


def _source(family: Family) -> bytes:
    return values_source(round(100 * family.compression_ratio), BINARY)  # as 9.10.0's db_bench


def _truth(application: Application, told: Mapping[str, _Told]) -> dict[str, Any]:
    """The figures of ``Figure`` by family, and the mix of the last opening's operations."""
    whole = sum((each.done for each in told.values()), Counter[str]())
    mix = {name: whole[name] for name in ("put", "delete", "get", "seek") if whole[name]}
    return {
        "mix": {name: count / sum(mix.values()) for name, count in mix.items()},
        "families": {
            name: _family_truth(application, family, told[name])
            for name, family in application.families.items()
        },
    }


def _family_truth(application: Application, family: Family, told: _Told) -> dict[str, Any]:
    stamp = 4 if application.ttl else 0  # bytes of time that RocksDB puts behind a value
    mean = told.value_bytes / told.done["put"]
    compressed = family.codec != "none" and mean > 100 * family.compression_ratio
    return {
        "key_size": family.key_size,
        "value_size": mean + stamp,
        "compression_ratio": family.compression_ratio if compressed else None,
        "overwrite_share": told.done["overwrite"] / told.done["put"],
    }


def recovered_application(
    application: Application, kept: Path, _settings: Settings
) -> list[dict[str, Any]]:
    """A row of what the application counted and what the profile of its LOG says."""
    (true,) = read_lines(kept / TRUTH)
    profile = read_profile(kept)
    about = {"rocksdb": profile.version, "families": list(application.families)}
    true = {**true, "waf": amplification(kept)}
    found = found_in(profile)
    return [{"kind": "log", **about_row(application, kept), **about, "true": true, "found": found}]
