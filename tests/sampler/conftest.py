from dataclasses import replace
from pathlib import Path

import pytest

from sampler.bench.installed import InstalledDbBench
from sampler.bench.outcome import Outcome
from sampler.bench.runner import LocalRunner
from sampler.bench.settings import Settings
from sampler.space.space import Configuration
from tests.support.sampler.real_runs import Keeping, Kept, Measure, tiny_plan


@pytest.fixture(scope="session")
def measured_flush(installed: InstalledDbBench, tmp_path_factory: pytest.TempPathFactory) -> Kept:
    """A finished run of 20,000 keys that ends with a flush: its outputs, LOG and outcome."""
    folder = tmp_path_factory.mktemp("measured")
    plan = tiny_plan(installed, "default", num=20_000, settle="flush")
    settings = Settings(bench_dir=folder / "bench", lock=folder / "lock", free_bytes=0)
    benchmark = Keeping(installed, plan)
    outcome = LocalRunner(benchmark, settings).run({"write_buffer_size": 8 * 2**20})
    return replace(benchmark.kept[0], outcome=outcome)


@pytest.fixture
def measure(installed: InstalledDbBench, settings: Settings) -> Measure:
    """Runs one tiny trial for real and keeps what it left."""

    def run(configuration: Configuration, space: str = "default", **load: object) -> Kept:
        benchmark = Keeping(installed, tiny_plan(installed, space, **load))
        outcome: Outcome = LocalRunner(benchmark, settings).run(configuration)
        return replace(benchmark.kept[0], outcome=outcome)

    return run


@pytest.fixture
def bench_folder(tmp_path: Path) -> Path:
    folder = tmp_path / "trial"
    folder.mkdir()
    return folder
