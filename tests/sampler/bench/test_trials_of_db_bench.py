from dataclasses import replace
from typing import Any

import pytest

from sampler.bench import process
from sampler.bench.db_bench import DbBench
from sampler.bench.installed import InstalledDbBench
from sampler.bench.outcome import Ending, TrialState, clock_problem
from sampler.bench.output import parse_log, parse_output
from sampler.bench.runner import LocalRunner
from sampler.bench.settings import Settings
from sampler.rocksdb.options_file import DB, OptionsFile
from tests.support.sampler.real_runs import TINY, Keeping, Measure, ended, tiny_plan
from tests.support.sampler.versions import asserts

pytestmark = pytest.mark.db_bench
SMALL = {"write_buffer_size": 8 * 2**20, "compression_type": "none"}
SLOW = {"num": 200_000, "flags": (("benchmark_write_rate_limit", 100_000),)}
METRICS = {
    "waf", "waf_with_wal", "sa", "lsm_bytes", "time", "load_time", "rate", "memory", "write_p50",
    "write_p99", "write_p999", "stall_percent", "cpu_seconds", "cpu_percent", "device_bytes",
    "wall_seconds",
}  # fmt: skip


@pytest.mark.parametrize("settle", ["none", "flush"])
def test_a_trial_gives_every_metric_counter_and_value_in_effect(
    settle: str, measure: Measure, installed: InstalledDbBench
):
    outcome = measure(SMALL, settle=settle).outcome
    assert (outcome.state, outcome.failure) == (TrialState.DONE, None)
    assert outcome.metrics.keys() >= METRICS
    assert all(0 <= value < 1e15 for value in outcome.metrics.values())
    assert outcome.effective == SMALL
    assert outcome.counters["number.keys.written"] == 2_000
    assert outcome.warnings == installed.warnings
    assert outcome.metrics["memory"] == 2 * 8 * 2**20 + 8 * 2**20


def test_without_settling_only_the_benchmark_s_own_time_counts(measure: Measure):
    kept = measure(SMALL, settle="none")
    (line,) = parse_output(kept.stdout).lines
    assert kept.outcome.metrics["time"] == kept.outcome.metrics["load_time"] == line.seconds
    assert kept.outcome.metrics["rate"] == 2_000 / line.seconds


def test_a_flush_is_paid_for_in_bytes_and_in_time(measure: Measure):
    unpaid, paid = (measure({}, settle=settle).outcome for settle in ("none", "flush"))
    # Without it, how much is flushed when the run ends is chance: db_bench does not wait.
    assert paid.counters["flush.write.bytes"] > 0 and unpaid.state is TrialState.DONE
    assert paid.metrics["time"] > paid.metrics["load_time"]
    assert parse_log(measure({}, settle="none").log).load_ended is None


def test_the_last_key_is_on_disk_after_a_flush(measure: Measure):
    uncompacted = {**SMALL, "level0_file_num_compaction_trigger": 16}
    # Each key once: of two memtables that are flushed together the older value would be dropped.
    fill = ("fillseq",)
    kept = measure(uncompacted, num=1_000, settle="flush", benchmarks=fill, measured=fill)
    assert kept.outcome.counters["compact.write.bytes"] == 0
    assert kept.outcome.counters["flush.write.bytes"] >= 0.95 * 1_000 * 1040
    assert kept.outcome.metrics["lsm_bytes"] == sum(kept.live_files.values())


def test_what_compactions_wrote_is_told_by_level(measure: Measure):
    counters = measure(SMALL, num=20_000, settle="wait").outcome.counters
    levels = {
        name: size for name, size in counters.items() if name.startswith("compact.write.bytes.l")
    }
    # Since RocksDB 8.4 levels are filled from the last one up.
    assert levels.keys() & {"compact.write.bytes.level1", "compact.write.bytes.level6"}
    assert sum(levels.values()) == pytest.approx(counters["compact.write.bytes"], rel=0.02)


def test_threads_each_do_all_the_operations(measure: Measure):
    one, four = (measure({"threads": t}, "paper").outcome for t in (1, 4))
    assert one.counters["bytes.written"] * 4 == pytest.approx(four.counters["bytes.written"], 0.01)
    assert four.metrics["rate"] == pytest.approx(8_000 / four.metrics["load_time"])


def test_values_that_compress_better_are_a_fact_of_the_load(measure: Measure):
    stored = [
        measure(
            {"compression_ratio": r, **SMALL, "compression_type": "snappy"}, "paper"
        ).outcome.metrics["waf"]
        for r in (0.1, 1.0)
    ]
    assert stored[0] < stored[1] / 3


def test_the_same_configuration_writes_the_same_user_bytes_every_time(measure: Measure):
    first, second = (measure(SMALL, settle="flush").outcome.counters for _ in range(2))
    assert first["bytes.written"] == second["bytes.written"]
    assert first["memtable.payload.bytes.at.flush"] == second["memtable.payload.bytes.at.flush"]


def test_a_workload_s_own_flags_reach_db_bench(measure: Measure):
    load = {
        "benchmarks": ("fillrandom", "readrandomwriterandom"),
        "measured": ("readrandomwriterandom",),
        "flags": (("readwritepercent", 50),),
    }
    outcome = measure(SMALL, **load).outcome
    assert outcome.counters["number.keys.written"] == 3_000
    assert {"read_p50", "read_p99", "write_p99"} <= outcome.metrics.keys()


def test_the_larger_of_reads_and_writes_is_what_a_mixture_does(measure: Measure):
    for counts, written in (
        ({"reads": 1_000}, 2_000 + 500),
        ({"reads": 3_000}, 2_000 + 1_500),
        ({"reads": 200, "writes": 1_000}, 1_000 + 500),
    ):
        load: dict[str, Any] = {
            "benchmarks": ("fillrandom", "readrandomwriterandom"),
            "threads": 2,
            "flags": tuple({"readwritepercent": 50, **counts}.items()),
        }
        outcome = measure(SMALL, **load).outcome
        assert outcome.counters["number.keys.written"] == 2 * written
        assert replace(TINY, **load).user_bytes() == written * 1040


def test_the_block_cache_is_given_as_a_flag_at_its_scale(measure: Measure):
    kept = measure({"cache_size": 256 * 2**20}, "all", settle="flush")
    assert "capacity: 4.00 MB" in kept.stdout
    assert kept.outcome.metrics["memory"] == 2 * 64 * 2**20 + 256 * 2**20


def test_a_file_that_has_rocksdb_log_little_is_measured_all_the_same(
    installed: InstalledDbBench, settings: Settings
):
    own = {"info_log_level": "ERROR_LEVEL", "max_log_file_size": "4096"}
    file = OptionsFile({DB: {**own, "log_file_time_to_roll": "1"}})
    plan = replace(tiny_plan(installed, settle="flush"), baseline_file=file)
    outcome = LocalRunner(DbBench(installed, plan), settings).run({})
    assert (outcome.state, outcome.failure) == (TrialState.DONE, None)
    assert plan.export({}).get(DB, "info_log_level") == "ERROR_LEVEL"
    assert plan.unlogged == (*own, "log_file_time_to_roll")
    usual = OptionsFile({DB: {"info_log_level": "INFO_LEVEL", "max_log_file_size": "0"}})
    assert replace(plan, baseline_file=usual).unlogged == ()


CONFLICT = {"mmap_write": True, "use_direct_io_for_flush_and_compaction": True}


def test_options_that_exclude_each_other_fail_in_rocksdb_s_words(measure: Measure):
    outcome = measure(CONFLICT, "all").outcome
    assert outcome.state is TrialState.FAILED
    assert outcome.failure is not None
    assert "(allow_mmap_writes) are enabled then direct I/O writes" in outcome.failure
    assert (outcome.metrics, outcome.effective) == ({}, None)


@pytest.mark.parametrize(
    ("load", "words"),
    [
        ({"benchmarks": ("fillrandon",), "measured": ("fillrandon",)}, "fillrandon"),
        ({"flags": (("no_such_flag", 1),)}, "unknown command line flag 'no_such_flag'"),
        ({"flags": (("compression_ratio", "half"),)}, "compression_ratio"),
    ],
)
def test_what_db_bench_refuses_fails_in_its_words(load, words: str, measure: Measure):
    outcome = measure(SMALL, **load).outcome
    assert (outcome.state, outcome.metrics) == (TrialState.FAILED, {})
    assert outcome.failure is not None and words in outcome.failure


def test_a_crash_is_told_with_its_signal_and_words(measure: Measure, installed: InstalledDbBench):
    if not asserts(installed):
        pytest.skip("a release build asserts nothing")
    mapped = {"mmap_read": True, "use_direct_io_for_flush_and_compaction": True}
    outcome = measure(mapped, "all").outcome
    assert outcome.state is TrialState.FAILED
    assert outcome.failure is not None
    assert outcome.failure.startswith("killed by SIGABRT: db_bench: ")
    assert "Assertion `!options.use_direct_reads' failed." in outcome.failure


def test_a_trial_that_takes_too_long_is_timed_out(measure: Measure):
    kept = measure(SMALL, **SLOW, timeout_seconds=0.5)
    assert kept.ended.ending is Ending.TIMEOUT
    assert kept.outcome.state is TrialState.TIMED_OUT
    assert kept.outcome.failure is not None
    assert kept.outcome.failure.startswith("timed out after ")
    assert kept.outcome.metrics == {}


def test_a_trial_that_is_cut_off_keeps_bounds_and_values_in_effect(
    installed: InstalledDbBench, settings: Settings
):
    plan = tiny_plan(installed, **SLOW)
    runner = LocalRunner(Keeping(installed, plan), settings)
    runner.start(SMALL, cutoff_seconds=1.0)
    outcome = runner.wait(60)
    assert outcome is not None and outcome.state is TrialState.CENSORED
    assert 0 < outcome.metrics["time"] <= outcome.bench_seconds
    assert outcome.metrics["rate"] == pytest.approx(200_000 / outcome.metrics["time"])
    assert not outcome.metrics.keys() & {"waf", "sa"}
    assert outcome.effective == SMALL


@pytest.mark.parametrize(
    ("by", "wrong"), [(0.0, False), (0.1, False), (-0.1, False), (-0.12, True), (3600, True)]
)
def test_a_clock_that_was_set_while_it_ran_is_told(by: float, wrong: bool):
    said = clock_problem(ended(clock_set_by=by))
    assert (said is not None) is wrong
    assert not said or f"jumped by {by:+,.1f} s" in said


@pytest.mark.parametrize(("by", "times"), [(-3600.0, 2), (3600.0, 3)])
def test_seconds_of_such_a_clock_count_for_nothing_and_it_is_measured_again(
    by: float, times: int, measure: Measure, monkeypatch: pytest.MonkeyPatch
):
    real, runs = process._clocks, iter([*[0.0, by] * times, *[0.0] * 9])

    def clocks() -> tuple[float, float]:
        monotonic, wall = real()
        return monotonic, wall + next(runs)

    monkeypatch.setattr(process, "_clocks", clocks)
    outcome = measure({}, settle="flush").outcome
    if times < 3:
        assert outcome.state is TrialState.DONE
        return
    assert (outcome.state, outcome.metrics) == (TrialState.LOST, {})
    assert outcome.failure is not None and f"jumped by {by:+,.1f} s" in outcome.failure
