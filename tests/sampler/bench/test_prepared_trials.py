"""Real trials whose database db_bench prepares in a process of its own.

db_bench sleeps 5 s before it looks whether compactions are left, so they go side by side.
"""

import hashlib
import re
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from pathlib import Path

import pytest

from sampler.bench.bench_folder import FOLDER
from sampler.bench.db_bench import Filling
from sampler.bench.installed import InstalledDbBench
from sampler.bench.outcome import TrialState
from sampler.bench.runner import LocalRunner
from sampler.bench.settings import Settings
from sampler.space.space import Configuration
from sampler.workload.workload import Prepare
from tests.support.sampler.real_runs import Keeping, Kept, tiny_plan

pytestmark = pytest.mark.db_bench
KEYS, READS = 4_000, 3_000
FILL = Prepare(benchmarks=("fillrandom",), num=KEYS)
READING = {
    "benchmarks": ("readrandom",), "measured": ("readrandom",), "num": KEYS, "settle": "wait",
    "prepare": FILL, "flags": (("reads", READS),),
}  # fmt: skip
BESIDE = {**READING, "benchmarks": ("readwhilewriting",), "measured": ("readwhilewriting",)}
# It writes as much however busy the machine is, and so compacts for sure.
OVER = {**READING, "benchmarks": ("overwrite",), "measured": ("overwrite",)}
SMALL = {"write_buffer_size": 8 * 2**20}
LARGER_CACHE = {**SMALL, "cache_size": 256 * 2**20}
FILTERED = {**SMALL, "bloom_bits": 10}


def hashes(bench_dir: Path) -> dict[str, str]:
    """What the copies of a bench folder hold."""
    files = (path for path in bench_dir.glob(f"{FOLDER}/*/db/*") if path.is_file())
    return {path.name: hashlib.sha256(path.read_bytes()).hexdigest() for path in files}


@dataclass(frozen=True)
class Runs:
    """The runs of one host, and the copies after each."""

    kept: list[Kept]
    copies: list[dict[str, str]]


@pytest.fixture(scope="module")
def runs(
    installed: InstalledDbBench, tmp_path_factory: pytest.TempPathFactory
) -> Mapping[str, Runs]:
    def made(
        folder: Path, load: Mapping[str, object], configurations: list[Configuration]
    ) -> Runs:
        settings = Settings(bench_dir=folder / "bench", lock=folder / "lock", free_bytes=0)
        found = Runs([], [])
        for configuration in configurations:
            benchmark = Keeping(installed, tiny_plan(installed, "reading", **load))
            outcome = LocalRunner(benchmark, settings).run(configuration, share=True)
            found.kept.append(replace(benchmark.kept[0], outcome=outcome))
            found.copies.append(hashes(settings.bench_dir))
        return found

    asked = {
        "reading": (READING, [SMALL, LARGER_CACHE]),
        "beside": (BESIDE, [SMALL]),
        "over": (OVER, [SMALL, SMALL]),
        "filtered": (READING, [FILTERED]),
    }
    with ThreadPoolExecutor() as pool:
        # Each trial ends with the thread that started it, so a host's runs are one task.
        # pytest makes folders in one thread only.
        folders = {name: tmp_path_factory.mktemp(name) for name in asked}
        tasks = {name: pool.submit(made, folders[name], *each) for name, each in asked.items()}
        return {name: task.result() for name, task in tasks.items()}


@pytest.mark.parametrize("name", ["reading", "beside", "filtered"])
def test_a_prepared_trial_is_measured(name: str, runs: Mapping[str, Runs]):
    for kept in runs[name].kept:
        assert (kept.outcome.state, kept.outcome.failure) == (TrialState.DONE, None)
        assert {"rate", "read_p99", "sa", "whole_waf"} <= kept.outcome.metrics.keys()
        assert kept.outcome.counters["number.keys.read"] == READS


def test_counters_are_those_of_the_measured_process_alone(runs: Mapping[str, Runs]):
    outcome = runs["reading"].kept[0].outcome
    assert outcome.counters["bytes.written"] == 0
    assert outcome.counters["flush.write.bytes"] == 0
    assert not {"waf", "waf_with_wal", "write_p99"} & outcome.metrics.keys()
    assert outcome.metrics["time"] == outcome.metrics["load_time"]
    assert outcome.metrics["rate"] == pytest.approx(READS / outcome.metrics["time"])


def test_the_whole_write_amplification_holds_what_was_prepared(runs: Mapping[str, Runs]):
    reading, beside = (runs[name].kept[0] for name in ("reading", "beside"))
    written = KEYS * (16 + 1024)
    stored = reading.outcome.metrics["whole_waf"] * written
    # Overhead of a batch in the log counts as user bytes, too (12 + 9 bytes a key).
    assert sum(reading.live_files.values()) <= stored * 1.1
    measured = beside.outcome.counters
    assert measured["number.keys.written"] > 0
    bytes_stored = measured["flush.write.bytes"] + measured["compact.write.bytes"]
    assert beside.outcome.metrics["waf"] == bytes_stored / measured["bytes.written"]
    assert beside.outcome.metrics["whole_waf"] != beside.outcome.metrics["waf"]


def test_space_is_that_at_the_end_over_all_keys_that_are_there(runs: Mapping[str, Runs]):
    for name in ("reading", "beside"):
        kept = runs[name].kept[0]
        later = kept.outcome.counters["number.keys.written"]
        keys = KEYS * (1 - (1 - 1 / KEYS) ** (KEYS + later))
        live = sum(kept.live_files.values())
        assert kept.outcome.metrics["lsm_bytes"] == live
        assert kept.outcome.metrics["sa"] == pytest.approx(live / (keys * 1040), rel=1e-6)


def test_reads_ask_for_other_keys_than_the_fill_wrote_in_its_order(runs: Mapping[str, Runs]):
    found = re.search(r"\((\d+) of (\d+) found\)", runs["reading"].kept[0].stdout)
    assert found is not None
    assert int(found[1]) / int(found[2]) == pytest.approx(1 - 1 / 2.71828, abs=0.05)


def test_the_database_is_prepared_under_the_configuration_s_own_options(
    runs: Mapping[str, Runs],
):
    plain, filtered = (runs[n].kept[0].outcome.counters for n in ("reading", "filtered"))
    assert plain["bloom.filter.useful"] == 0
    assert filtered["bloom.filter.useful"] > 0.3 * READS


def test_preparing_counts_as_time_of_the_benchmark(runs: Mapping[str, Runs]):
    metrics, seconds = (
        getattr(runs["filtered"].kept[0].outcome, each) for each in ("metrics", "bench_seconds")
    )
    assert seconds == pytest.approx(metrics["prepare_seconds"] + metrics["wall_seconds"])
    assert metrics["time"] < metrics["wall_seconds"] < metrics["prepare_seconds"]


def test_another_cache_is_measured_on_a_copy_of_the_same_database(runs: Mapping[str, Runs]):
    first, second = runs["reading"].kept
    assert second.live_files == first.live_files
    # By its LOG: the statistics leave the cache out when they could not be collected in time.
    assert (
        f"capacity : {4 * 2**20}\n" in second.log and f"capacity : {4 * 2**20}\n" not in first.log
    )
    assert second.outcome.effective == LARGER_CACHE
    assert second.outcome.bench_seconds == second.outcome.metrics["wall_seconds"]
    for metric in ("sa", "whole_waf", "prepare_seconds"):
        assert second.outcome.metrics[metric] == first.outcome.metrics[metric]


def test_a_trial_that_writes_changes_nothing_in_the_copy_that_it_took(runs: Mapping[str, Runs]):
    first, second = runs["over"].copies
    assert runs["over"].kept[1].outcome.counters["compact.write.bytes"] > 0
    assert any(name.endswith(".sst") for name in first)
    assert first == second
    assert not {"LOG", "LOCK"} & first.keys()


def test_options_that_exclude_each_other_fail_while_it_is_prepared(
    installed: InstalledDbBench, settings: Settings
):
    conflict = {"mmap_write": True, "use_direct_io_for_flush_and_compaction": True}
    plan = tiny_plan(installed, "all", **READING)
    outcome = LocalRunner(Keeping(installed, plan), settings).run(conflict)
    assert outcome.state is TrialState.FAILED
    assert outcome.failure is not None
    assert outcome.failure.startswith("while preparing the database: ")
    assert "then direct I/O writes" in outcome.failure
    assert outcome.bench_seconds > 0
    assert list(settings.bench_dir.iterdir()) == []


def key(installed: InstalledDbBench, configuration: Configuration, **load: object) -> str | None:
    plan = tiny_plan(installed, "all", **{**READING, **load})
    assert plan.workload.prepare is not None
    preparing = Filling(installed, plan, plan.workload.prepare, configuration, Path())
    return preparing.key()


@pytest.mark.parametrize(
    ("other", "load"),
    [
        ({"cache_size": 64 * 2**20}, {}),
        ({}, {"threads": 4}),
        ({}, {"flags": (("reads", 7),)}),
        ({}, {"benchmarks": ("readseq",), "measured": ("readseq",)}),
        ({}, {"timeout_seconds": 5}),
    ],
)
def test_what_acts_at_run_time_alone_shares_a_database(other, load, installed: InstalledDbBench):
    assert key(installed, {**SMALL, **other}, **load) == key(installed, SMALL) is not None


@pytest.mark.parametrize(
    ("other", "load"),
    [
        ({"block_size": 8192}, {}),
        ({"bloom_bits": 10}, {}),
        ({"compression_type": "zstd"}, {}),
        ({"max_background_jobs": 8}, {}),
        ({"cache_index_and_filter_blocks": True}, {}),
        ({"mmap_read": True}, {}),
        ({}, {"prepare": replace(FILL, num=KEYS + 1)}),
        ({}, {"prepare": replace(FILL, threads=2)}),
        ({}, {"prepare": replace(FILL, benchmarks=("fillseq",))}),
        ({}, {"prepare": replace(FILL, flags=(("disable_wal", True),))}),
        ({}, {"value_size": 100}),
        ({}, {"compression_ratio": 0.25}),
        ({}, {"seed": 43}),
        ({}, {"scale": 32}),
    ],
)
def test_what_may_shape_the_database_does_not(other, load, installed: InstalledDbBench):
    assert key(installed, {**SMALL, **other}, **load) != key(installed, SMALL)


def test_another_build_and_another_boot_share_nothing(
    installed: InstalledDbBench, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
):
    here = key(installed, SMALL)
    program = tmp_path / "db_bench"
    program.write_text("another")
    assert key(replace(installed, version="7.8.4"), SMALL) != here
    assert key(replace(installed, program=program), SMALL) != here
    monkeypatch.setattr("sampler.bench.db_bench.line_of", lambda _: "another boot")
    rebooted = key(installed, SMALL)
    monkeypatch.setattr("sampler.bench.db_bench.host_name", lambda: "another host")
    assert len({here, rebooted, key(installed, SMALL)}) == 3


def test_a_workload_may_want_no_database_shared(installed: InstalledDbBench):
    assert key(installed, SMALL, prepare=replace(FILL, share=False)) is None
