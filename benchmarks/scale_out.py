"""How far one controller reaches: 500 hosts, 100,000 trials, benchmarks that take no time.

Run with ``python -m benchmarks.scale_out [--hosts N...] [--trials N] [--strategy S...]``, alone on
the machine; where the ``PG*`` variables name a server it is kept there, else in a SQLite file.
Everything is real but the hosts: the tuning run, the strategy, the store with its lease. Time is
the controller's CPU time and the wall's; the first and last tenth are shown apart.
"""

from __future__ import annotations

import argparse
import os
import resource
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

import psycopg
from sqlalchemy import Engine
from sqlalchemy.engine import URL

from benchmarks.simulated_hosts import SimulatedHosts
from db.connection.engine import make_engine
from db.connection.migrate import upgrade_tables
from db.jobs.job_store import JobStore
from db.leases import acquire, renew, this_process_name
from db.trials.trial_log import StoredTrialLog
from jobs.execution.assembly import assembly_of
from jobs.specification.specification import Specification, checked
from optimizer.objective.objective_file import load_objective, objective_document
from optimizer.run.driver import Driver, tune
from optimizer.run.planning import Budget, RunProgress
from optimizer.run.ports import Unwatched
from optimizer.strategies.registry import find_strategy
from optimizer.trials.trial import Trial

_WORKLOAD = {"name": "instant", "command": {"argv": ["true"], "timeout_seconds": 60}}
_SPACE = {
    "name": "codecs",
    "parameter": [
        {"name": "codec", "type": "cat", "choices": ["slow", "fast"]},
        {"name": "level", "type": "int", "low": 1, "high": 1_000_000},
        *(
            {"name": f"idle_{n}", "type": "float", "low": 0.0, "high": 1.0, "default": 0.5}
            for n in range(28)
        ),
    ],
}
_RENEW_SECONDS = 10.0
_HEAD = ("database", "strategy", "hosts", "trials", "CPU ms/trial", "wall ms/trial",
         "first 10%", "last 10%", "longest pause s", "trials/s", "busy hosts at 60 s", "RSS MiB",
         )  # fmt: skip


@dataclass(frozen=True)
class Reached:
    """What a job took.

    Attributes:
        cpu, wall: Milliseconds a trial, of the controller.
        first, last: Wall milliseconds a trial in the first and the last tenth.
        pause: The longest time between two trials: where hosts wait for a ranking.
        rss: Peak resident memory in MiB.
    """

    database: str
    strategy: str
    hosts: int
    trials: int
    cpu: float
    wall: float
    first: float
    last: float
    pause: float
    rss: float

    @property
    def kept_busy(self) -> float:
        """Hosts that one controller keeps busy with trials of a minute."""
        return 60.0 * 1000 / self.last

    def cells(self) -> tuple[str, ...]:
        """A row of the table."""
        return (
            self.database, self.strategy, f"{self.hosts}", f"{self.trials:,}", f"{self.cpu:.2f}",
            f"{self.wall:.2f}", f"{self.first:.2f}", f"{self.last:.2f}", f"{self.pause:.1f}",
            f"{1000 / self.wall:.0f}", f"{self.kept_busy:,.0f}", f"{self.rss:.0f}",
        )  # fmt: skip


class _Clock(Unwatched):
    """Notes when each trial ended, and keeps the lease."""

    def __init__(self, keep: object) -> None:
        self._keep = keep
        self.ended: list[float] = []
        self._kept = time.monotonic()

    def trial_ended(self, trial: Trial, standing: RunProgress) -> None:
        """A trial ended."""
        del trial, standing
        now = time.monotonic()
        self.ended.append(now)
        if now - self._kept > _RENEW_SECONDS:
            self._keep()  # type: ignore[operator]
            self._kept = now

    def tick(self) -> None:
        """Never: a simulated host is never waited for."""

    def host_excluded(self, host: str, why: str) -> None:
        """None of them drifts."""
        raise AssertionError(f"{host} was excluded: {why}")


def reach(engine: Engine, strategy: str, hosts: int, trials: int) -> Reached:
    """Runs one job to its end."""
    draft = Specification.model_construct(
        workload=_WORKLOAD,
        space=_SPACE,
        objective=objective_document(load_objective("paper")),
        shipped_space=False,
        strategy=strategy,
        trials=trials,
    )
    specification = checked(draft)
    assembly = assembly_of(specification, None)
    store = JobStore(engine)
    job_id = store.create_job(specification.document(), specification.digest())
    lease = acquire(engine, job_id, this_process_name())
    clock = _Clock(lambda: renew(engine, lease))
    driver = Driver(
        assembly.problem,
        Budget(trials=trials),
        find_strategy(strategy),
        StoredTrialLog(engine, lease),
        observer=clock,
    )
    began, cpu = time.monotonic(), time.process_time()
    tune(driver, SimulatedHosts(hosts))
    cpu, wall = time.process_time() - cpu, time.monotonic() - began
    ended, tenth = clock.ended, max(1, trials // 10)
    gaps = [after - before for before, after in pairwise(ended)]
    return Reached(
        database=engine.dialect.name,
        strategy=strategy,
        hosts=hosts,
        trials=len(ended),
        cpu=1000 * cpu / len(ended),
        wall=1000 * wall / len(ended),
        first=1000 * (ended[tenth] - ended[0]) / tenth,
        last=1000 * (ended[-1] - ended[-1 - tenth]) / tenth,
        pause=max(gaps),
        rss=resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024,
    )


def _engine(folder: Path) -> Engine:
    if "PGHOST" in os.environ:
        name = "rocktune_scale_out"
        with psycopg.connect(dbname="postgres", autocommit=True) as server:
            server.execute(f"DROP DATABASE IF EXISTS {name}")
            server.execute(f"CREATE DATABASE {name}")
        url = URL.create("postgresql", database=name)
        engine = make_engine(url.render_as_string())
    else:
        engine = make_engine(str(folder / "scale.db"))
    upgrade_tables(engine)
    return engine


def main(arguments: Sequence[str] | None = None) -> None:
    """Prints the table, a row as soon as it is measured."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--hosts", type=int, nargs="+", default=[1, 50, 500])
    parser.add_argument("--trials", type=int, default=100_000)
    parser.add_argument("--strategy", nargs="+", default=["random", "genetic"])
    asked = parser.parse_args(arguments)
    print(f"| {' | '.join(_HEAD)} |")
    print(f"|{'---|' * len(_HEAD)}")
    with tempfile.TemporaryDirectory() as folder:
        engine = _engine(Path(folder))
        for strategy in asked.strategy:
            for hosts in asked.hosts:
                reached = reach(engine, strategy, hosts, asked.trials)
                print(f"| {' | '.join(reached.cells())} |", flush=True)
        engine.dispose()


if __name__ == "__main__":
    main()
