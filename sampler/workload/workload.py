"""The load of a benchmark: operations, sizes, threads, settling, and its class."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Annotated, Any, Literal

from pydantic import (
    AfterValidator,
    BeforeValidator,
    ConfigDict,
    Field,
    PlainValidator,
    StrictStr,
)

from sampler.common.documents import Finite, Switch, Text, finite_number
from sampler.common.errors import InputError, noting, refuse_noted
from sampler.rocksdb.parameters import Value
from sampler.workload.db_bench_benchmarks import (
    BenchmarkRun,
    DbBenchBenchmark,
    Fill,
    Sizes,
    distinct_keys,
    fills_of,
    operations_of,
    run_of,
    threads_of,
    written_bytes,
)

# They count operations or series, or say how long one step of the sine lasts.
_GROW = ("reads", "writes", "deletes", "key_id_range", "sine_write_rate_interval_milliseconds")
# db_bench seeds the generator of each thread with --seed plus the thread's number. With the same
# seed readrandom would ask for the very keys that fillrandom wrote, in that order.
SEED_APART = 2**20
# Flags of the workload that say what keys and values are, and where: both processes need them.
SHARED = (
    "prefix_size", "keys_per_prefix", "prefix_same_as_start", "num_column_families",
    "num_hot_column_families", "column_family_distribution", "value_size_distribution_type",
    "value_size_min", "value_size_max",
)  # fmt: skip
Settle = Literal["wait", "flush", "none"]
# A fact of the load beside the parameters' values, where it has more than one.
COLUMN_FAMILIES = "num_column_families"
MOST_SECONDS = 1e7  # of a time limit
# How many operations db_bench counts for these depends on what it finds in the database, or on
# flags that are looked at nowhere else.
_UNCOUNTED = frozenset({
    "readseq", "readreverse", "readtocache", "readrandomfast", "readwhilescanning",
    "approximatesizerandom", "timeseries", "randomreplacekeys", "replay",
})  # fmt: skip
LoadClass = Literal["writing", "mixed", "reading", "scans"]
_SCANS = ("readseq", "readreverse", "multiscan", "multiscanrandom", "readwhilescanning")
# Of all operations that are measured: with more writes a load is a writing one, with fewer a
# reading one.
_MOSTLY, _HARDLY = 0.75, 0.1
MOST_COUNT = 2**63 - 1  # of db_bench's own numbers
_MOST_PACE = 1e9  # of a trace's speed, and of its seconds


def _one_name(text: str) -> str:
    if not text or "," in text or text != text.strip():
        raise InputError("", f"{text!r} is not the name of one benchmark")
    return text


def _some(names: tuple[str, ...]) -> tuple[str, ...]:
    if not names:
        raise InputError("", "write a list of at least one string")
    return names


def _flags(given: Any) -> tuple[tuple[str, Value], ...]:
    """A table of db_bench's flags, sorted by name."""
    if not isinstance(given, dict):
        raise InputError("", "write a table [flags] of flag = value")
    found: list[InputError] = []
    for name, value in given.items():
        with noting(found):
            if not name.isidentifier():
                raise InputError(name, "is not a flag name; leave out the dashes")
            if not isinstance(value, bool | int | float | str):
                raise InputError(name, "write a string, a number, true or false")
            if isinstance(value, int) and not -MOST_COUNT <= value <= MOST_COUNT:
                raise InputError(
                    name, f"is outside db_bench's range, {-MOST_COUNT} to {MOST_COUNT}"
                )
    refuse_noted(found)
    return tuple(sorted(given.items()))


def _pace(given: Any) -> int | float:
    """A number of a trace, from 0; a whole one stays whole."""
    number = finite_number(given)
    if number is None or not 0 <= number <= _MOST_PACE:
        problem = f"{given!r:.40} is not a number from 0 up to {_MOST_PACE:,.0f}"
        raise InputError("", problem)
    return given  # type: ignore[no-any-return]


def _path(given: Any) -> str:
    if not isinstance(given, str) or not given or "\0" in given:
        raise InputError("", "write the path of a file written by DB::StartTrace")
    return given


def _program(argv: tuple[str, ...]) -> tuple[str, ...]:
    if any("\0" in argument for argument in argv) or not argv[0]:
        raise InputError("", "has an empty program or a NUL character")
    return argv


Count = Annotated[int, Field(strict=True, ge=1, le=MOST_COUNT)]
Seconds = Annotated[Finite, Field(gt=0, lt=MOST_SECONDS)]
_Pace = Annotated[int | float, PlainValidator(_pace)]
_Names = Annotated[
    tuple[Annotated[StrictStr, AfterValidator(_one_name)], ...], AfterValidator(_some)
]
_Flags = Annotated[tuple[tuple[str, Value], ...], PlainValidator(_flags)]
_KNOWN = ConfigDict(extra="forbid")


def stretched(name: str, value: Value, times: float) -> Value:
    """A flag's value in a load so many times longer; db_bench's sine is a sin(b x + c) + d."""
    if isinstance(value, str | bool):
        return value
    if name == "sine_b":
        return value / times
    if name in _GROW and value > 0:  # below it is all that there is
        return max(1, round(value * times))
    return value


@dataclass(frozen=True, kw_only=True)
class Prepare:
    """Benchmarks that fill the database, in a db_bench process of their own.

    Keys, values and their compressibility are the workload's. It always ends flushed and with no
    compaction left, and it counts as time of the benchmark but not in the metrics.
    """

    __pydantic_config__ = _KNOWN

    # db_bench's benchmarks, run one after the other.
    benchmarks: Annotated[
        _Names, Field(description='a list with one that writes, such as ["fillrandom"]')
    ]
    num: Count  # size of the key space, and operations per thread of each benchmark
    threads: Count = 1  # client threads
    flags: _Flags = ()  # further db_bench flags, by name
    # Whether a database may be copied that was prepared under equal options before.
    share: Switch = True

    @property
    def runs(self) -> tuple[BenchmarkRun, ...]:
        """The benchmarks, as they are asked for."""
        return tuple(map(run_of, self.benchmarks))

    @property
    def writes(self) -> float:
        """Keys that all threads write or delete."""
        total, flags = 0, dict(self.flags)
        for run in self.runs:
            if run.benchmark.writes and not run.benchmark.beside:
                each = operations_of(run.benchmark, self.num, flags)
                total += run.times * each * threads_of(run.benchmark, self.threads)
        return float(total)

    @property
    def fills(self) -> list[Fill]:
        """The keys that it leaves behind."""
        return fills_of(self.runs, self.sizes())

    def sizes(self) -> Sizes:
        """What its process is told of sizes, but those of keys and values: the workload's."""
        return Sizes(num=self.num, threads=self.threads, flags=dict(self.flags))

    def at_size(self, times: float) -> Prepare:
        """The same with so many times the keys."""
        flags = tuple((name, stretched(name, value, times)) for name, value in self.flags)
        return replace(self, num=max(1, round(self.num * times)), flags=flags)


@dataclass(frozen=True, kw_only=True)
class Trace:
    """A trace that RocksDB wrote (``DB::StartTrace``), replayed by db_bench."""

    __pydantic_config__ = _KNOWN

    path: Annotated[str, PlainValidator(_path), Field(alias="trace")]
    # So many times as fast as it was recorded, if the database keeps up.
    fast_forward: _Pace = 1.0
    # The part that is replayed, in seconds since the trace began; without an end all of the rest.
    begin: Annotated[_Pace, Field(alias="trace_from")] = 0.0
    end: Annotated[_Pace | None, Field(alias="trace_until")] = None

    def __post_init__(self) -> None:
        """Refuses, with an InputError, a speed of 0 and a part without length."""
        if not self.fast_forward:
            raise InputError("fast_forward", "0 replays nothing; write a number above 0")
        if self.end is not None and self.end <= self.begin:
            raise InputError("trace_until", f"{self.end:g} is not after trace_from")


@dataclass(frozen=True, kw_only=True)
class Command:
    """A benchmark of the user's own, instead of db_bench."""

    __pydantic_config__ = _KNOWN

    argv: Annotated[
        tuple[StrictStr, ...],
        AfterValidator(_some),
        AfterValidator(_program),
        Field(description="a list of strings: the program and its arguments"),
    ]
    timeout_seconds: Seconds = 600.0


@dataclass(frozen=True, kw_only=True)
class Workload:
    """A load that is never tuned."""

    __pydantic_config__ = _KNOWN

    name: Text
    help: Annotated[str, BeforeValidator(str)] = ""
    # db_bench's benchmarks, run one after the other in one process.
    benchmarks: _Names = ("fillrandom",)
    # Those of them that ``rate`` and latencies are taken from.
    measured: _Names = ("fillrandom",)
    num: Count = 100_000  # size of the key space, and operations per thread of each benchmark
    key_size: Count = 16
    value_size: Count = 1024
    threads: Count = 1
    compression_ratio: Annotated[Finite, Field(gt=0, le=1)] = 0.5
    # What is paid before counting: ``wait`` flushes and waits until no compaction is left,
    # ``flush`` flushes, ``none`` stops where the load stops (as the paper did).
    settle: Settle = "wait"
    scale: Count = 64  # the divisor of byte-sized options while measuring
    # The application keeps only so much: FIFO compaction drops the oldest tables beyond it. At the
    # load's scale; 0: it keeps all.
    fifo_bytes: Count = 0
    seed: Count = 42
    flags: _Flags = ()  # further db_bench flags, by name
    timeout_seconds: Seconds = 600.0  # after it a trial is ``timed_out``
    command: Command | None = None  # the user's own benchmark; then the other fields are unused
    external: Switch = False  # the user's own runner measures, anywhere, and tells the service
    # What ``benchmarks = ["replay"]`` does. ``num`` is then about how many keys it writes.
    trace: Trace | None = None
    # What fills the database before, in a process of its own; None: nothing, the benchmarks begin
    # with an empty one.
    prepare: Prepare | None = None

    @property
    def by_db_bench(self) -> bool:
        """Whether db_bench runs it, and not something of the user's own."""
        return self.command is None and not self.external

    @cached_property
    def runs(self) -> tuple[BenchmarkRun, ...]:
        """The benchmarks, as they are asked for."""
        return tuple(map(run_of, self.benchmarks))

    @property
    def column_families(self) -> int:
        """Column families of the database, each with write buffers of its own."""
        return max(1, int(dict(self.flags).get(COLUMN_FAMILIES, 1)))

    @property
    def writes_nothing(self) -> bool:
        """Whether the measured process writes no key, whatever was there before."""
        beside = any(run.benchmark.beside for run in self.runs)
        return not beside and not written_bytes(self.runs, self.sizes(1))

    @property
    def only_reads(self) -> bool:
        """Whether nothing is written while it is measured: then there is no ``waf`` either."""
        return self.prepare is not None and self.writes_nothing

    @property
    def owes(self) -> Settle:
        """How the measured process settles: one that wrote nothing owes nothing."""
        return "none" if self.only_reads else self.settle

    @property
    def options(self) -> dict[str, str]:
        """Options of a column family that are facts of the application, as a file holds them.

        Every trial has them, and no exported file: what the application sets, Rocktune does not.
        An iterator that stays within a prefix does so only where RocksDB knows what a prefix is
        (arena_wrapped_db_iter.cc).
        """
        flags = dict(self.flags)
        found: dict[str, str] = {}
        if flags.get("merge_operator"):
            found["merge_operator"] = str(flags["merge_operator"])
        if flags.get("prefix_same_as_start") and flags.get("keys_per_prefix"):
            found["prefix_extractor"] = f"rocksdb.FixedPrefix.{flags.get('prefix_size', 0)}"
        if self.fifo_bytes:
            found["compaction_style"] = "kCompactionStyleFIFO"
            found["compaction_options_fifo.max_table_files_size"] = str(self.fifo_bytes)
        return found

    def facts(self) -> dict[str, Value]:
        """What of the load stands beside the values of parameters, in a space's context."""
        families = {} if self.column_families == 1 else {COLUMN_FAMILIES: self.column_families}
        return {"threads": self.threads, "compression_ratio": self.compression_ratio, **families}

    def threads_of(self, configuration: Mapping[str, Value]) -> int:
        """Client threads; the ``paper`` space draws them."""
        return int(configuration.get("threads", self.threads))

    def at_scale(self, scale: int) -> Workload:
        """The same load at another scale: as many times more keys as options are larger.

        So the tree keeps its shape. A trial is given as many times more time; of ``flags`` those
        that count operations grow alike, and a sine wave is stretched with the load, at the same
        rates. A trace says itself what is done: of its load options alone are scaled.
        """
        if self.trace:
            return replace(self, scale=scale)
        times = self.scale / scale
        flags = tuple((name, stretched(name, value, times)) for name, value in self.flags)
        seconds = min(self.timeout_seconds * max(times, 1.0), MOST_SECONDS - 1)
        num = max(1, round(self.num * times))
        prepare = self.prepare.at_size(times) if self.prepare else None
        fifo = math.ceil(self.fifo_bytes * times)
        return replace(
            self, num=num, scale=scale, timeout_seconds=seconds, flags=flags, prepare=prepare,
            fifo_bytes=fifo,
        )  # fmt: skip

    def sizes(self, threads: int) -> Sizes:
        """What its measured process is told of sizes."""
        return Sizes(
            num=self.num, key_size=self.key_size, value_size=self.value_size, threads=threads,
            flags=dict(self.flags), filled=self.prepare is not None,
        )  # fmt: skip

    def user_bytes(self) -> int:
        """Bytes of keys and values that one thread writes."""
        return int(written_bytes(self.runs, self.sizes(1)))

    def loaded_bytes(self) -> int:
        """Bytes of keys and values that all threads write, those that prepare among them."""
        measured = written_bytes(self.runs, self.sizes(self.threads))
        if self.prepare is None:
            return int(measured)
        own = self.prepare.sizes()
        flags = {n: value for n, value in self.flags if n in SHARED} | dict(own.flags)
        sizes = replace(own, key_size=self.key_size, value_size=self.value_size, flags=flags)
        return int(measured + written_bytes(self.prepare.runs, sizes))

    def operations(self, threads: int) -> float | None:
        """Operations of its benchmark, where there is one and their number is set; or None."""
        flags = dict(self.flags)
        if len(self.runs) != 1 or flags.get("duration"):
            return None
        (run,) = self.runs
        if run.warm_ups or run.benchmark.name in _UNCOUNTED:
            return None
        count = operations_of(run.benchmark, self.num, flags)
        return float(run.repeats * count * threads_of(run.benchmark, threads))

    def distinct_keys(self, threads: int, written: float | None = None) -> float:
        """Expected number of distinct keys that the load leaves.

        Random writes draw keys uniformly with replacement, so after w writes of n keys an
        expected n (1 - (1 - 1/n)^w) are there; a sequential fill leaves those that it writes,
        all n unless the flag ``writes`` says otherwise. Deletes are passed over: of loads with
        any ``why_counted`` tells that this is no more than a bound. ``written`` is the number of
        keys that the measured process wrote, where that was counted: used where it is not known
        before, as with the flag ``duration`` or of a benchmark like ``readwhilewriting``.
        """
        mine = fills_of(self.runs, self.sizes(threads), written)
        return distinct_keys([*(self.prepare.fills if self.prepare else ()), *mine])

    def distinct_user_bytes(self, threads: int, written: float | None = None) -> float:
        """Bytes of distinct live keys and values that the load leaves (expected)."""
        return self.distinct_keys(threads, written) * (self.key_size + self.value_size)


def least_user_bytes(memtable_bytes: int, scale: int) -> int:
    """The least load that measures anything: 16 times the write buffers at their scale.

    A smaller one stays largely in memory, and looks cheap because it was never written.
    """
    return 16 * (memtable_bytes // scale)


def load_class(workload: Workload) -> LoadClass:
    """The class of a load, by the operations of the benchmarks that are measured.

    Three quarters writes and more are ``writing``; of others, where half of what is not written
    is scans, ``scans``; a tenth writes and fewer are ``reading``. A load that db_bench does not
    run is ``mixed``, for nothing is known of it, and so is a trace.
    """
    if not workload.by_db_bench or workload.trace:
        return "mixed"
    flags = dict(workload.flags)
    total = writes = scans = 0.0
    for text in workload.measured:
        run = run_of(text)
        count = operations_of(run.benchmark, workload.num, flags)
        count *= threads_of(run.benchmark, workload.threads)
        written, scanned = _shares(run.benchmark, flags)
        total, writes, scans = total + count, writes + written * count, scans + scanned * count
    total = total or 1.0
    if writes >= _MOSTLY * total:
        return "writing"
    if scans and 2 * scans >= total - writes:
        return "scans"
    return "reading" if writes <= _HARDLY * total else "mixed"


def _shares(benchmark: DbBenchBenchmark, flags: Mapping[str, Value]) -> tuple[float, float]:
    """Which share of a benchmark's operations write, and which scan.

    A write that reads what was there before is half a write; a thread that writes beside others
    does half of all, for how much it writes is not known before.
    """

    def share(flag: str, usual: float) -> float:
        return float(flags.get(flag, usual))

    match benchmark.name:
        case "readrandomwriterandom" | "randomwithverify":
            return 1 - share("readwritepercent", 90) / 100, 0.0
        case "readrandommergerandom":
            return share("mergereadpercent", 70) / 100, 0.0
        case "mixgraph":  # the help of db_bench: get, put and seek are 1, 0 and 0
            put, seek = share("mix_put_ratio", 0), share("mix_seek_ratio", 0)
            whole = share("mix_get_ratio", 1) + put + seek or 1.0
            return put / whole, seek / whole
    scanned = benchmark.name in _SCANS or "seek" in benchmark.latencies
    if benchmark.beside:
        return 0.5, 0.5 * scanned
    if not benchmark.writes:
        return 0.0, float(scanned)
    return (1.0 if {*benchmark.latencies} <= {"write", "delete", "merge"} else 0.5), 0.0
