import gzip
from dataclasses import replace
from typing import Any

import pytest

from sampler.bench.metrics import (
    MissingMeasurement,
    censored_metrics,
    settling_seconds,
    stored_bytes,
    trial_metrics,
)
from sampler.bench.output import DbBenchOutput, RocksdbLog, parse_log, parse_output
from sampler.rocksdb.parameters import Value, catalogue
from sampler.workload.workload import Workload
from tests.support.sampler.real_runs import OUTPUTS, TINY, Kept, Measure, ended

DEFAULTS = {name: parameter.default for name, parameter in catalogue().items()}
ENDED = ended(wall_seconds=9.5, cpu_seconds=3.0, device_bytes=4096, processors=4)
SETTLED_LOG = RocksdbLog(opened=100.0, load_ended=101.6, flushed=101.8, work_ended=102.35)
LOAD = Workload(name="load", num=100_000)
WAITED = "load_default_settle_wait"


def output(name: str) -> DbBenchOutput:
    return parse_output((OUTPUTS / f"{name}.txt").read_text().partition("--- stderr")[0])


def metrics(
    name: str, workload: Workload = LOAD, log: RocksdbLog = SETTLED_LOG
) -> dict[str, float]:
    return trial_metrics(output(name), log, ENDED, workload, DEFAULTS)


# 61,068,865 flushed, 185,062,903 compacted and 105,600,000 user bytes; 63,212.2 keys are expected.
FIGURES = {
    "waf": (61_068_865 + 185_062_903) / 105_600_000,
    "waf_with_wal": (61_068_865 + 185_062_903 + 105_600_000) / 105_600_000,
    "lsm_bytes": int(38.53 * 2**20),
    "sa": pytest.approx(int(38.53 * 2**20) / (63_212.2 * 1040), rel=1e-5),
    "load_time": 1.525,
    "time": pytest.approx(1.525 + (102.35 - 101.6)),  # the load and what was left to settle
    "rate": 100_000 / 1.525,
    "memory": 2 * 64 * 2**20 + 8 * 2**20,  # all memtables and the cache at full scale
    "write_p50": 3.75,
    "write_p99": 19.75,
    "write_p999": 2592.31,
    # Of the load, not of the wait for its tree: RocksDB says 8.3 percent of 6.6 s, 0.543 s.
    "stall_percent": pytest.approx(100 * 0.543 / 1.525, rel=1e-3),
    "cpu_seconds": 3.0,
    # While there was work to do: not in the 9.5 s that the process lived.
    "cpu_percent": pytest.approx(100 * 3.0 / (1.525 + 0.75) / 4),
    "wall_seconds": 9.5,
    "device_bytes": 4096,
}  # the process was too short for its memory to be seen


def test_all_metrics_of_a_real_output():
    assert metrics(WAITED) == FIGURES


def test_the_rate_is_operations_over_seconds_of_the_measured_benchmarks():
    mixed = Workload(
        name="mixed", num=50_000, threads=2, benchmarks=("fillrandom", "readrandomwriterandom"),
        measured=("readrandomwriterandom",),
    )  # fmt: skip
    found = metrics("mixed_50_50_2_threads", mixed)
    assert found["rate"] == 100_000 / 2.230
    assert found["load_time"] == pytest.approx(1.542 + 2.230)


def test_what_is_not_told_is_left_out_or_taken_from_rocksdb_s_own_percentage():
    whole = output(WAITED)
    rest = {name: count for name, count in whole.tickers.items() if name != "stall.micros"}
    unknown = replace(ENDED, processors=None)
    found = trial_metrics(replace(whole, tickers=rest), SETTLED_LOG, unknown, LOAD, DEFAULTS)
    assert found["stall_percent"] == 8.3 and "cpu_percent" not in found
    found = trial_metrics(whole, SETTLED_LOG, ENDED, LOAD, DEFAULTS, with_sa=False)
    assert FIGURES.keys() - found.keys() == {"sa"}


@pytest.mark.parametrize(("settle", "seconds"), [("none", 0.0), ("flush", 0.2), ("wait", 0.75)])
def test_settling_lasts_as_long_as_the_policy_pays_for(settle: str, seconds: float):
    workload = replace(LOAD, settle=settle)  # type: ignore[arg-type]
    assert settling_seconds(SETTLED_LOG, workload) == pytest.approx(seconds)


def test_work_that_ended_before_the_flush_did_adds_nothing():
    log = replace(SETTLED_LOG, work_ended=101.7)
    assert settling_seconds(log, LOAD) == pytest.approx(0.2)
    assert settling_seconds(replace(log, work_ended=None), LOAD) == pytest.approx(0.2)


@pytest.mark.parametrize("settle", ["flush", "wait"])
def test_a_log_without_a_flush_is_a_missing_measurement(settle: str):
    workload = replace(LOAD, settle=settle)  # type: ignore[arg-type]
    for log in (RocksdbLog(), RocksdbLog(load_ended=1.0), RocksdbLog(flushed=1.0)):
        with pytest.raises(MissingMeasurement, match="no manual flush"):
            settling_seconds(log, workload)


def without(ticker: str) -> DbBenchOutput:
    whole = output(WAITED)
    return replace(whole, tickers={n: count for n, count in whole.tickers.items() if n != ticker})


def repeated(*seconds: float, name: str = "fillrandom") -> DbBenchOutput:
    """The real output with so many lines of one benchmark."""
    whole = output(WAITED)
    lines = [
        replace(whole.lines[0], name=name, seconds=each, latencies={"write_p99": 10 * each})
        for each in seconds
    ]
    return replace(whole, lines=tuple(lines))


def of(*names: str) -> Workload:
    return replace(LOAD, benchmarks=names, measured=names)


NO_KEYS = {**output(WAITED).tickers, "number.keys.written": 0}


@pytest.mark.parametrize(
    ("printed", "workload", "missing"),
    [
        (output(WAITED), of("fillrandom", "overwrite"), "no line for overwrite"),
        (repeated(1.0, 2.0), of("fillrandom[X3]"), "2 of 3 lines for fillrandom"),
        (without("bytes.written"), LOAD, "bytes.written"),
        (without("flush.write.bytes"), LOAD, "flush.write.bytes"),
        (without("compact.write.bytes"), LOAD, "compact.write.bytes"),
        (replace(output(WAITED), live_bytes=None), LOAD, "live files"),
        (repeated(0.0), LOAD, "no time"),
        (replace(repeated(1.0, name="readwhilewriting"), tickers=NO_KEYS), of("readwhilewriting"),
         "no benchmark of the load"),
    ],
)  # fmt: skip
def test_what_is_not_printed_is_a_missing_measurement(
    printed: DbBenchOutput, workload: Workload, missing: str
):
    with pytest.raises(MissingMeasurement, match=missing):
        trial_metrics(printed, SETTLED_LOG, ENDED, workload, DEFAULTS)


def test_latencies_are_those_of_the_measured_benchmarks():
    both = ("fillrandom", "readrandomwriterandom")
    mixed = replace(LOAD, benchmarks=both, measured=both[:1])
    filled = metrics("mixed_50_50_2_threads", mixed)
    assert "write_p99" in filled and "read_p99" not in filled
    mixture = metrics("mixed_50_50_2_threads", replace(mixed, measured=both[1:]))
    assert mixture["read_p99"] == 232.35 and mixture["write_p99"] == 29.39 != filled["write_p99"]


def test_of_a_repeated_benchmark_the_rate_is_of_all_runs_and_warm_ups_are_left_out():
    load = of("fillrandom[W1-X2]")
    found = trial_metrics(repeated(9.0, 1.0, 3.0), SETTLED_LOG, ENDED, load, DEFAULTS)
    assert found["rate"] == 200_000 / 4.0
    assert found["load_time"] == 13.0
    assert found["write_p99"] == 20.0
    # Three times as many draws of as many keys.
    assert found["sa"] == pytest.approx(int(38.53 * 2**20) / (95_021 * 1040), rel=1e-3)


def test_each_column_family_has_write_buffers_of_its_own():
    values = {**DEFAULTS, **replace(LOAD, flags=(("num_column_families", 4),)).facts()}
    found = trial_metrics(output(WAITED), SETTLED_LOG, ENDED, LOAD, values)
    assert found["memory"] == 4 * 2 * 64 * 2**20 + 8 * 2**20


def test_a_run_that_was_cut_off_gives_a_lower_bound_of_time_and_an_upper_one_of_rate():
    log = RocksdbLog(opened=100.5, tickers={"bytes.written": 1000, "flush.write.bytes": 1500})
    found = censored_metrics(log, ENDED, LOAD, DEFAULTS)
    assert found["time"] == pytest.approx(9.0)
    assert found["rate"] == pytest.approx(100_000 / 9.0)
    assert found["waf_partial"] == 1.5
    assert not found.keys() & {"waf", "sa", "load_time"}
    over = RocksdbLog(opened=100.0, load_ended=102.0)
    assert censored_metrics(over, ENDED, LOAD, DEFAULTS)["rate"] == 50_000
    several = of("fillrandom", "overwrite")
    assert "rate" not in censored_metrics(RocksdbLog(), ENDED, several, DEFAULTS)


SMALL = {"write_buffer_size": 8 * 2**20}
Flags = tuple[tuple[str, Value], ...]


@pytest.mark.db_bench
def test_compression_lowers_write_amplification_though_the_printed_figure_says_otherwise(
    measure: Measure,
):
    # Flushes alone: how many compactions there are depends on how busy the machine is.
    names = ("file_num_compaction_trigger", "slowdown_writes_trigger", "stop_writes_trigger")
    flat = {f"level0_{name}": 1_000 for name in names} | {"max_bytes_for_level_base": 2**40}
    waf = {
        codec: measure(
            {**SMALL, **flat, "compression_type": codec}, num=10_000, settle="flush"
        ).outcome.metrics["waf"]
        for codec in ("none", "snappy")
    }
    assert 0.99 < waf["none"] < 1.1
    assert waf["snappy"] < 0.65


def reads(kept: Kept) -> int:
    """How many keys a scan of the whole database found."""
    lines = {line.name: line for line in parse_output(kept.stdout).lines}
    return lines["readseq"].operations


@pytest.mark.db_bench
@pytest.mark.parametrize(
    ("fills", "threads", "flags"),
    [
        (("fillrandom",), 1, ()),
        (("fillrandom", "overwrite"), 1, ()),
        (("fillrandom",), 2, ()),
        (("fillbatch",), 1, (("writes", 4_500),)),
        (
            ("fillrandom", "readrandomwriterandom"),
            1,
            (("reads", 60_000), ("readwritepercent", 50)),
        ),
    ],
    ids=["once", "overwritten", "two threads", "in batches", "more reads than keys"],
)
def test_a_load_leaves_the_expected_number_of_distinct_keys(
    fills: tuple[str, ...], threads: int, flags: Flags, measure: Measure
):
    load: dict[str, Any] = {"num": 20_000, "threads": threads, "flags": flags}
    kept = measure({}, benchmarks=(*fills, "compact", "readseq"), measured=fills, **load)
    expected = replace(TINY, benchmarks=fills, **load).distinct_keys(threads)
    # Each thread scans the whole database, and at most `num` keys of it.
    assert reads(kept) / threads == pytest.approx(expected, rel=0.01)


@pytest.mark.db_bench
def test_keys_of_a_load_without_a_set_number_of_writes_are_told_by_those_counted(
    measure: Measure,
):
    load: dict[str, Any] = {"num": 100_000, "flags": (("duration", 1),)}
    fills = ("fillrandom", "readwhilewriting")
    kept = measure({}, benchmarks=(*fills, "compact", "readseq"), measured=fills, **load)
    written = kept.outcome.counters["number.keys.written"]
    expected = replace(TINY, benchmarks=fills, **load).distinct_keys(1, written)
    assert reads(kept) == pytest.approx(expected, rel=0.01)


@pytest.mark.db_bench
def test_counters_of_flushes_and_compactions_hold_blob_files(measure: Measure):
    # At rest: with a mere flush a compaction may end after db_bench has printed its counters, and
    # then the files of the LOG count (``stored_bytes``), as they did once on a busy machine.
    kept = measure({**SMALL, "enable_blob_files": True}, "blob", num=10_000, settle="wait")
    blobs = sum(size for name, size in kept.live_files.items() if name.endswith(".blob"))
    tables = sum(size for name, size in kept.live_files.items() if name.endswith(".sst"))
    counters = kept.outcome.counters
    assert blobs > 5_000_000 > tables
    stored = counters["flush.write.bytes"] + counters["compact.write.bytes"]
    assert stored >= blobs + tables
    assert kept.outcome.metrics["waf"] == stored / counters["bytes.written"]
    assert counters["flush.write.bytes"] == pytest.approx(blobs, rel=0.1)


@pytest.mark.db_bench
@pytest.mark.parametrize("space", ["default", "blob"])
def test_counters_add_up_to_what_the_kernel_wrote_for_the_process(space: str, measure: Measure):
    blobs = {"enable_blob_files": True} if space == "blob" else {}
    direct = {"use_direct_io_for_flush_and_compaction": True}
    kept = measure({**SMALL, **blobs, **direct}, space, num=20_000, settle="flush")
    counters = kept.outcome.counters
    stored = counters["flush.write.bytes"] + counters["compact.write.bytes"]
    # The write-ahead log may still be in the page cache, and pages are whole.
    assert kept.ended.device_bytes >= 0.9 * stored
    assert kept.ended.device_bytes <= 1.3 * (stored + counters["wal.bytes"]) + 16 * 2**20


@pytest.mark.parametrize(
    ("counted", "files", "at_rest", "stored"),
    [
        (16, 1000, True, 1000),  # what another thread wrote RocksDB does not count
        (16, 1000, False, 1000),
        (1000, 990, True, 1000),
        (1000, 990, False, 1000),
        (1000, 0, True, 1000),
        (1000, 0, False, 1000),
        (1000, 1010, False, 1010),  # where nobody waits for rest some came after the counters
        (1000, 1010, True, 1000),  # files are a little more than blocks
    ],
)
def test_files_count_where_they_are_more(counted: int, files: int, at_rest: bool, stored: int):
    assert stored_bytes(counted, RocksdbLog(created_bytes=files), at_rest=at_rest) == stored


def test_a_real_compaction_that_ended_after_the_counters_counts():
    """By the counters alone write amplification was 0.85% less than by the files."""
    packed = (OUTPUTS / "load_settle_flush_compacting.LOG.gz").read_bytes()
    log = parse_log(gzip.decompress(packed).decode())
    printed = output("load_settle_flush_compacting").tickers
    counted = printed["flush.write.bytes"] + printed["compact.write.bytes"]
    assert log.created_bytes == 128_563_648 > 1.008 * counted
    workload = Workload(name="load", num=30_000, settle="flush")
    found = metrics("load_settle_flush_compacting", workload, log)
    assert found["waf"] == 128_563_648 / 31_680_000
    assert found["waf_with_wal"] == (128_563_648 + printed["wal.bytes"]) / 31_680_000


def test_a_log_whose_files_have_no_size_measures_nothing():
    told = RocksdbLog(lacking={("table_file_creation", "file_size"): 3})
    with pytest.raises(MissingMeasurement, match="3 table_file_creation events without file_size"):
        metrics(WAITED, log=told)
    levels = RocksdbLog(lacking={("compaction_finished", "output_level"): 3})
    assert stored_bytes(1000, levels, at_rest=True) == 1000
