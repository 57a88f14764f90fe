"""A controller in a process of its own, for the tests to start, watch and kill.

``hold URL JOB``: takes the job's lease, prints its epoch, and waits until it is killed.
``write URL COUNT JOB...``: one thread for each job writes ``COUNT`` more trials (0: without end)
and prints each number once ``finish`` has returned.
"""

import os
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import replace
from datetime import UTC, datetime
from itertools import count

from sqlalchemy import Engine

from db.connection.engine import make_engine
from db.leases import acquire, release, this_process_name
from db.trials.trial_log import StoredTrialLog
from optimizer.trials.trial import Phase, Purpose, Trial
from sampler.bench.outcome import TrialState
from tests.support import ROOT


def ended_trial(number: int) -> Trial:
    """A trial whose every part is made of its number, so that half a row would show."""
    return Trial(
        number=number,
        phase=Phase.SAMPLE,
        purpose=Purpose.CANDIDATE,
        seed=number * 7919,
        configuration={f"option_{i:02}": number * 100 + i for i in range(30)},
        digest=f"digest-{number}",
        point={f"option_{i:02}": number / (i + 1) for i in range(30)},
        why=f"draw {number}",
        based_on=number - 1,
        state=TrialState.DONE,
        metrics={"waf": number * 1.5, "sa": number * 1.25, "time": number / 3, "p99": number / 7},
        counters={"bytes.written": number * 4096, "stall.micros": number},
        effective={f"option_{i:02}": number * 100 + i for i in range(30)},
        warnings=(f"warning {number}",),
        bench_seconds=number / 11,
        host="bench-1",
        started_at=datetime(2026, 1, 1, tzinfo=UTC),
        finished_at=datetime(2026, 1, 2, tzinfo=UTC),
    )


def proposed_trial(number: int) -> Trial:
    """The same trial before it was measured."""
    return replace(
        ended_trial(number),
        state=TrialState.RUNNING,
        metrics={},
        counters={},
        effective=None,
        warnings=(),
        bench_seconds=0.0,
        host=None,
        finished_at=None,
    )


@contextmanager
def started(*arguments: object) -> Iterator[subprocess.Popen[str]]:
    """Runs this file; whatever happens, nothing of it stays behind."""
    command = [sys.executable, "-u", __file__, *map(str, arguments)]
    root = ROOT
    process = subprocess.Popen(
        command,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        cwd=root,
        env={**os.environ, "PYTHONPATH": str(root)},
    )
    with process:
        try:
            yield process
        finally:
            process.kill()


def write(engine: Engine, wanted: int, job_id: int) -> None:
    lease = acquire(engine, job_id, this_process_name())
    log = StoredTrialLog(engine, lease)
    unfinished = (trial.number for trial in log.trials() if trial.state is TrialState.RUNNING)
    first = next(unfinished, len(log.trials()) + 1)
    for number in count(first):
        if wanted and number == first + wanted:
            break
        log.propose(proposed_trial(number))
        log.finish(ended_trial(number))
        sys.stdout.write(f"{number}\n")
    release(engine, lease)


def main(task: str, url: str, *rest: str) -> None:
    engine = make_engine(url)
    if task == "hold":
        print(acquire(engine, int(rest[0]), this_process_name()).epoch)  # noqa: T201
        sys.stdin.readline()
    else:
        wanted, *jobs = map(int, rest)
        with ThreadPoolExecutor(len(jobs)) as threads:
            for written in [threads.submit(write, engine, wanted, job) for job in jobs]:
                written.result()
    engine.dispose()


if __name__ == "__main__":
    main(*sys.argv[1:])
