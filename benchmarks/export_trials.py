"""How fast and in how much memory one job's trials are exported.

Run with ``python -m benchmarks.export_trials [TRIALS...] [--db URL] [--format csv] [--running]``
(1000 100000 by default, on a new SQLite file; ``--running``: of jobs that are not done yet). The
database that ``--db`` names keeps the jobs: name one to throw away. Trials are drawn from the
default space and have the counters of a recorded run; beyond the first thousands they repeat under
new numbers. For every number of trials: rows a second, from asking for the first byte to having
the last; the processor time of this process for a row, which other programs disturb less; and by
how many MiB its peak of resident memory grew. A peak never falls, so name small jobs first.
"""

import argparse
import random
import resource
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from multiprocessing import get_context
from pathlib import Path
from typing import Any

from sqlalchemy import Engine, Integer, insert, literal, select

from db.connection.engine import make_engine, writing
from db.connection.migrate import upgrade_tables
from db.jobs.job_store import JobStore
from db.leases import acquire, this_process_name
from db.schema.job_row import JobState
from db.schema.tables import trial
from db.trials.trial_export import KEPT_NAMES, TrialNames
from db.trials.trial_log import StoredTrialLog
from db.trials.trial_rows import proposal
from jobs.report.trial_export import csv_chunks, ndjson_chunks, parquet_chunks
from optimizer.trials.trial import Phase, Purpose, Trial
from sampler.bench.outcome import TrialState
from sampler.bench.output import parse_output
from sampler.space.latent import decode
from sampler.space.space import Space, digest
from sampler.space.space_file import load_space

TRIALS = (1_000, 100_000)
FORMATS: dict[str, Callable[[Engine, int], Iterator[bytes]]] = {
    "csv": csv_chunks,
    "ndjson": ndjson_chunks,
    "parquet": parquet_chunks,
}
_MADE = 2_000  # different trials; more are copies of them
_ROOT = Path(__file__).parents[1]
_RECORDED = _ROOT / "tests/data/db_bench_outputs/mixed_50_50_2_threads.txt"
_METRICS = ("waf", "sa", "time", "rate", "memory", "waf_with_wal", "lsm_bytes", "load_time",
            "write_p50", "write_p99", "write_p999", "read_p50", "read_p99", "read_p999",
            "stall_percent", "peak_rss", "cpu_seconds", "device_bytes", "wall_seconds",
            "scan_p50", "scan_p99", "scan_p999", "merge_p50", "merge_p99",
            "merge_p999")  # fmt: skip
_HEAD = ("trials", "rows/s", "seconds", "CPU us/row", "MiB written", "peak growth MiB")
_MIB = 2**20


@dataclass(frozen=True)
class Figures:
    """What an export took.

    Attributes:
        trials: How many were exported.
        seconds: From asking for the first byte to having the last.
        busy: Seconds of processor time of this process.
        written: Bytes.
        growth: Bytes by which the peak resident memory of the process grew.
    """

    trials: int
    seconds: float
    busy: float
    written: int
    growth: int

    def row(self) -> tuple[str, ...]:
        """The figures as the table shows them."""
        return (
            f"{self.trials:,}",
            f"{self.trials / self.seconds:,.0f}",
            f"{self.seconds:.2f}",
            f"{1e6 * self.busy / self.trials:.1f}",
            f"{self.written / _MIB:.1f}",
            f"{self.growth / _MIB:.1f}",
        )


def measured_trial(space: Space, number: int, counters: dict[str, int]) -> Trial:
    """A trial as a real job keeps it: about 30 parameters, 25 metrics, 200 counters."""
    draw = random.Random(number)
    point = {name: draw.random() for name in space.decided_order}
    configuration = decode(space, point)
    began = datetime(2026, 1, 1, tzinfo=UTC) + timedelta(seconds=30.25 * number)
    return Trial(
        number=number,
        phase=Phase.SAMPLE,
        purpose=Purpose.CANDIDATE,
        seed=draw.getrandbits(62),
        configuration=configuration,
        digest=digest(configuration),
        point=point,
        why=f"draw {number} of a Sobol sequence over {len(point)} parameters",
        based_on=number - 1,
        state=TrialState.DONE,
        metrics={name: draw.lognormvariate(3, 2) for name in _METRICS},
        counters={name: int(count * draw.random()) for name, count in counters.items()},
        effective=configuration,
        bench_seconds=draw.uniform(10, 30),
        host="bench-1",
        started_at=began,
        finished_at=began + timedelta(seconds=draw.uniform(10, 30)),
    )


def make_job(address: str, trials: int, done: bool) -> int:
    """Writes a job of so many trials, done or still running; returns its number."""
    engine = make_engine(address)
    try:
        upgrade_tables(engine)
        return _written(engine, trials, done)
    finally:
        engine.dispose()


def _written(engine: Engine, trials: int, done: bool) -> int:
    space = load_space("default")
    counters = dict(parse_output(_RECORDED.read_text(encoding="utf-8")).tickers)
    job_id = JobStore(engine).create_job({"workload": "load"}, "digest")
    made = min(trials, _MADE)
    rows: list[dict[str, Any]] = [
        {**proposal(measured_trial(space, n + 1, counters)), "job_id": job_id, "lease_epoch": 1}
        for n in range(made)
    ]
    with writing(engine) as connection:
        connection.execute(insert(trial), rows)
        names = [c.name for c in trial.columns if c.name not in ("id", "number")]
        for written in range(made, trials, made):
            moved = trial.c.number + literal(written, Integer)
            again = (
                select(moved, *(trial.c[name] for name in names))
                .where(trial.c.job_id == job_id, trial.c.number <= min(made, trials - written))
            )  # fmt: skip
            connection.execute(insert(trial).from_select(["number", *names], again))
    if done:
        lease = acquire(engine, job_id, this_process_name())
        names_of_all = TrialNames.of(measured_trial(space, n + 1, counters) for n in range(made))
        StoredTrialLog(engine, lease).remember(KEPT_NAMES, names_of_all.document())
        JobStore(engine).set_state(job_id, JobState.DONE)
    return job_id


def measure(chunks: Iterator[bytes], trials: int) -> Figures:
    """Takes a whole export and throws it away."""
    before, written = _peak(), 0
    began, busy = time.perf_counter(), time.process_time()
    for chunk in chunks:
        written += len(chunk)
    seconds, busy = time.perf_counter() - began, time.process_time() - busy
    return Figures(trials, seconds, busy, written, _peak() - before)


def _peak() -> int:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024


def main(arguments: Sequence[str] | None = None) -> None:
    """Prints a line for every number of trials."""
    parser = argparse.ArgumentParser(description="Measures the export of trials.")
    parser.add_argument("trials", nargs="*", type=int, default=TRIALS)
    parser.add_argument("--db", help="a database; by default a new SQLite file")
    parser.add_argument("--format", choices=FORMATS, default="csv")
    parser.add_argument("--running", action="store_true", help="jobs that are not done yet")
    given = parser.parse_args(arguments)
    with tempfile.TemporaryDirectory(prefix="rocktune-export-") as folder:
        address = given.db or str(Path(folder) / "rocktune.db")
        # In a process of its own: what it takes would hide what the exports take.
        with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as other:
            jobs = {trials: other.submit(make_job, address, trials, not given.running).result()
                    for trials in given.trials}  # fmt: skip
        engine = make_engine(address)
        try:
            print(" | ".join(_HEAD), flush=True)
            for trials, job_id in jobs.items():
                figures = measure(FORMATS[given.format](engine, job_id), trials)
                print(" | ".join(figures.row()), flush=True)
        finally:
            engine.dispose()


if __name__ == "__main__":
    main()
