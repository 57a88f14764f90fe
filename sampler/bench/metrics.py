"""The metrics, from RocksDB's counters.

The table that db_bench prints is not used: its ``W-Amp`` divides by compressed bytes and ranks
codecs backwards.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from itertools import islice

from sampler.bench.bench_folder import PreparedNote
from sampler.bench.outcome import EndedProcess
from sampler.bench.output import (
    BenchmarkLine,
    DbBenchOutput,
    RocksdbLog,
    expected_lines,
    latencies_of,
)
from sampler.rocksdb.parameters import Value
from sampler.space.space import memory_bytes
from sampler.workload.workload import Workload

_WRITTEN = ("flush.write.bytes", "compact.write.bytes")
# Operations that a process was asked for, key by key; deletes and merges are keys written.
_OPERATIONS = (
    "number.keys.written", "number.keys.read", "number.multiget.keys.read", "number.db.seek",
)  # fmt: skip
_UNCOUNTED = 1.02  # files beside counted bytes; usually they are a little less than 1


class MissingMeasurement(ValueError):
    """The benchmark ended well, but what it printed does not hold what is needed."""


def trial_metrics(
    output: DbBenchOutput,
    log: RocksdbLog,
    ended: EndedProcess,
    workload: Workload,
    values: Mapping[str, Value],
    *,
    prepared: PreparedNote | None = None,
    with_sa: bool = True,
) -> dict[str, float]:
    """All metrics of a finished run.

    ``waf``: (flush.write.bytes + compact.write.bytes) / bytes.written; both hold BlobDB's files.
    ``sa``: live bytes / bytes of distinct live user data. ``time``: seconds from the first write
    until the tree is settled as the workload says. ``rate`` (ops/s) and latencies are those of
    the measured benchmarks, warm-ups left out; of a trace RocksDB's counters tell the operations,
    for db_bench prints 1. ``stall_percent``: of ``load_time``, the share that writes waited,
    whatever settling took. ``memory``: bytes at full scale. ``cpu_percent``:
    CPU seconds of the process over ``time``, of all processors that it could run on.

    Of a database that was prepared before, all but ``sa`` are of the measured process alone; one
    that only reads has no ``waf``. ``whole_waf`` is that of both processes together,
    ``prepare_seconds`` how long the preparing one lived. ``values`` are in effect, of every known
    parameter, full scale; without ``with_sa`` no formula tells which keys are left.

    Raises:
        MissingMeasurement: A counter or a benchmark's line is missing.
    """
    tickers = output.tickers
    if workload.prepare and prepared is None:
        raise MissingMeasurement("the record of how the database was prepared is missing")
    user = tickers.get("bytes.written", 0)
    if user <= 0 and not workload.writes_nothing and not workload.trace:
        raise MissingMeasurement("db_bench printed no rocksdb.bytes.written")
    if output.live_bytes is None:
        raise MissingMeasurement("db_bench printed neither live files nor a compaction table")
    for name in _WRITTEN:
        if name not in tickers:
            raise MissingMeasurement(f"db_bench printed no rocksdb.{name}")
    for (event, names), count in log.lacking.items():
        if event != "compaction_finished" or names == "job":  # others tell only of levels
            lacks = f"{count} {event} events without {names}"
            raise MissingMeasurement(f"RocksDB's LOG has {lacks}: its version is not known")
    counted = sum(tickers[name] for name in _WRITTEN)
    stored = stored_bytes(counted, log, at_rest=workload.owes == "wait")
    load_time = load_seconds(output, workload)
    time = load_time + settling_seconds(log, workload)
    threads = workload.threads_of(values)
    with_wal = stored + tickers.get("wal.bytes", 0)
    measured = _measured_lines(output, workload)
    return {
        **({"waf": stored / user, "waf_with_wal": with_wal / user} if user > 0 else {}),
        **_of_both(prepared, user, stored),
        **({"sa": _sa(output.live_bytes, workload, threads, tickers)} if with_sa else {}),
        "lsm_bytes": float(output.live_bytes),
        "time": time,
        "load_time": load_time,
        "rate": _rate(measured, replayed(tickers) if workload.trace else None),
        "memory": float(memory_bytes(values)),
        **latencies_of(measured),
        **_stalls(output, load_time),
        **_process_metrics(ended),
        # Not over the process's life: starting, resting and closing are no part of the load.
        **(
            {"cpu_percent": 100 * ended.cpu_seconds / (time * ended.processors)}
            if ended.processors and time > 0
            else {}
        ),
    }


def censored_metrics(
    log: RocksdbLog,
    ended: EndedProcess,
    workload: Workload,
    values: Mapping[str, Value],
    *,
    prepared: PreparedNote | None = None,
) -> dict[str, float]:
    """What a run that was cut off still teaches.

    ``time`` is a lower bound, ``rate`` an upper one (all operations of a load of one benchmark,
    over the time that it had and was not enough). ``waf_partial`` is that of the work done when
    the LOG's statistics were last dumped; it is not comparable and named so. See
    ``trial_metrics`` for the others.
    """
    start = log.opened if log.opened is not None else ended.began
    alive = max(ended.wall_seconds - max(start - ended.began, 0.0), 1e-9)
    found = {"time": alive, "memory": float(memory_bytes(values)), **_process_metrics(ended)}
    if prepared:
        found["prepare_seconds"] = prepared.seconds
    operations = workload.operations(workload.threads_of(values))
    if operations is not None:
        load = alive if log.load_ended is None else max(log.load_ended - start, 1e-9)
        found["rate"] = operations / load
    user = log.tickers.get("bytes.written", 0)
    if user > 0:
        found["waf_partial"] = sum(log.tickers.get(name, 0) for name in _WRITTEN) / user
    return found


def stored_bytes(counted: int, log: RocksdbLog, *, at_rest: bool) -> int:
    """Bytes that flushes and compactions wrote.

    RocksDB counts what the threads of its jobs wrote. With ``compression_opts.parallel_threads``
    another thread writes the blocks of a table, and they are not counted: of the flushes of a load
    of 1 GiB 15 MiB were (7.8.3, 2026-11-25; block_based_table_builder.cc). Then the sizes of the
    files that the LOG of the whole run tells count. ``counted`` are the tickers
    ``flush.write.bytes`` and ``compact.write.bytes`` together.

    Where the tree was not ``at_rest``, flushes and compactions go on after db_bench has printed
    its counters, until it has closed the database: the LOG tells their files, too. A compaction
    that the end interrupts makes no file, and counts as far as the counters know it.
    """
    least = _UNCOUNTED * counted if at_rest else counted
    return log.created_bytes if log.created_bytes > least else counted


def _stalls(output: DbBenchOutput, load_time: float) -> dict[str, float]:
    """RocksDB's own percentage is of the time since the database was opened.

    A tree that takes longer to settle would look as if its writes had stalled less. Of writes that
    wait together RocksDB counts one (db_impl_write.cc, DelayWrite), so it is at most the load.
    """
    stalled = output.tickers.get("stall.micros")
    if stalled is not None and load_time > 0:
        return {"stall_percent": stalled / 1e4 / load_time}
    return {} if output.stall_percent is None else {"stall_percent": output.stall_percent}


def _process_metrics(ended: EndedProcess) -> dict[str, float]:
    seen = {"peak_rss": float(ended.peak_rss)} if ended.peak_rss else {}
    return seen | {
        "cpu_seconds": ended.cpu_seconds,
        "device_bytes": float(ended.device_bytes),
        "wall_seconds": ended.wall_seconds,
    }


def _of_both(prepared: PreparedNote | None, user: int, stored: int) -> dict[str, float]:
    if prepared is None or prepared.user_bytes <= 0:
        return {}
    whole = (prepared.stored_bytes + stored) / (prepared.user_bytes + user)
    return {"whole_waf": whole, "prepare_seconds": prepared.seconds}


def load_seconds(output: DbBenchOutput, workload: Workload) -> float:
    """Seconds of the benchmarks, as db_bench reports them.

    Raises:
        MissingMeasurement: A benchmark's line is missing.
    """
    wanted, printed = expected_lines(workload.runs), Counter(line.name for line in output.lines)
    for name in wanted:
        if name not in printed:
            raise MissingMeasurement(f"db_bench printed no line for {name}")
    for name, count in wanted.items():
        if printed[name] < count:
            found = f"{printed[name]} of {count} lines for {name}"
            raise MissingMeasurement(f"db_bench printed {found}")
    return sum(line.seconds for line in output.lines if line.name in wanted)


def _measured_lines(output: DbBenchOutput, workload: Workload) -> list[BenchmarkLine]:
    found: list[BenchmarkLine] = []
    lines = iter(output.lines)
    for text, run in zip(workload.benchmarks, workload.runs, strict=True):
        own = list(islice((x for x in lines if x.name == run.benchmark.printed), run.times))
        if text in workload.measured:
            found += own[run.warm_ups :]
    return found


def _sa(live: int, workload: Workload, threads: int, tickers: Mapping[str, int]) -> float:
    distinct = workload.distinct_user_bytes(threads, tickers.get("number.keys.written"))
    if distinct <= 0:
        raise MissingMeasurement("no benchmark of the load is known to leave keys in the database")
    return live / distinct


def settling_seconds(log: RocksdbLog, workload: Workload) -> float:
    """Seconds from the end of the load until the tree was settled.

    Raises:
        MissingMeasurement: The LOG does not tell.
    """
    if workload.owes == "none":
        return 0.0
    if log.load_ended is None or log.flushed is None:
        raise MissingMeasurement("RocksDB's LOG records no manual flush")
    if workload.owes == "flush":
        return max(0.0, log.flushed - log.load_ended)
    return max(0.0, log.flushed - log.load_ended, (log.work_ended or 0.0) - log.load_ended)


def replayed(tickers: Mapping[str, int]) -> int:
    """Operations that RocksDB counted, key by key: those of a trace that was replayed."""
    return sum(tickers.get(name, 0) for name in _OPERATIONS)


def _rate(measured: Sequence[BenchmarkLine], operations: int | None) -> float:
    """Operations a second: as many as are printed, where they are not told otherwise."""
    seconds = sum(line.seconds for line in measured)
    if seconds <= 0:
        raise MissingMeasurement("the measured benchmarks took no time")
    if operations is None:
        operations = sum(line.operations for line in measured)
    return operations / seconds
