"""Reads of the tree that a run has left: what they measure, and that the run stays as it was."""

import re
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import pytest

from sampler.bench.bench_plan import BenchPlan
from sampler.bench.db_bench import DbBench
from sampler.bench.following import TreeRead, reads_of_tree
from sampler.bench.installed import InstalledDbBench
from sampler.bench.outcome import EndedProcess, Ending, Outcome, TrialState
from sampler.bench.runner import LocalRunner
from sampler.bench.settings import Settings
from sampler.machine.machine import file_system
from sampler.space.space import Configuration
from sampler.workload.metric_table import (
    COLD,
    READ_BENCHMARKS,
    READS,
    db_bench_metrics,
    metric_unit,
)
from sampler.workload.workload import Command, Prepare, Workload
from sampler.workload.workload_file import load_workload, why_unread
from tests.support.sampler.real_runs import ended, tiny_plan

SMALL: Configuration = {"write_buffer_size": 8 * 2**20}
ENDED = ended(device_read_bytes=2**20)


@dataclass(frozen=True)
class Seen(DbBench):
    """The real benchmark, which keeps the outcome before its tree is read."""

    before: list[Outcome] = field(default_factory=list)

    def following(
        self, configuration: Configuration, folder: Path, outcome: Outcome, *, reads: int
    ) -> Any:
        self.before.append(outcome)
        return super().following(configuration, folder, outcome, reads=reads)


def run(
    installed: InstalledDbBench, settings: Settings, *, reads: int = 1, **load: Any
) -> tuple[Outcome, Outcome]:
    """The outcome before the reads, and the whole one."""
    benchmark = Seen(installed, tiny_plan(installed, **load))
    outcome = LocalRunner(benchmark, settings).run(SMALL, reads=reads)
    return benchmark.before[0], outcome


@pytest.mark.db_bench
@pytest.mark.parametrize(
    "load",
    [
        {"num": 8_000, "settle": "wait"},
        {"num": 4_000, "threads": 2, "benchmarks": ("fillseq", "overwrite"), "settle": "flush",
         "measured": ("overwrite",)},
        {"num": 4_000, "benchmarks": ("overwrite",), "measured": ("overwrite",),
         "prepare": Prepare(benchmarks=("fillrandom",), num=4_000)},
        {"num": 4_000, "benchmarks": ("fillrandom", "deleterandom"), "measured": ("fillrandom",),
         "flags": (("deletes", 100),)},
    ],
    ids=["filled", "overwritten", "prepared", "deleted"],
)  # fmt: skip
def test_a_tree_is_read_after_the_run_whose_own_metrics_stay(
    load: dict[str, Any], installed: InstalledDbBench, settings: Settings
):
    before, outcome = run(installed, settings, **load)
    on_device = file_system(settings.bench_dir)[1] != "tmpfs"  # there every page stays in memory
    assert outcome.state is TrialState.DONE
    assert (outcome.warnings == before.warnings) is on_device
    found = dict(outcome.metrics)
    reads = {name: found.pop(name) for name in (READS if on_device else READ_BENCHMARKS)}
    found = {name: value for name, value in found.items() if name in before.metrics}
    assert found == before.metrics and outcome.counters == before.counters
    assert all(0 < value < 1e8 for value in reads.values())
    assert outcome.bench_seconds > before.bench_seconds


@pytest.mark.db_bench
def test_nothing_is_read_where_nobody_asks(installed: InstalledDbBench, settings: Settings):
    before, outcome = run(installed, settings, reads=0)
    assert replace(outcome, waited_seconds=0.0) == replace(before, waited_seconds=0.0)


def test_metrics_of_reads_are_rates_and_known_before_a_job():
    assert {metric_unit(name) for name in READS} == {"ops/s"}
    assert {*READS} <= {*db_bench_metrics(load_workload("load-quick"))}
    assert not {*READS} & {*db_bench_metrics(load_workload("read-quick"))}


@pytest.mark.parametrize(
    ("workload", "why"),
    [
        (Workload(name="w"), ""),
        (load_workload("mixed-quick"), ""),
        (load_workload("readwhilewriting-quick"), ""),
        (load_workload("read-quick"), "only reads"),
        (Workload(name="w", command=Command(argv=("x",), timeout_seconds=1)), "command"),
        (Workload(name="w", external=True), "your own runner"),
        (Workload(name="w", flags=(("num_column_families", 2),)), "column family"),
        (Workload(name="w", flags=(("transaction_db", True),)), "transaction database"),
    ],
)
def test_where_none_can_be_measured_it_is_said(workload: Workload, why: str):
    assert bool(why) == bool(why_unread(workload)) and why in why_unread(workload)


LINE = "readrandom : 20.0 micros/op {} ops/sec 0.2 seconds 1000 operations; ({} of 1000 found)\n"


@pytest.mark.parametrize(
    ("printed", "process", "cold", "why"),
    [
        (LINE.format(50000, 1000), ENDED, True, ""),
        (LINE.format(50000, 600), ENDED, False, ""),
        ("", ENDED, True, "printed no result"),
        (LINE.format(50000, 100), ENDED, False, "only 100 of 1000 keys that the load wrote were"),
        (LINE.format(50000, 1000), replace(ENDED, device_read_bytes=0), True, "keeps its pages"),
        (LINE.format(50000, 1000), replace(ENDED, status=1), True, "exit status 1"),
        (LINE.format(50000, 1000), replace(ENDED, ending=Ending.TIMEOUT), False, "by timeout"),
    ],
)
def test_a_figure_that_is_not_what_it_says_is_left_out_with_a_reason(
    printed: str, process: EndedProcess, cold: bool, why: str,
    installed: InstalledDbBench, tmp_path: Path,
):  # fmt: skip
    plan = tiny_plan(installed)
    reading = TreeRead(Path("db_bench"), plan, SMALL, tmp_path, "read_present", cold)
    reading.outputs.mkdir()
    (reading.outputs / "stdout").write_text(printed)
    measured = Outcome(state=TrialState.DONE, metrics={"waf": 1.0}, bench_seconds=1.0)
    outcome = reading.finish(process, measured)
    assert (outcome.state, outcome.bench_seconds) == (TrialState.DONE, 3.0)
    found = {} if why else {"read_present" + cold * COLD: 50000.0}
    assert outcome.metrics == {"waf": 1.0, **found}
    assert bool(why) == bool(outcome.warnings) and why in "".join(outcome.warnings)


def test_a_tree_that_is_not_in_memory_is_said_to_be_read_from_the_device(
    installed: InstalledDbBench, tmp_path: Path
):
    reading = TreeRead(Path("x"), tiny_plan(installed), SMALL, tmp_path, "read_present", False)
    reading.outputs.mkdir()
    (reading.outputs / "stdout").write_text(LINE.format(50000, 1000))
    there = replace(ENDED, device_read_bytes=2**30)
    outcome = reading.finish(there, Outcome(state=TrialState.DONE))
    assert "read_present" in outcome.metrics
    assert "not read from a warm cache" in outcome.warnings[0]


def rounds_of(
    rates: list[float], plan: BenchPlan, folder: Path, process: EndedProcess = ENDED
) -> Outcome:
    """The outcome after rounds that printed these rates; 0.0: a round that printed nothing."""
    outcome = Outcome(state=TrialState.DONE, metrics={"waf": 1.0})
    for number, rate in enumerate(rates, 1):
        reading = TreeRead(Path("x"), plan, SMALL, folder, "read_present", False, number)
        reading.outputs.mkdir()
        (reading.outputs / "stdout").write_text(LINE.format(int(rate), 1000) * bool(rate))
        outcome = reading.finish(process, outcome)
    return outcome


def test_the_middle_of_the_rounds_counts(installed: InstalledDbBench, tmp_path: Path):
    from_device = replace(ENDED, device_read_bytes=2**30)
    outcome = rounds_of([50_000, 9_000, 52_000], tiny_plan(installed), tmp_path, from_device)
    assert outcome.metrics == {"waf": 1.0, "read_present": 50_000.0}
    assert len(outcome.warnings) == 1 and outcome.bench_seconds == 3 * from_device.wall_seconds


@pytest.mark.parametrize("failed", [0, 1, 2])
def test_a_round_that_failed_leaves_no_figure(
    failed: int, installed: InstalledDbBench, tmp_path: Path
):
    rates = [50_000.0 * (number != failed) for number in range(3)]
    outcome = rounds_of(rates, tiny_plan(installed), tmp_path)
    assert outcome.metrics == {"waf": 1.0}
    assert [*outcome.warnings] == ["read_present is not measured: db_bench printed no result"]


def test_rounds_take_turns_in_folders_of_their_own(installed: InstalledDbBench, tmp_path: Path):
    made = [*reads_of_tree(Path("x"), tiny_plan(installed), SMALL, tmp_path, rounds=3)]
    assert [reading.metric for reading in made] == [*READS] * 3
    assert len({reading.outputs for reading in made}) == 18


def test_reads_ask_for_keys_that_were_written(installed: InstalledDbBench, tmp_path: Path):
    plan = tiny_plan(installed, num=500, seed=7)
    for kind, benchmark in READ_BENCHMARKS.items():
        argv = " ".join(TreeRead(Path("x"), plan, SMALL, tmp_path, kind, False).argv())
        assert f"--benchmarks={benchmark} " in argv and " --readonly=true " in argv
        assert " --seed=7 " in argv and re.search(r" --reads=500 ", argv)
