"""The benchmarks of db_bench: what each writes, needs and prints, or why it is not measured.

Read from tools/db_bench_tool.cc (``Benchmark::Run`` and the methods that it calls) of RocksDB
5.18, 6.28, 7.4, 7.9, 8.10 and 11.8, and tried with 7.8.3.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Literal

from sampler.common.errors import InputError

# The keys that a benchmark leaves behind. ``sequential``: 0, 1, ... in order; ``unique``: drawn
# without replacement; ``uniform``: drawn with replacement. Of ``counted`` no formula tells.
Keys = Literal["none", "sequential", "unique", "uniform", "counted"]
# The flag that says how many operations each thread does. ``readwrites``: the larger of reads and
# writes (Benchmark's constructor: readwrites_); ``num``: the key space and nothing else.
Loop = Literal["num", "writes", "reads", "readwrites", "deletes", "once"]
_ARGUMENTS = re.compile(r"(?P<name>[^\[\]]+)\[(?P<arguments>[^\[\]]*)\]")
_MOST_REPEATS = 1000
# db_bench's names of operations (OperationTypeString in db_bench_tool.cc, 11.8.1).
ALL_LATENCIES = (
    "read", "write", "delete", "seek", "merge", "update", "compress", "uncompress", "crc", "hash",
    "op", "multiscan",
)  # fmt: skip


@dataclass(frozen=True, kw_only=True)
class DbBenchBenchmark:
    """A benchmark of db_bench.

    Attributes:
        keys: What it leaves behind.
        loop: What says how many operations each thread does.
        fresh: Begins with an empty database: db_bench destroys what there is, or skips the
            benchmark beside ``--use_existing_db``.
        beside: A thread more writes for as long as the others read.
        one_thread: Its writes are those of one thread, however many are asked for.
        timed: Heeds the flag ``duration``.
        batch: Keys of one write or read; 0: the flag ``batch_size``.
        latencies: Kinds of operations whose histograms it prints. Of a writer beside reads
            db_bench prints nothing (SetExcludeFromMerge).
        line: What its line begins with, where that is not its name.
        needs: Flags without which it ends or does nothing.
        since: The first version that may have it: later than those known to lack it.
        refused: Why Rocktune does not measure it, and what to use instead; empty: it does.
    """

    name: str
    keys: Keys = "none"
    loop: Loop = "reads"
    fresh: bool = False
    beside: bool = False
    one_thread: bool = False
    timed: bool = True
    batch: int = 1
    latencies: tuple[str, ...] = ("read",)
    line: str = ""
    needs: tuple[str, ...] = ()
    since: tuple[int, int] = (0, 0)
    refused: str = ""

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


def _fill(name: str, keys: Keys, *, fresh: bool = True, one_thread: bool = False, batch: int = 0,
          timed: bool = False) -> DbBenchBenchmark:  # fmt: skip
    """A benchmark of the method DoWrite."""
    return DbBenchBenchmark(
        name=name, keys=keys, loop="writes", fresh=fresh, one_thread=one_thread, timed=timed,
        batch=batch, latencies=("write",),
    )  # fmt: skip


def _read(name: str, *latencies: str, loop: Loop = "reads", timed: bool = True,
          batch: int = 1, needs: tuple[str, ...] = ()) -> DbBenchBenchmark:  # fmt: skip
    return DbBenchBenchmark(
        name=name, loop=loop, timed=timed, batch=batch, latencies=latencies or ("read",),
        needs=needs,
    )  # fmt: skip


def _beside(name: str, *latencies: str, keys: Keys = "uniform") -> DbBenchBenchmark:
    """Reads beside a thread that writes or merges (BGWriter)."""
    return DbBenchBenchmark(name=name, keys=keys, beside=True, latencies=latencies or ("read",))


def _both(name: str, keys: Keys, *latencies: str, timed: bool = True) -> DbBenchBenchmark:
    """Reads and writes in turn, in each thread."""
    return DbBenchBenchmark(
        name=name, keys=keys, loop="readwrites", timed=timed, latencies=latencies
    )


def _no(name: str, why: str, *, fresh: bool = False) -> DbBenchBenchmark:
    return DbBenchBenchmark(name=name, fresh=fresh, latencies=(), refused=why)


_COMPUTES = "does not touch the database, so no option of RocksDB can change it; leave it out"
_PRINTS = "only prints figures, which Rocktune takes itself; leave it out"
_SETTLES = "prints no line of its own; leave it out: settle says what a run waits for"
_BY_HAND = (
    "builds the tree by hand with automatic compaction off, so no option of compaction is "
    'measured; use "{}"'
)
# It writes num operations, not num / 1000 as its help says, all of them to num / 1000 keys: tried.
_THOUSANDTH = "writes num / 1000 keys again and again, num times; use {}"
_COPIES = "copies whole files into a folder of its own; a [command] workload can run it"
_DELETED = ("delete",)

_TABLE = (
    _fill("fillseq", "sequential"),
    _fill("fillbatch", "sequential", batch=1000),
    _fill("fillrandom", "uniform", timed=True),
    _fill("overwrite", "uniform", fresh=False, timed=True),
    _fill("filluniquerandom", "unique", one_thread=True),
    _fill("fillanddeleteuniquerandom", "unique", one_thread=True),
    _no("fillsync", _THOUSANDTH.format('"fillrandom" with the flag sync = true'), fresh=True),
    _no("fill100K", _THOUSANDTH.format('"fillrandom" with value_size = 100000'), fresh=True),
    _no("fillseqdeterministic", _BY_HAND.format("fillseq"), fresh=True),
    _no("filluniquerandomdeterministic", _BY_HAND.format("filluniquerandom"), fresh=True),
    _no(
        "fillseekseq",
        "starts its clock after it has filled, so its time would be told wrongly; "
        'use "fillseq" in [prepare] and "seekrandom"',
    ),
    _both("updaterandom", "uniform", "update"),
    _both("readrandomwriterandom", "uniform", "read", "write"),
    _both("xorupdaterandom", "counted", "op"),
    _both("appendrandom", "counted", "update"),
    _both("randomwithverify", "counted", "read", "write", "delete", timed=False),
    _both("randomtransaction", "counted", "op"),
    DbBenchBenchmark(
        name="mergerandom", keys="counted", loop="readwrites", latencies=("merge",),
        needs=("merge_operator",),
    ),
    DbBenchBenchmark(
        name="readrandommergerandom", keys="counted", loop="readwrites",
        latencies=("read", "merge"), needs=("merge_operator",),
    ),
    DbBenchBenchmark(
        name="deleteseq", keys="counted", loop="deletes", timed=False, batch=0, latencies=_DELETED,
    ),
    DbBenchBenchmark(
        name="deleterandom", keys="counted", loop="deletes", batch=0, latencies=_DELETED
    ),
    DbBenchBenchmark(
        name="randomreplacekeys", keys="counted", loop="num", fresh=True, latencies=("op",)
    ),
    # One thread writes, the others read, or delete what has expired, until it has ended. The line
    # with the benchmark's name is that of the others, and senseless where there are none.
    DbBenchBenchmark(
        name="timeseries", keys="counted", loop="writes", fresh=True, one_thread=True,
        latencies=("write",), line="timeseries write",
    ),
    DbBenchBenchmark(name="mixgraph", keys="counted", latencies=("read", "write", "seek")),
    _beside("readwhilewriting"),
    replace(_beside("multireadwhilewriting"), since=(7, 9)),  # tried: 7.8.3 has it not
    _beside("seekrandomwhilewriting", "seek"),
    _beside("newiteratorwhilewriting", "op"),
    DbBenchBenchmark(
        name="readwhilemerging", keys="counted", beside=True, needs=("merge_operator",)
    ),
    DbBenchBenchmark(
        name="seekrandomwhilemerging", keys="counted", beside=True, latencies=("seek",),
        needs=("merge_operator",),
    ),
    _read("readrandom"),
    _read("readmissing"),
    _read("readrandomfast", batch=100),
    _read("readrandomsmall"),
    _read("readrandomoperands"),
    _read("readseq", timed=False),
    _read("readreverse", timed=False),
    DbBenchBenchmark(name="readtocache", loop="num", timed=False, one_thread=True),
    _read(
        "readtorowcache", loop="num", timed=False, needs=("use_existing_keys", "row_cache_size")
    ),
    _read("readwhilescanning", "read", "seek"),
    _read("multireadrandom", batch=0),
    replace(_read("multireadrandomcoroutine", batch=0), since=(10, 5)),
    replace(_read("readrandomcoroutine"), since=(10, 5)),
    replace(_read("multiscan", "multiscan"), since=(10, 5)),
    replace(_read("multiscanrandom", "multiscan"), since=(10, 5)),
    _read("seekrandom", "seek"),
    _read("newiterator", "op"),
    _read("approximatesizerandom", "op"),
    _read("verifychecksum", "op", loop="once", timed=False),
    _read("verifyfilechecksums", "op", loop="once", timed=False, needs=("file_checksum",)),
    _read("compact", "op", loop="once", timed=False),
    *(_no(name, _COMPUTES) for name in (
        "crc32c", "xxhash", "xxhash64", "xxh3", "compress", "uncompress", "compressreject",
        "acquireload",
    )),
    *(_no(name, _PRINTS) for name in (
        "stats", "resetstats", "levelstats", "memstats", "sstables", "stats_history",
        "block_cache_entry_stats", "cache_report_problems", "heapprofile",
    )),
    *(_no(name, _SETTLES) for name in ("flush", "waitforcompaction", "compact0", "compact1")),
    _no("compactall", 'prints no line of its own; use "compact"'),
    _no("backup", _COPIES),
    _no("restore", _COPIES),
    _no("ingestexternalfile", "writes tables beside the database; a [command] can run it"),
    _no("openandcompact", "compacts in another process; a [command] workload can run it"),
    _no("approximatememtablestats", "asks for figures of memtables alone; leave it out"),
    _no("getmergeoperands", "is a demonstration on one key; leave it out"),
    _no("verify", "compares with a second database; a [command] workload can run it"),
    _no(
        "replay",
        "does what a trace says, so it is not known before what it writes or reads, and db_bench "
        "prints no number of operations for it; a [command] workload can run it",
    ),
    *(_no(name, "writes entities or blobs in a way of its own, which keys it leaves is not known "
                "to Rocktune; a [command] workload can run it") for name in (
        "fillembeddedblob", "fillembeddedentity", "readrandomentity", "multireadentity",
    )),
)  # fmt: skip
BENCHMARKS = {benchmark.name: benchmark for benchmark in _TABLE}


def known_run(text: str, field: str) -> BenchmarkRun:
    """What a text of ``benchmarks`` asks for.

    Args:
        text: ``readrandom``, ``readrandom[X3]``, ``readrandom[W1-X3]``.
        field: What to call it when it is wrong.

    Raises:
        InputError: No such benchmark is known, Rocktune does not measure it, or the brackets hold
            something else.
    """
    name, repeats, warm_ups = _split(text, field)
    benchmark = BENCHMARKS.get(name)
    if benchmark is None:
        near = difflib.get_close_matches(name, _measured(), n=3)
        mend = f"did you mean {' or '.join(near)}?" if near else f"use one of {_listed()}"
        raise InputError(field, f"{name!r:.80} is no benchmark of db_bench that is known; {mend}")
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
    unknown = DbBenchBenchmark(name=name, keys="counted", beside=True, latencies=ALL_LATENCIES)
    benchmark = BENCHMARKS.get(name, unknown)
    if benchmark.refused:
        benchmark = unknown_like(benchmark)
    return BenchmarkRun(benchmark, repeats, warm_ups)


def unknown_like(benchmark: DbBenchBenchmark) -> DbBenchBenchmark:
    """A refused benchmark in a job of an earlier version."""
    return DbBenchBenchmark(
        name=benchmark.name, fresh=benchmark.fresh, keys="counted", beside=True,
        latencies=ALL_LATENCIES,
    )  # fmt: skip


def fills() -> str:
    """The benchmarks that can fill a database, for a message."""
    return ", ".join(sorted(each.name for each in _TABLE if each.keys not in ("none", "counted")
                            and not each.beside and not each.refused))  # fmt: skip


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
    for argument in found["arguments"].split("-") if found else ["?"]:
        if not argument:
            continue
        kind, number = argument[0], argument[1:]
        least = 1 if kind == "X" else 0
        if (
            kind not in counts
            or not (number.isascii() and number.isdecimal())
            or not least <= int(number) <= _MOST_REPEATS
        ):
            raise InputError(
                field,
                f"{text!r:.80}: in brackets write X and how often it runs (1 to {_MOST_REPEATS}), "
                "or W and how often it warms up before, as in readrandom[W1-X3]",
            )
        counts[kind] = int(number)
    assert found
    return found["name"], counts["X"], counts["W"]


def _measured() -> list[str]:
    return [each.name for each in _TABLE if not each.refused]


def _listed() -> str:
    return ", ".join(sorted(_measured()))
