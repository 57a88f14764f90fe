import gzip
from dataclasses import replace
from typing import Any

import pytest

from sampler.bench.metrics import (
    MissingMeasurement,
    censored_metrics,
    load_seconds,
    settling_seconds,
    stored_bytes,
    trial_metrics,
)
from sampler.bench.outcome import EndedProcess, Ending
from sampler.bench.output import DbBenchOutput, RocksdbLog, parse_log, parse_output
from sampler.rocksdb.parameters import Value, catalogue
from sampler.workload.workload import Workload
from tests.support.sampler.real_runs import OUTPUTS, TINY, Kept, Measure

DEFAULTS = {name: parameter.default for name, parameter in catalogue().items()}
ENDED = EndedProcess(
    ending=Ending.EXIT,
    status=0,
    wall_seconds=9.5,
    cpu_seconds=3.0,
    peak_rss=0,
    device_bytes=4096,
    processors=4,
)
SETTLED_LOG = RocksdbLog(opened=100.0, load_ended=101.6, flushed=101.8, work_ended=102.35)
LOAD = Workload(name="load", num=100_000)
WAITED = "load_default_settle_wait"


def output(name: str) -> DbBenchOutput:
    return parse_output((OUTPUTS / f"{name}.txt").read_text().partition("--- stderr")[0])


def metrics(
    name: str, workload: Workload = LOAD, log: RocksdbLog = SETTLED_LOG
) -> dict[str, float]:
    return trial_metrics(output(name), log, ENDED, workload, DEFAULTS)


def test_write_amplification_is_stored_bytes_over_user_bytes():
    found = metrics("load_default_settle_wait")
    assert found["waf"] == (61_068_865 + 185_062_903) / 105_600_000
    assert found["waf_with_wal"] == (61_068_865 + 185_062_903 + 105_600_000) / 105_600_000


def test_space_amplification_is_live_bytes_over_distinct_user_bytes():
    found = metrics("load_default_settle_wait")
    assert found["lsm_bytes"] == int(38.53 * 2**20)
    assert found["sa"] == pytest.approx(int(38.53 * 2**20) / (63_212.2 * 1040), rel=1e-5)


def test_time_is_the_load_and_what_was_left_to_settle():
    found = metrics("load_default_settle_wait")
    assert found["load_time"] == 1.525
    assert found["time"] == pytest.approx(1.525 + (102.35 - 101.6))


def test_the_rate_is_operations_over_seconds_of_the_measured_benchmarks():
    assert metrics("load_default_settle_wait")["rate"] == 100_000 / 1.525
    mixed = Workload(
        name="mixed",
        num=50_000,
        threads=2,
        benchmarks=("fillrandom", "readrandomwriterandom"),
        measured=("readrandomwriterandom",),
    )
    found = metrics("mixed_50_50_2_threads", mixed)
    assert found["rate"] == 100_000 / 2.230
    assert found["load_time"] == pytest.approx(1.542 + 2.230)


def test_memory_is_all_memtables_and_the_cache_at_full_scale():
    assert metrics("load_default_settle_wait")["memory"] == 2 * 64 * 2**20 + 8 * 2**20


def test_what_the_kernel_and_rocksdb_tell_besides_is_kept():
    found = metrics("load_default_settle_wait")
    assert (found["write_p50"], found["write_p99"]) == (3.75, 19.75)
    assert found["cpu_seconds"] == 3.0
    assert (found["wall_seconds"], found["device_bytes"]) == (9.5, 4096)
    assert "peak_rss" not in found  # it was too short to be seen


def test_stalls_are_a_share_of_the_load_and_not_of_the_wait_for_its_tree():
    """RocksDB says 8.3 percent of 6.6 s: 0.543 s, in which the load took 1.525."""
    found = metrics("load_default_settle_wait")
    assert found["stall_percent"] == pytest.approx(100 * 0.543 / 1.525, rel=1e-3)
    whole = output("load_default_settle_wait")
    rest = {name: count for name, count in whole.tickers.items() if name != "stall.micros"}
    uncounted = replace(whole, tickers=rest)  # all that is told is RocksDB's own percentage
    assert trial_metrics(uncounted, SETTLED_LOG, ENDED, LOAD, DEFAULTS)["stall_percent"] == 8.3


def test_cpu_use_is_of_all_processors_while_there_was_work_to_do():
    """3 CPU seconds in 2.275 s of load and settling, not in the 9.5 s that the process lived."""
    assert metrics("load_default_settle_wait")["cpu_percent"] == pytest.approx(
        100 * 3.0 / (1.525 + 0.75) / 4
    )
    unknown = replace(ENDED, processors=None)
    found = trial_metrics(output("load_default_settle_wait"), SETTLED_LOG, unknown, LOAD, DEFAULTS)
    assert "cpu_percent" not in found


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


def test_a_benchmark_without_its_line_is_a_missing_measurement():
    both = replace(LOAD, benchmarks=("fillrandom", "overwrite"))
    with pytest.raises(MissingMeasurement, match="no line for overwrite"):
        load_seconds(output("load_default_settle_none"), both)


@pytest.mark.parametrize("ticker", ["bytes.written", "flush.write.bytes", "compact.write.bytes"])
def test_a_counter_that_is_not_there_is_a_missing_measurement(ticker: str):
    whole = output("load_default_settle_wait")
    tickers = {name: count for name, count in whole.tickers.items() if name != ticker}
    with pytest.raises(MissingMeasurement, match=ticker):
        trial_metrics(replace(whole, tickers=tickers), SETTLED_LOG, ENDED, LOAD, DEFAULTS)


def test_a_tree_of_unknown_size_is_a_missing_measurement():
    unknown = replace(output("load_default_settle_wait"), live_bytes=None)
    with pytest.raises(MissingMeasurement, match="live files"):
        trial_metrics(unknown, SETTLED_LOG, ENDED, LOAD, DEFAULTS)


def test_a_load_that_took_no_time_is_a_missing_measurement():
    whole = output("load_default_settle_wait")
    instant = replace(whole, lines=(replace(whole.lines[0], seconds=0.0),))
    with pytest.raises(MissingMeasurement, match="no time"):
        trial_metrics(instant, SETTLED_LOG, ENDED, LOAD, DEFAULTS)


def test_a_load_that_is_not_known_to_leave_keys_is_a_missing_measurement():
    beside = ("readwhilewriting",)
    unknown = replace(LOAD, benchmarks=beside, measured=beside)
    lines = tuple(replace(line, name="readwhilewriting") for line in output(WAITED).lines)
    nothing = {**output(WAITED).tickers, "number.keys.written": 0}
    with pytest.raises(MissingMeasurement, match="no benchmark of the load"):
        trial_metrics(
            replace(output(WAITED), lines=lines, tickers=nothing),
            SETTLED_LOG,
            ENDED,
            unknown,
            DEFAULTS,
        )


def test_latencies_are_those_of_the_measured_benchmarks():
    both = ("fillrandom", "readrandomwriterandom")
    mixed = replace(LOAD, benchmarks=both, measured=both[:1])
    filled = metrics("mixed_50_50_2_threads", mixed)
    assert "write_p99" in filled and "read_p99" not in filled
    mixture = metrics("mixed_50_50_2_threads", replace(mixed, measured=both[1:]))
    assert mixture["read_p99"] == 232.35 and mixture["write_p99"] == 29.39 != filled["write_p99"]


def repeated(*seconds: float) -> DbBenchOutput:
    whole = output(WAITED)
    lines = [
        replace(whole.lines[0], seconds=each, latencies={"write_p99": 10 * each})
        for each in seconds
    ]
    return replace(whole, lines=tuple(lines))


def test_of_a_repeated_benchmark_the_rate_is_of_all_runs_and_warm_ups_are_left_out():
    name = ("fillrandom[W1-X2]",)
    load = replace(LOAD, benchmarks=name, measured=name)
    found = trial_metrics(repeated(9.0, 1.0, 3.0), SETTLED_LOG, ENDED, load, DEFAULTS)
    assert found["rate"] == 200_000 / 4.0
    assert found["load_time"] == 13.0
    assert found["write_p99"] == 20.0
    # Three times as many draws of as many keys.
    assert found["sa"] == pytest.approx(int(38.53 * 2**20) / (95_021 * 1040), rel=1e-3)


def test_a_run_that_is_missing_of_a_repeated_benchmark_is_a_missing_measurement():
    name = ("fillrandom[X3]",)
    load = replace(LOAD, benchmarks=name, measured=name)
    with pytest.raises(MissingMeasurement, match="2 of 3 lines for fillrandom"):
        trial_metrics(repeated(1.0, 2.0), SETTLED_LOG, ENDED, load, DEFAULTS)


def test_what_a_scan_must_tell_is_left_out():
    found = trial_metrics(output(WAITED), SETTLED_LOG, ENDED, LOAD, DEFAULTS, with_sa=False)
    assert "sa" not in found and found["lsm_bytes"] == int(38.53 * 2**20)


def test_each_column_family_has_write_buffers_of_its_own():
    values = {**DEFAULTS, **replace(LOAD, flags=(("num_column_families", 4),)).facts()}
    found = trial_metrics(output(WAITED), SETTLED_LOG, ENDED, LOAD, values)
    assert found["memory"] == 4 * 2 * 64 * 2**20 + 8 * 2**20


def test_a_run_that_was_cut_off_gives_a_lower_bound_of_time_and_an_upper_one_of_rate():
    log = RocksdbLog(opened=100.5, tickers={"bytes.written": 1000, "flush.write.bytes": 1500})
    found = censored_metrics(log, ENDED, 100.0, LOAD, DEFAULTS)
    assert found["time"] == pytest.approx(9.0)
    assert found["rate"] == pytest.approx(100_000 / 9.0)
    assert found["waf_partial"] == 1.5
    assert not found.keys() & {"waf", "sa", "load_time"}


def test_the_rate_of_a_load_that_was_over_when_cut_off_is_its_own():
    log = RocksdbLog(opened=100.0, load_ended=102.0)
    assert censored_metrics(log, ENDED, 100.0, LOAD, DEFAULTS)["rate"] == 50_000


def test_a_cut_off_sequence_of_benchmarks_has_no_bound_of_its_rate():
    both = replace(LOAD, benchmarks=("fillrandom", "overwrite"))
    assert "rate" not in censored_metrics(RocksdbLog(), ENDED, 100.0, both, DEFAULTS)


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


def test_files_count_where_rocksdb_does_not_count_what_another_thread_wrote():
    for at_rest in (True, False):
        assert stored_bytes(16, RocksdbLog(created_bytes=1000), at_rest=at_rest) == 1000
        assert stored_bytes(1000, RocksdbLog(created_bytes=990), at_rest=at_rest) == 1000
        assert stored_bytes(1000, RocksdbLog(), at_rest=at_rest) == 1000


def test_files_that_came_after_the_counters_count_where_nobody_waits_for_rest():
    late = RocksdbLog(created_bytes=1010)
    assert stored_bytes(1000, late, at_rest=False) == 1010
    assert stored_bytes(1000, late, at_rest=True) == 1000  # files are a little more than blocks


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
        metrics("load_default_settle_wait", log=told)
    levels = RocksdbLog(lacking={("compaction_finished", "output_level"): 3})
    assert stored_bytes(1000, levels, at_rest=True) == 1000
