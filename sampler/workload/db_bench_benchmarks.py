"""The benchmarks of db_bench: what each writes, needs and prints, or why it is not measured.

``db_bench_benchmarks.csv`` was made of tools/db_bench_tool.cc (``Benchmark::Run`` and the methods
that it calls) of RocksDB 5.18, 6.28, 7.4, 7.9, 8.10 and 11.8, and tried with 7.8.3. That has no
``multireadwhilewriting``. With ``fillsync`` and ``fill100K`` it writes ``num`` operations, all of
them to num / 1000 keys, not num / 1000 operations as its help says. In ``timeseries`` one thread
writes, and the others read, or delete what has expired, until it has ended; the line with the
benchmark's name is that of the others, and senseless where there are none.
"""

import difflib
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Literal

from pydantic import TypeAdapter

from sampler.common.documents import packaged_rows
from sampler.common.errors import InputError

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
