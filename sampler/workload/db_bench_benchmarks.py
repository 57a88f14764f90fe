"""The benchmarks of db_bench: what each writes, needs and prints, and the keys that it leaves.

``db_bench_benchmarks.csv`` was made of tools/db_bench_tool.cc (``Benchmark::Run`` and the methods
that it calls) of RocksDB 5.18, 6.28, 7.4, 7.9, 8.10 and 11.8, and tried with 7.8.3. That has no
``multireadwhilewriting``. With ``fillsync`` and ``fill100K`` it writes ``num`` operations, all of
them to num / 1000 keys, not num / 1000 operations as its help says. In ``timeseries`` one thread
writes, and the others read, or delete what has expired, until it has ended; the line with the
benchmark's name is that of the others, and senseless where there are none.
"""

import difflib
import math
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal

from pydantic import TypeAdapter

from sampler.common.documents import packaged_rows
from sampler.common.errors import InputError
from sampler.rocksdb.parameters import Value

# The keys that a benchmark leaves behind. ``sequential``: 0, 1, ... in order; ``unique``: drawn
# without replacement; ``uniform``: drawn with replacement. Of ``counted`` no formula tells.
Keys = Literal["none", "sequential", "unique", "uniform", "counted"]
# The flag that says how many operations each thread does. ``readwrites``: the larger of reads and
# writes (Benchmark's constructor: readwrites_); ``num``: the key space and nothing else.
Loop = Literal["num", "writes", "reads", "readwrites", "deletes", "once"]
_ARGUMENTS = re.compile(r"(?P<name>[^\[\]]+)\[(?P<arguments>[^\[\]]*)\]")
_ARGUMENT = re.compile(r"X(?=0*[1-9])\d{1,18}|W\d{1,18}", re.ASCII)
MOST_REPEATS = 1000
# db_bench's names of operations (OperationTypeString in db_bench_tool.cc, 11.8.1).
ALL_LATENCIES = (
    "read", "write", "delete", "seek", "merge", "update", "compress", "uncompress", "crc", "hash",
    "op", "multiscan",
)  # fmt: skip
Flags = Mapping[str, Value]
_DRAWN, _ONCE = ("uniform", "counted"), ("sequential", "unique")  # kinds of keys


@dataclass(frozen=True, kw_only=True)
class DbBenchBenchmark:
    """A benchmark of db_bench."""

    name: str
    keys: Keys = "none"  # what it leaves behind
    loop: Loop = "reads"  # what says how many operations each thread does
    # Begins with an empty database: db_bench destroys what there is, or skips the benchmark beside
    # ``--use_existing_db``.
    fresh: bool = False
    beside: bool = False  # a thread more writes for as long as the others read
    one_thread: bool = False  # its writes are those of one thread, however many are asked for
    timed: bool = True  # the flag ``duration`` ends it
    batch: int = 1  # keys of one write or read; 0: the flag ``batch_size``
    # Kinds of operations whose histograms it prints. Of a writer beside reads db_bench prints
    # nothing (SetExcludeFromMerge).
    latencies: tuple[str, ...] = ()
    line: str = ""  # what its line begins with, where that is not its name
    needs: tuple[str, ...] = ()  # flags without which it ends or does nothing
    # The first version that may have it: later than those known to lack it.
    since: tuple[int, int] = (0, 0)
    refused: str = ""  # why Rocktune does not measure it, and what to use instead; empty: it does

    @property
    def writes(self) -> bool:
        """Whether it writes anything."""
        return self.keys != "none" or self.beside

    @property
    def printed(self) -> str:
        """What its line begins with."""
        return self.line or self.name


@dataclass(frozen=True)
class BenchmarkRun:
    """A benchmark as it is asked for: ``readrandom[W1-X3]`` warms up once and runs three times."""

    benchmark: DbBenchBenchmark
    repeats: int = 1
    warm_ups: int = 0

    @property
    def times(self) -> int:
        """How often it runs in all."""
        return self.repeats + self.warm_ups


def _benchmark(row: Mapping[str, str]) -> DbBenchBenchmark:
    return _ROW.validate_python({
        name: text.split(_LISTS[name]) if name in _LISTS else text
        for name, text in row.items()
        if text
    })  # fmt: skip


_LISTS = {"latencies": "|", "needs": "|", "since": "."}
_ROW = TypeAdapter(DbBenchBenchmark)
_ROWS = packaged_rows("sampler.workload", "db_bench_benchmarks.csv")
BENCHMARKS = {benchmark.name: benchmark for benchmark in map(_benchmark, _ROWS)}
_MEASURED = sorted(name for name, benchmark in BENCHMARKS.items() if not benchmark.refused)


def known_run(text: str, field: str) -> BenchmarkRun:
    """What a text of ``benchmarks`` asks for: ``readrandom``, ``readrandom[W1-X3]``.

    Raises:
        InputError: No such benchmark is known, Rocktune does not measure it, or the brackets hold
            something else.
    """
    name, repeats, warm_ups = _split(text, field)
    benchmark = BENCHMARKS.get(name)
    if benchmark is None:
        near = difflib.get_close_matches(name, _MEASURED, n=3)
        fix = f"did you mean {' or '.join(near)}?" if near else ""
        fix = fix or f"use one of {', '.join(_MEASURED)}"
        raise InputError(field, f"{name!r:.80} is not a known db_bench benchmark; {fix}")
    if benchmark.refused:
        raise InputError(field, f"{name!r} {benchmark.refused}")
    return BenchmarkRun(benchmark, repeats, warm_ups)


def run_of(text: str) -> BenchmarkRun:
    """The same of what was checked before: an unknown benchmark may read and write anything.

    Jobs of earlier versions hold names that would be refused today.
    """
    try:
        name, repeats, warm_ups = _split(text, "workload.benchmarks")
    except InputError:
        name, repeats, warm_ups = text, 1, 0
    benchmark = BENCHMARKS.get(name, DbBenchBenchmark(name=name))
    if benchmark.refused or name not in BENCHMARKS:
        benchmark = DbBenchBenchmark(
            name=name, fresh=benchmark.fresh, keys="counted", beside=True, latencies=ALL_LATENCIES
        )
    return BenchmarkRun(benchmark, repeats, warm_ups)


def fills() -> str:
    """The benchmarks that can fill a database, for a message."""
    known = ("sequential", "unique", "uniform")
    return ", ".join(
        n for n in _MEASURED if BENCHMARKS[n].keys in known and not BENCHMARKS[n].beside
    )


def last_database(runs: Iterable[BenchmarkRun]) -> list[BenchmarkRun]:
    """Those whose writes are still there at the end: from the last that began with nothing."""
    whole = list(runs)
    begins = [place for place, run in enumerate(whole) if run.benchmark.fresh]
    return whole[begins[-1] :] if begins else whole


def _split(text: str, field: str) -> tuple[str, int, int]:
    """The name, how often it is repeated, and how often it warms up (db_bench_tool.cc, Run())."""
    if "[" not in text and "]" not in text:
        return text, 1, 0
    found = _ARGUMENTS.fullmatch(text)
    counts = {"X": 1, "W": 0}
    for argument in filter(None, found["arguments"].split("-") if found else ["?"]):
        if not _ARGUMENT.fullmatch(argument) or int(argument[1:]) > MOST_REPEATS:
            raise InputError(
                field,
                f"{text!r:.80}: in brackets write X and the number of runs (1 to {MOST_REPEATS}) "
                "or W and the number of warm-up runs, as in readrandom[W1-X3]",
            )
        counts[argument[0]] = int(argument[1:])
    assert found
    return found["name"], counts["X"], counts["W"]


@dataclass(frozen=True, kw_only=True)
class Sizes:
    """What one db_bench process is told of sizes."""

    num: int  # size of the key space, which stands in where no flag says how many operations
    key_size: int = 16
    value_size: int = 1024
    threads: int = 1  # client threads
    flags: Flags = field(default_factory=dict)  # further flags
    filled: bool = False  # whether the database holds keys before the first benchmark

    @property
    def mean_value(self) -> float:
        """Bytes of a value, on average (db_bench_tool.cc, RandomGenerator)."""
        if self.flags.get("value_size_distribution_type", "fixed") == "fixed":
            return float(self.value_size)
        least = int(self.flags.get("value_size_min", 100))
        return (least + int(self.flags.get("value_size_max", 102_400))) / 2


def operations_of(benchmark: DbBenchBenchmark, num: int, flags: Flags) -> int:
    """Operations of each thread of a benchmark, where no duration says otherwise.

    The flags that count are ``writes``, ``reads``, ``deletes`` and ``batch_size``.
    """
    writes, reads, deletes = (int(flags.get(n, -1)) for n in ("writes", "reads", "deletes"))
    match benchmark.loop:
        case "writes":  # DoWrite: 0 writes are num of them
            found = writes if writes > 0 else num
        case "readwrites":
            found = num if writes < 0 and reads < 0 else max(writes, reads)
        case "deletes":
            found = deletes if deletes >= 0 else num
        case "reads":
            found = reads if reads >= 0 else num
        case "num":
            found = num
        case "once":
            return 1
    if benchmark.name == "readrandomsmall":
        found //= 1000
    batch = max(1, benchmark.batch or int(flags.get("batch_size", 1)))
    return found // batch * batch if benchmark.writes else found  # a smaller last one is left out


def threads_of(benchmark: DbBenchBenchmark, threads: int) -> int:
    """The threads that really do a benchmark."""
    return 1 if benchmark.one_thread else threads


def written_bytes(runs: Iterable[BenchmarkRun], sizes: Sizes) -> float:
    """Bytes of keys and values that all threads write, as far as that is known before.

    What a thread beside reads writes is not, and counts as nothing; values that grow or shrink
    count as their mean.
    """
    total, filled = 0.0, sizes.filled
    for run in runs:
        filled = filled and not run.benchmark.fresh
        if run.benchmark.writes and not run.benchmark.beside:
            operations = operations_of(run.benchmark, sizes.num, sizes.flags)
            written = _written_by(run.benchmark.name, operations, sizes, filled)
            total += run.times * (written * threads_of(run.benchmark, sizes.threads))
        filled = filled or run.benchmark.writes
    return total


def _written_by(name: str, operations: int, sizes: Sizes, filled: bool) -> float:
    key, value = sizes.key_size, sizes.mean_value

    def flag(name: str, usual: int) -> int:
        return int(sizes.flags.get(name, usual))

    match name:
        case "readrandomwriterandom":
            return (100 - flag("readwritepercent", 90)) / 100 * (operations * (key + value))
        case "readrandommergerandom":
            return flag("mergereadpercent", 70) / 100 * (operations * (key + value))
        case "randomwithverify":  # PutMany and DeleteMany: three keys, each a byte longer
            deletes = flag("deletepercent", 2) / 100
            puts = max(0.0, 1 - flag("readwritepercent", 90) / 100 - deletes)
            return 3 * operations * (puts * (key + 1 + value) + deletes * (key + 1))
        case "xorupdaterandom":  # a value as long as the one that was there
            return operations * (key + (value if filled else 0.0))
        case "appendrandom":  # a value grows by as much with each write to its key
            earlier = operations * sizes.threads / (2 * sizes.num)
            return operations * (key + value * (1 + earlier))
        case "randomreplacekeys":  # some keys with values, then deletes and puts of empty values
            return flag("numdistinct", 1000) * (key + value) + 2.0 * operations * key
        case "randomtransaction":
            # Four digits and a number as key, a small number as value (transaction_test_util.cc).
            sets = flag("transaction_sets", 2)
            return float(operations * sets * (4 + len(str(sizes.num)) + 3))
        case "mixgraph":
            return _mixgraph(sizes, operations)
        case "deleteseq" | "deleterandom":
            return float(operations * key)
    return operations * (key + value)


def _mixgraph(sizes: Sizes, operations: int) -> float:
    """Values of a generalised Pareto distribution; ``value_size`` is not looked at."""

    def flag(name: str, usual: float) -> float:
        return float(sizes.flags.get(name, usual))

    put, k = flag("mix_put_ratio", 0), flag("value_k", 0.2615)
    whole = flag("mix_get_ratio", 1) + put + flag("mix_seek_ratio", 0)
    mean = flag("value_theta", 0) + flag("value_sigma", 25.45) / (1 - k) if k < 1 else math.inf
    most = flag("mix_max_value_size", 1024)
    share = put / whole if whole > 0 else 0.0
    return operations * share * (sizes.key_size + min(max(mean, 10.0), most))


@dataclass(frozen=True)
class Fill:
    """Writes to the keys 0 to ``keys`` - 1."""

    keys: int  # size of the key space, at least 1
    writes: float  # drawn uniformly, with replacement
    whole: bool = False  # whether every key was written once besides
    # The share of the keys that was written once besides, drawn without replacement.
    part: float = 0.0

    @property
    def log_absent(self) -> float:
        """Logarithm of the chance that one of its keys was not written."""
        if self.whole or self.part >= 1 or (self.keys == 1 and self.writes >= 1):
            return -math.inf
        drawn = self.writes * math.log1p(-1 / self.keys) if self.keys > 1 else 0.0
        return drawn + math.log1p(-self.part)


def distinct_keys(fills: Sequence[Fill]) -> float:
    """Expected number of distinct keys, where fills of different sizes begin at the same key.

    A key is absent when no fill that reaches it wrote it: of w uniform writes to n keys none hits
    a key with probability (1 - 1/n)^w.
    """
    found, lower = 0.0, 0
    for upper in sorted({fill.keys for fill in fills}):
        absent = sum(fill.log_absent for fill in fills if fill.keys >= upper)
        found -= (upper - lower) * math.expm1(absent)
        lower = upper
    return found


def fills_of(
    runs: Sequence[BenchmarkRun], sizes: Sizes, written: float | None = None
) -> list[Fill]:
    """What a process leaves of its key space, as far as a formula tells.

    Keys of no known number are taken to be drawn uniformly, deletes to delete nothing. ``written``
    is the number of keys that it wrote, where that was counted: used where how many are drawn is
    not known before.
    """
    alive = last_database(runs)
    if not any(run.benchmark.writes for run in alive):
        return []
    drawn = sum(_written_keys(run, sizes, _DRAWN) for run in alive)
    if written is not None and any(_open_ended(run, sizes.flags) for run in alive):
        # What is written once, and what was there before the database was emptied, is known.
        known = sum(_written_keys(run, sizes, _DRAWN) for run in runs[: len(runs) - len(alive)])
        known += sum(_written_keys(run, sizes, _ONCE) for run in runs)
        drawn = max(0.0, written - known)
    fills = [Fill(sizes.num, drawn)]
    for run in alive:
        count = operations_of(run.benchmark, sizes.num, sizes.flags)
        if run.benchmark.keys == "sequential" and count:
            fills.append(Fill(count, 0.0, whole=True))
        if run.benchmark.keys == "unique":
            fills.append(Fill(sizes.num, 0.0, part=min(1.0, count / sizes.num)))
    return fills


def _written_keys(run: BenchmarkRun, sizes: Sizes, kinds: Sequence[str]) -> float:
    """Keys of some kinds that all threads write, where their number is known."""
    benchmark = run.benchmark
    if benchmark.keys not in kinds or benchmark.beside or benchmark.loop == "deletes":
        return 0.0
    count = float(operations_of(benchmark, sizes.num, sizes.flags))
    if benchmark.name == "readrandomwriterandom":
        count = count * (100 - int(sizes.flags.get("readwritepercent", 90))) / 100
    return run.times * count * threads_of(benchmark, sizes.threads)


def _open_ended(run: BenchmarkRun, flags: Flags) -> bool:
    timed = run.benchmark.timed and bool(flags.get("duration"))
    return run.benchmark.writes and (run.benchmark.beside or timed)
