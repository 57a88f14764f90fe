"""The database under the load, by way of rocksdict. Nothing else here knows the binding."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Self

import psutil

from jobs.autotune.request import WriteCounts
from sampler.bench.output import parse_tickers
from sampler.common.errors import InputError

if TYPE_CHECKING:
    from rocksdict import Rdict

_LEVEL = re.compile(r"^\s*(\d+)\s+(\d+)\s+(\d+)\s*$", re.MULTILINE)
_UNLIMITED = 2**30  # of triggers: PrepareAutoTunedCompactions, figure 3.18
_MIB = 2**20
FLUSH_THREADS, COMPACTION_THREADS, SUBCOMPACTIONS = 4, 2, 2  # sections 3.5.3 and 3.5.4
_WRITE_BUFFERS = 6  # section 3.5.5
_BLOCK_CACHE = 8 * _MIB  # db_bench's of 2018
_FILTER_BITS = 10  # section 4.4


@dataclass(frozen=True)
class LevelFiles:
    """Its number, files, and MiB, which is how finely RocksDB tells it."""

    number: int
    files: int
    mib: int


class TunedDatabase:
    """An open database. For one thread: the binding holds Python's lock while a write stalls."""

    def __init__(
        self,
        folder: Path,
        *,
        factor: float,
        compacting: bool = True,
        lifted: bool = False,
        filters: bool = True,
        rate_limit: float = 0.0,
        direct_reads: bool = False,
    ) -> None:
        """Opens the database of a folder, or makes it.

        All sizes of the tree are RocksDB's defaults times the factor. Compaction is on at the
        beginning or not, and all background writes keep to so many bytes/s (0: no limit).
        ``lifted``: writes are never held back for what compaction has not done. ``filters``: bloom
        filters are written, and used by reads, which may go past the page cache.

        Raises:
            InputError: The binding is not installed, or the file system refuses direct reads.
        """
        binding = _binding()
        options = binding.Options(raw_mode=True)
        options.create_if_missing(True)
        options.enable_statistics()
        options.set_compression_type(binding.DBCompressionType.none())
        options.set_write_buffer_size(_sized(64, factor))
        options.set_max_write_buffer_number(_WRITE_BUFFERS)
        options.set_target_file_size_base(_sized(64, factor))
        options.set_max_bytes_for_level_base(_sized(256, factor))
        options.set_level_compaction_dynamic_level_bytes(False)  # as in 2018
        options.set_max_subcompactions(SUBCOMPACTIONS)
        # RocksDB makes a quarter of the jobs flushes.
        options.set_max_background_jobs(4 * FLUSH_THREADS)
        options.set_disable_auto_compactions(not compacting)
        if lifted:
            options.set_level_zero_slowdown_writes_trigger(_UNLIMITED)
            options.set_level_zero_stop_writes_trigger(_UNLIMITED)
        soft, hard = (0, 0) if lifted else (64 * 1024, 256 * 1024)
        options.set_soft_pending_compaction_bytes_limit(_sized(soft, factor))
        options.set_hard_pending_compaction_bytes_limit(_sized(hard, factor))
        if rate_limit:
            options.set_ratelimiter(int(rate_limit), 100_000, 10)
        table = binding.BlockBasedOptions()
        table.set_block_cache(binding.Cache(_BLOCK_CACHE))
        if filters:
            table.set_bloom_filter(_FILTER_BITS, False)
        options.set_block_based_table_factory(table)
        options.set_use_direct_reads(direct_reads)
        try:
            # Without the family named the binding takes its options of the last opening.
            families = {"default": options} if (folder / "CURRENT").exists() else None
            self._db: Rdict = binding.Rdict(str(folder), options, families)
        except Exception as error:  # the binding raises nothing narrower
            if direct_reads and "irect I/O" in str(error):
                mend = "this file system does not support direct reads; turn `direct_reads` off"
                raise InputError("direct_reads", mend) from None
            raise
        # Opening makes the pools as large as max_background_jobs allows.
        environment = binding.Env()
        environment.set_high_priority_background_threads(FLUSH_THREADS)
        environment.set_low_priority_background_threads(COMPACTION_THREADS)
        self._options, self._wrote_before = options, _written()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._db.close()

    def put(self, key: bytes, value: bytes) -> None:
        """Writes a pair; it may stall."""
        self._db.put(key, value)

    def get(self, key: bytes) -> bytes | None:
        """Reads a value; None if there is none."""
        value: bytes | None = self._db.get(key)
        return value

    def compact(self, on: bool) -> None:
        """Lets compactions begin, or not; those that run go on."""
        self._db.set_options({"disable_auto_compactions": "false" if on else "true"})

    def flush(self) -> None:
        """Writes what is in memory, and waits for it."""
        self._db.flush(True)

    def tickers(self) -> Mapping[str, int]:
        """RocksDB's counters since the opening, without ``rocksdb.``."""
        # db_bench prints a new line after every counter.
        return parse_tickers(f"{self._options.get_statistics() or ''}\n")

    def reading(self, at: float) -> WriteCounts:
        """What flushes and compactions wrote by now.

        RocksDB counts a compaction's bytes every 1,000 records (compaction_job.cc), which is late
        where values are large. So all that the process wrote is taken, less the write-ahead log.
        Where the kernel does not count, the tickers serve.
        """
        tickers = self.tickers()
        flushed = tickers.get("flush.write.bytes", 0)
        counted = flushed + tickers.get("compact.write.bytes", 0)
        written = _written()
        if written is not None and self._wrote_before is not None:
            beside = written - self._wrote_before - tickers.get("wal.bytes", 0)
            counted = max(beside, flushed)
        return WriteCounts(at, flushed, counted)

    def busy(self) -> bool:
        """Whether a flush or a compaction runs or waits to run."""
        names = ("num-running-compactions", "num-running-flushes", "compaction-pending",
                 "mem-table-flush-pending")  # fmt: skip
        return any(self._db.property_int_value(f"rocksdb.{name}") for name in names)

    def levels(self) -> list[LevelFiles]:
        """All levels, the first first."""
        text = self._db.property_value("rocksdb.levelstats") or ""
        return [LevelFiles(*map(int, found)) for found in _LEVEL.findall(text)]

    def live_bytes(self) -> int:
        """Bytes of the table files of the current version."""
        return int(self._db.property_int_value("rocksdb.live-sst-files-size") or 0)


def rocksdb_version(folder: Path) -> str | None:
    """The version that a database's LOG names; None if it does not."""
    try:
        with (folder / "LOG").open(encoding="utf-8", errors="replace") as log:
            found = re.search(r"RocksDB version: ([\d.]+)", log.read(4096))
    except OSError:
        return None
    return found.group(1) if found else None


def _sized(mib: int, factor: float) -> int:
    """A size of the tree; RocksDB refuses write buffers below 64 KiB."""
    return max(int(mib * _MIB * factor), 64 * 1024) if mib else 0


def _written() -> int | None:
    """Bytes that the process handed to the kernel by now; None where the kernel does not count."""
    try:
        return int(psutil.Process().io_counters().write_chars)
    except (psutil.Error, OSError, RuntimeError):
        return None


def _binding() -> ModuleType:
    try:
        import rocksdict
    except ImportError:
        mend = "`make tuner`, or install 'rocktune[tuner]'"
        raise InputError(
            "rocktune autotune", f"needs a Python binding of RocksDB: {mend}"
        ) from None
    return rocksdict
