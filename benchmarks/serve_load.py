"""How quickly pages are served, and trials stored, beside a million trials.

Run with ``python -m benchmarks.serve_load [--jobs 1000] [--trials 1000] [--seconds 60]
[--db URL]``; without ``--db`` on SQLite in a temporary folder and, where the ``PG*`` variables
name a server, on PostgreSQL. A real server process answers 100 requests a second over 100
connections, in open loop, from this process on the same machine: both share its cores.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import random
import statistics
import subprocess
import sys
import tempfile
import time
from collections import defaultdict
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

from sqlalchemy import Engine, event

from benchmarks.open_loop import Answer, drive
from benchmarks.overhead import server_database
from benchmarks.stocked import copy_job, one_job
from db.connection.engine import make_engine
from db.connection.migrate import upgrade_tables
from db.jobs.job_store import JobStore, read_jobs
from db.leases import acquire, this_process_name
from db.schema.job_row import JobState
from db.trials.trial_log import StoredTrialLog
from optimizer.trials.trial import Trial
from sampler.bench.outcome import TrialState

PAGES = (
    "/v1/jobs",
    "/v1/jobs?state=done&limit=50",
    "/v1/jobs?after={job}",
    "/v1/jobs/{job}",
    "/v1/jobs/{job}/trials",
    "/v1/jobs/{job}/trials?after={number}",
    "/v1/jobs/{job}/parameters",
    "/v1/jobs/{job}/parameters?metric=waf&top=10",
    "/v1/jobs/{job}/anova",
    "/v1/jobs/{job}/pareto",
    "/v1/jobs/{job}/result",
    "/v1/jobs/{job}/report",
    "/v1/jobs/{job}/options",
    "/v1/workloads",
    "/v1/spaces",
    "/v1/hosts",
    "/healthz",
    "/readyz",
    "/metrics",
)
_PER_SECOND = 100.0
_CONNECTIONS = 100
_INSERTS = 200


@contextmanager
def served(url: str) -> Iterator[tuple[int, str]]:
    """A server process of its own; gives its port and its token."""
    command = [sys.executable, "-m", "cli.main", "serve", "--no-worker", "--port=0", "--db", url]
    with tempfile.TemporaryDirectory(prefix="rocktune-token-") as folder:
        token_file = Path(folder) / "token"
        quiet = {
            **os.environ,
            "ROCKTUNE_RATE_LIMIT": "100000/second",
            "ROCKTUNE_TOKEN_FILE": str(token_file),
        }
        with subprocess.Popen(
            command,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            text=True,
            env=quiet,
        ) as process:
            assert process.stderr is not None
            line = next(line for line in process.stderr if "listening" in line)
            try:
                port = int(json.loads(line)["url"].rpartition(":")[2])
                yield port, token_file.read_text().strip()
            finally:
                process.terminate()


def requests(jobs: Sequence[int], trials: int, seconds: float) -> list[tuple[str, str]]:
    """Each page as often as the others, of jobs at random."""
    rng = random.Random(1)
    made = []
    for index in range(round(seconds * _PER_SECOND)):
        page = PAGES[index % len(PAGES)]
        path = page.format(job=rng.choice(jobs), number=rng.randrange(trials))
        made.append((page, path))
    rng.shuffle(made)
    return made


def print_pages(answers: list[Answer]) -> None:
    """A row for each page: how many, what went wrong, and the latencies."""
    by_page: dict[str, list[Answer]] = defaultdict(list)
    for each in answers:
        by_page[each.label].append(each)
        by_page["all"].append(each)
    print("| page | requests | not 200 | p50 ms | p99 ms | worst ms | KiB |")
    print("|---|---|---|---|---|---|---|")
    for page in (*PAGES, "all"):
        times = sorted(1000 * each.seconds for each in by_page[page])
        wrong = sum(each.status != 200 for each in by_page[page])
        size = statistics.median(each.size for each in by_page[page]) / 1024
        p99 = times[min(len(times) - 1, int(0.99 * len(times)))]
        print(f"| `{page}` | {len(times)} | {wrong} | {statistics.median(times):.1f} "
              f"| {p99:.1f} | {times[-1]:.1f} | {size:.0f} |")  # fmt: skip


def time_inserts(engine: Engine, model: Trial) -> tuple[float, float, float]:
    """Median ms of a proposal and of an outcome, and the most statements that either takes."""
    store = JobStore(engine)
    job_id = store.create_job(store.job(1).specification, "inserts")
    log = StoredTrialLog(engine, acquire(engine, job_id, this_process_name()))
    statements = 0

    def count(*_: object) -> None:
        nonlocal statements
        statements += 1

    event.listen(engine, "before_cursor_execute", count)
    proposing: list[float] = []
    finishing: list[float] = []
    most = 0
    for number in range(1, _INSERTS + 1):
        begun = replace(
            model, number=number, state=TrialState.RUNNING, attempt=1, metrics={}, counters={},
            started_at=datetime.now(UTC),
        )  # fmt: skip
        ended = replace(model, number=number, attempt=1, finished_at=datetime.now(UTC))
        for action, times in ((log.propose, proposing), (log.finish, finishing)):
            statements = 0
            began = time.perf_counter()
            action(begun if times is proposing else ended)
            times.append(1000 * (time.perf_counter() - began))
            most = max(most, statements)
    event.remove(engine, "before_cursor_execute", count)
    return statistics.median(proposing), statistics.median(finishing), most


def measure(name: str, url: str, jobs: int, trials: int, seconds: float) -> None:
    """Stocks a database step by step, and measures."""
    engine = make_engine(url)
    upgrade_tables(engine)
    one_job(engine, trials)
    model = JobStore(engine).trials(1, after=trials // 2, limit=1)[0]
    print(f"\n{name}: trials stored, and then one more at a time ({_INSERTS} of them)\n")
    print("| stored | propose, median ms | finish, median ms | statements |\n|---|---|---|---|")
    stored = 1
    for wanted in (1, 10, 100, 1000):
        if wanted > jobs:
            break
        copy_job(engine, 1, wanted - stored)
        stored = wanted
        propose, finish, most = time_inserts(engine, model)
        print(f"| {wanted * trials:,} | {propose:.2f} | {finish:.2f} | {most} |", flush=True)
    copy_job(engine, 1, jobs - stored)
    print(f"\n{name}: {jobs:,} jobs, {jobs * trials:,} trials; {_PER_SECOND:.0f} requests/s over "
          f"{_CONNECTIONS} connections, {seconds:.0f} s\n")  # fmt: skip
    done = [row.id for row in read_jobs(engine, limit=jobs, state=JobState.DONE)]
    with served(url) as (port, token):
        for warm in (True, False):
            asked = requests(done, trials, 5 if warm else seconds)
            answers = asyncio.run(
                drive(
                    "127.0.0.1",
                    port,
                    asked,
                    connections=_CONNECTIONS,
                    per_second=_PER_SECOND,
                    headers=f"Authorization: Bearer {token}\r\n",
                )
            )
        print_pages(answers)
    engine.dispose()


def main() -> None:
    """Measures as the arguments say."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--jobs", type=int, default=1000)
    parser.add_argument("--trials", type=int, default=1000)
    parser.add_argument("--seconds", type=float, default=60.0)
    parser.add_argument("--db")
    asked = parser.parse_args()
    if asked.db:
        measure("the database", asked.db, asked.jobs, asked.trials, asked.seconds)
        return
    with tempfile.TemporaryDirectory(prefix="rocktune-load-") as folder:
        measure("SQLite", f"sqlite:///{folder}/load.db", asked.jobs, asked.trials, asked.seconds)
    if os.environ.get("PGHOST"):
        with server_database() as url:
            measure("PostgreSQL", url, asked.jobs, asked.trials, asked.seconds)


if __name__ == "__main__":
    main()
