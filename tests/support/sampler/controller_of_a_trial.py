"""A controller for the tests: starts a long db_bench trial, tells so, and waits to be killed.

Usage: python -m tests.support.sampler.controller_of_a_trial BENCH_DIR LOCK [prepares]
"""

import signal
import sys
from pathlib import Path

from sampler.bench.db_bench import DbBench
from sampler.bench.installed import find_db_bench, probe
from sampler.bench.runner import LocalRunner
from sampler.bench.settings import Settings
from sampler.workload.workload import Prepare
from tests.support.sampler.real_runs import tiny_plan

bench_dir, lock = map(Path, sys.argv[1:3])
installed = probe(find_db_bench("db_bench"))
SLOW = {"num": 200_000, "flags": (("benchmark_write_rate_limit", 100_000),)}
if sys.argv[3:] == ["prepares"]:
    fill = Prepare(benchmarks=("fillrandom",), **SLOW)  # type: ignore[arg-type]
    plan = tiny_plan(installed, benchmarks=("readrandom",), prepare=fill)
else:
    plan = tiny_plan(installed, **SLOW)
runner = LocalRunner(
    DbBench(installed, plan), Settings(bench_dir=bench_dir, lock=lock, free_bytes=0)
)
runner.start({})
while not list(bench_dir.glob("trial-*/db/LOG")) and runner.wait(0.05) is None:
    pass  # not yet db_bench itself
print("started", flush=True)  # noqa: T201
signal.pause()
