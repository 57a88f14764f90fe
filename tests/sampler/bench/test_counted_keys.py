"""Space amplification where keys are deleted, merged or drawn in another way: by a scan."""

from dataclasses import replace
from pathlib import Path

import pytest

from sampler.bench.bench_plan import BenchPlan
from sampler.bench.following import KeyCount
from sampler.bench.installed import InstalledDbBench
from sampler.bench.outcome import EndedProcess, Ending, Outcome, TrialState
from sampler.bench.settings import Settings
from sampler.rocksdb.options_file import CF, OptionsFile
from sampler.workload.db_bench_benchmarks import BENCHMARKS
from sampler.workload.metric_table import db_bench_metrics
from sampler.workload.workload import Workload
from sampler.workload.workload_file import why_counted, why_untold
from studies.space_amplification import MOST_OFF, Load, judge, loads, page
from tests.support.sampler.real_runs import ended, tiny_plan
from tests.support.sampler.versions import need_before

JUDGED = (
    "fillrandom", "readrandomwriterandom", "deleterandom", "mergerandom", "appendrandom",
    "timeseries", "randomreplacekeys", "mixgraph", "readwhilewriting", "overwrite_probability",
    "range tombstones", "writes beyond num", "fewer unique keys", "a second fill",
    "fillrandom[W1-X2]", "values of all sizes", "short keys", "transactions",
)  # fmt: skip
LOADS = {load.name: load for load in loads((7, 8))}
DELETES = Workload(name="w", benchmarks=("fillrandom", "deleterandom"), flags=(("deletes", 9),))
ENDED = ended()


@pytest.mark.db_bench
@pytest.mark.parametrize("name", JUDGED)
def test_space_amplification_is_that_of_a_full_scan(
    name: str, installed: InstalledDbBench, settings: Settings
):
    if name == "transactions":
        need_before(installed, 11)  # 11.8.1's own randomtransaction aborts: Prepare without a name
    row = judge(LOADS[name], installed, settings, num=10_000)
    assert (row["state"], row["failure"]) == ("done", None)
    assert row["keys"] > 0 and abs(row["off"]) < MOST_OFF


def test_every_benchmark_that_is_measured_is_judged():
    judged = {each for load in loads((99, 0)) for each in load.document["benchmarks"]}
    assert {name for name, known in BENCHMARKS.items() if not known.refused} <= judged


def test_the_page_tells_the_worst():
    row = {
        "load": "fillrandom", "way": "computed", "keys": 12_000, "told": 0.51, "scanned": 0.5,
        "off": 0.02, "date": "2026-11-25", "machine": "a machine", "rocksdb": "7.8.3", "num": 1000,
    }  # fmt: skip
    text = page([row, {**row, "load": "other", "told": None, "off": None}])
    assert "Worst difference: 2.00% of 1 loads; not told: 1." in text
    assert "| fillrandom | computed | 12,000 | 0.5100 | 0.5000 | +2.00% |" in text


@pytest.mark.parametrize("name", ["load", "overwrite", "mixed-50-50", "read-quick", "sine"])
def test_an_ordinary_load_pays_for_no_scan(name: str):
    from sampler.workload.workload_file import load_workload

    assert why_counted(load_workload(name), OptionsFile({CF: {}})) == ""


@pytest.mark.parametrize(
    ("benchmarks", "flags", "why"),
    [
        (("fillseq", "deleterandom"), (), "deleterandom"),
        (("filluniquerandom",), (("overwrite_probability", 0.5),), "overwrite_probability"),
        (("fillrandom",), (("value_size_distribution_type", "uniform"),), "different sizes"),
        (("fillrandom",), (("writes_per_range_tombstone", 5),), "writes_per_range_tombstone"),
    ],
)
def test_what_changes_the_keys_that_are_left_is_counted(
    benchmarks: tuple[str, ...], flags: tuple[tuple[str, float], ...], why: str
):
    load = Workload(name="w", benchmarks=benchmarks, flags=flags)
    assert why in why_counted(load)
    assert why_untold(load) == "" and "sa" in db_bench_metrics(load)


def test_deletes_before_the_database_began_anew_leave_nothing():
    load = Workload(name="w", benchmarks=("overwrite", "deleterandom", "fillseq"))
    assert why_counted(load) == ""
    assert load.distinct_keys(1) == load.num


def test_fifo_compaction_drops_keys():
    options = OptionsFile({CF: {"compaction_style": "kCompactionStyleFIFO"}})
    assert "FIFO" in why_counted(Workload(name="w"), options)


def test_deletes_in_several_column_families_cannot_be_counted():
    load = replace(DELETES, flags=(("num_column_families", 3),))
    assert "3 column families" in why_untold(load)
    assert "sa" not in db_bench_metrics(load)


@pytest.mark.db_bench
def test_of_several_families_a_trial_says_that_it_does_not_tell(
    installed: InstalledDbBench, settings: Settings
):
    document = {**LOADS["deleterandom"].document}
    document["flags"] = {"num_column_families": 2, "deletes": 100}
    row = judge(Load("families", document), installed, settings, num=10_000)
    assert (row["state"], row["told"], row["way"]) == ("done", None, "not told")


@pytest.mark.parametrize(
    ("process", "stdout", "stderr", "why"),
    [
        (ENDED, "", "", "none found"),
        (replace(ENDED, status=1), "", "open error: IO error\n", "open error: IO error"),
        (replace(ENDED, ending=Ending.TIMEOUT), "", "", "ended by timeout after 2 s"),
    ],
)
def test_a_count_that_fails_leaves_sa_out_and_says_why(
    process: EndedProcess, stdout: str, stderr: str, why: str, tmp_path: Path
):
    (tmp_path / "count").mkdir()
    (tmp_path / "count" / "stdout").write_text(stdout)
    (tmp_path / "count" / "stderr").write_text(stderr)
    measured = Outcome(state=TrialState.DONE, metrics={"lsm_bytes": 8.0}, bench_seconds=1.0)
    outcome = KeyCount(Path("db_bench"), DELETES, tmp_path).finish(process, measured)
    assert (outcome.state, outcome.bench_seconds) == (TrialState.DONE, 3.0)
    assert "sa" not in outcome.metrics
    assert outcome.warnings == (f"sa is not measured: counting live keys failed: {why}",)


@pytest.mark.db_bench
def test_the_merge_operator_of_a_load_is_in_the_options_of_its_trials_alone(
    installed: InstalledDbBench,
):
    flags = (("merge_operator", "put"),)
    plan: BenchPlan = tiny_plan(installed, benchmarks=("mergerandom",), flags=flags)
    assert plan.options({}).get(CF, "merge_operator") == "put"
    assert plan.export({}).get(CF, "merge_operator") is None
    own = replace(plan, baseline_file=OptionsFile({CF: {"merge_operator": "max"}}))
    assert own.options({}).get(CF, "merge_operator") == "max"
