"""What the tests of several rooms share: databases, the real db_bench, a bench folder."""

import gc
from pathlib import Path

import pytest
from databases import *  # noqa: F403
from databases import _server_url, _sqlite_template  # noqa: F401

from sampler.installed import InstalledDbBench, find_db_bench, probe
from sampler.settings import Settings


def pytest_collection_finish() -> None:
    """What thousands of tests were collected from stays: no collection of garbage looks at it."""
    gc.collect()
    gc.freeze()


@pytest.fixture(scope="session")
def installed() -> InstalledDbBench:
    return probe(find_db_bench("db_bench"))


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    return Settings(
        db_bench="db_bench",
        bench_dir=tmp_path / "bench",
        lock=tmp_path / "host.lock",
        free_bytes=0,
    )
