"""The service as its users use it: real server, real worker, real db_bench, over HTTP alone."""

import json
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import httpx2
import pytest

from sampler.bench.installed import InstalledDbBench, try_options
from sampler.rocksdb.options_file import CF, parse_options
from tests.support.api.callers import bearer
from tests.support.api.processes import environment, rocktune

pytestmark = pytest.mark.slow

# So small, with memory as small, that a trial takes a fraction of a second; without settling,
# since RocksDB's LOG is slow to say that a tree is at rest.
WORKLOAD = """
name = "small"
num = 10000
scale = 256
settle = "none"
timeout_seconds = 60
"""
BASELINE = (
    "[Version]\n  rocksdb_version=7.8.3\n  options_file_version=1.1\n[DBOptions]\n"
    '[CFOptions "default"]\n  compression=kNoCompression\n'
)
JOB = {
    "workload": "small",
    "trials": 14,
    "strategy": "random",
    "objective": "sa",
    "no_price": True,
    "baseline_options": BASELINE,
    "space": {
        "name": "codecs",
        "parameter": [
            {"name": "compression_type", "choices": ["lz4", "snappy"]},
            {"name": "block_size"},
        ],
    },
}


@pytest.fixture
def service(database_url: str, tmp_path: Path) -> Iterator[httpx2.Client]:
    """Server and worker apart; `serve` does both in the walks of the README and the pages."""
    workloads = tmp_path / "workloads"
    workloads.mkdir()
    (workloads / "small.toml").write_text(WORKLOAD)
    env = environment(tmp_path, ROCKTUNE_WORKLOADS_DIR=str(workloads))
    at = ("--db", database_url)
    with ExitStack() as running:
        arguments = ("serve", "--no-worker", "--port=0", "--migrate", *at)
        server = running.enter_context(rocktune(*arguments, env=env, until="listening"))
        running.enter_context(rocktune("worker", *at, env=env, until="worker is ready"))
        headers = bearer(server.token)
        yield running.enter_context(
            httpx2.Client(base_url=server.url, timeout=30, headers=headers)
        )


def events(service: httpx2.Client, job: str) -> Iterator[tuple[str, Any]]:
    with service.stream("GET", f"{job}/events", timeout=120) as answer:
        assert answer.status_code == 200
        kind = ""
        for line in answer.iter_lines():
            if line.startswith("event: "):
                kind = line.removeprefix("event: ")
            elif line.startswith("data: "):
                yield kind, json.loads(line.removeprefix("data: "))


@pytest.mark.db_bench
@pytest.mark.parametrize("database_url", ["postgresql"], indirect=True)
def test_from_submit_to_a_file_that_rocksdb_loads(
    service: httpx2.Client, installed: InstalledDbBench, tmp_path: Path
):
    made = service.post("/v1/jobs", json=JOB)
    assert made.status_code == 201, made.text
    job = made.headers["location"]

    seen = list(events(service, job))
    kinds = [kind for kind, _ in seen]
    assert kinds[-1] == "end"
    trials = sorted((t["number"], t["phase"]) for kind, t in seen if kind == "trial")
    assert [number for number, _ in trials] == [*range(1, 15)]
    assert list(dict.fromkeys(p for _, p in trials)) == ["baseline", "sample", "confirm"]
    phases = [each["phase"] for kind, each in seen if kind == "job" and each["phase"]]
    # One that begins and ends between two looks at the job is not told of.
    told = dict.fromkeys(phases)
    assert told
    assert list(told) == [each for each in ("baseline", "sample", "confirm") if each in told]
    end = seen[-1][1]
    assert (end["state"], end["done"], end["total"]) == ("done", 14, 14), end

    ranked = service.get(f"{job}/parameters").json()
    assert ranked["final"]
    assert {row["name"] for row in ranked["parameters"]} == {"compression_type", "block_size"}

    answer = service.get(f"{job}/options")
    assert answer.status_code == 200, answer.text
    assert answer.headers["content-disposition"] == 'attachment; filename="OPTIONS.ini"'
    assert answer.headers["content-type"].startswith("text/plain")
    tried = try_options(installed.program, answer.text, tmp_path)
    assert tried.options is not None, tried.complaint
    assert tried.options.sections[CF]["compression"] in ("kLZ4Compression", "kSnappyCompression")
    assert (
        parse_options(answer.text).sections[CF]["compression"]
        == (tried.options.sections[CF]["compression"])
    )
    result = service.get(f"{job}/result").json()
    assert result["best"]["confirmed"]
    assert result["best"]["change"]["sa"]["high"] < -10
