"""Whether ending a run as soon as the tree is at rest counts the same as waiting for db_bench.

Run with ``python -m studies.settled_early [RUNS]``. Each configuration of the default space is
left to run until db_bench itself ends; then the counters that the LOG held when the tree came to
rest are compared with the last ones that db_bench printed, and the files in the folder with the
list of live files that it printed.
"""

import random
import shutil
import sys
import tempfile
import time
from pathlib import Path

from jobs.execution.assembly import assemble
from jobs.specification.named_files import specify
from sampler.bench.db_bench import DbBench
from sampler.bench.db_bench_output import parse_output
from sampler.bench.rocksdb_log import parse_log
from sampler.bench.run_ending import at_rest
from sampler.runner.process import BenchProcess, Ending, Limits
from sampler.runner.settings import Settings
from sampler.space.space import Configuration

_COUNTERS = ("bytes.written", "flush.write.bytes", "compact.write.bytes", "wal.bytes")


def main(runs: int) -> int:
    """Prints one line a run and a summary; returns the number of differences."""
    assembly = assemble(specify(workload="load-quick"), Settings())
    assert isinstance(assembly.benchmark, DbBench)
    different = ended = 0
    for run in range(runs):
        rng = random.Random(run)
        point = {name: rng.random() for name in assembly.problem.space.names}
        configuration = assembly.problem.configuration(point)
        folder = Path(tempfile.mkdtemp(prefix="rocktune-settled-"))
        try:
            verdict = _compare(assembly.benchmark, configuration, folder)
        finally:
            shutil.rmtree(folder)
        print(f"run {run + 1}: {verdict}", flush=True)
        ended += verdict != "db_bench did not end by itself"
        different += verdict.startswith("differs")
    print(f"{different} of {ended} runs that ended by themselves differ")
    return different


def _compare(benchmark: DbBench, configuration: Configuration, folder: Path) -> str:
    process = BenchProcess(
        benchmark.prepare(configuration, folder),
        folder=folder,
        work_in=folder,
        environment=benchmark.environment(),
        limits=Limits(timeout_seconds=90),
    )
    early = None
    while (ended := process.wait(0.25)) is None:
        if early is None and benchmark.settled(folder):
            log = parse_log((folder / "db" / "LOG").read_text(errors="replace"))
            printed = parse_output((folder / "stdout").read_text(errors="replace"))
            early = at_rest(printed, log, folder / "db")
            moment = time.monotonic()
    if ended.ending is not Ending.EXIT:
        return "db_bench did not end by itself"
    last = parse_output((folder / "stdout").read_text(errors="replace"))
    if early is None:
        return "ended by itself before it was seen at rest"
    saved = time.monotonic() - moment
    pairs = {name: (early.tickers.get(name), last.tickers.get(name)) for name in _COUNTERS}
    pairs["live bytes"] = (early.live_bytes, last.live_bytes)
    wrong = {name: pair for name, pair in pairs.items() if pair[0] != pair[1]}
    return f"differs: {wrong}" if wrong else f"the same, {saved:.1f} s sooner"


if __name__ == "__main__":
    sys.exit(1 if main(int(sys.argv[1]) if len(sys.argv) > 1 else 12) else 0)
