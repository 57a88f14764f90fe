"""What Rocktune itself takes for each trial, beside the benchmark.

Run with ``python -m benchmarks.overhead [TRIALS...]`` (100 1000 10000 by default). Whole jobs are
run with a benchmark that ends at once, on SQLite and, where the ``PG*`` variables name a server,
on PostgreSQL. A process has to be started for every trial, whoever does it: what that alone costs
is measured beside each job and subtracted. The first and the last tenth of a job's trials are
shown apart: the cost of a trial must not grow with the history.
"""

import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

import psycopg
from sqlalchemy.engine import URL

from db.connection.engine import make_engine
from db.connection.migrate import upgrade_tables
from db.jobs.job_store import JobStore
from jobs.execution.assembly import assemble
from jobs.execution.run_job import run_job
from jobs.specification.named_files import specify
from jobs.specification.specification import Specification
from optimizer.run.planning import RunProgress
from optimizer.run.ports import Unwatched
from optimizer.trials.trial import Trial
from sampler.bench.settings import Settings

TRIALS = (100, 1_000, 10_000)
_BARE = 200
# Its metrics scatter by some percent, or the baseline's noise would cost nothing to look at.
_SCRIPT = """\
n=$(( ($$ * 1103515245 + 12345) / 65536 % 90 + 10 ))
printf '{"waf": 2.%d, "sa": 1.2%d, "time": 3.1%d, "rate": 10%d}\\n' $n $n $n $n
"""
_COMMAND = ("/bin/sh", "-c", _SCRIPT)
_WORKLOAD = f"""\
name = "instant"
[command]
argv = ["/bin/sh", "-c", '''
{_SCRIPT}''']
timeout_seconds = 60
"""
_HEAD = ("database", "trials", "ms/trial", "bare", "net", "first 10%", "last 10%", "last/first",
         "median", "end s")  # fmt: skip


@dataclass(frozen=True)
class Figures:
    """What a job took, in milliseconds a trial.

    Attributes:
        whole: From the end of one trial to the end of the next, the mean of all.
        bare: Of starting the benchmark's command and waiting for it, and nothing else.
        first, last: Net of ``bare``, the mean of the first and of the last tenth.
        median: Net of ``bare``, the median of all.
        end_seconds: From the last trial's end to the result.
    """

    trials: int
    whole: float
    bare: float
    first: float
    last: float
    median: float
    end_seconds: float

    @property
    def net(self) -> float:
        """What Rocktune adds."""
        return self.whole - self.bare

    def row(self, database: str) -> tuple[str, ...]:
        """The figures as the table shows them."""
        numbers = (self.whole, self.bare, self.net, self.first, self.last)
        return (
            database,
            f"{self.trials:,}",
            *(f"{number:.2f}" for number in numbers),
            f"{self.last / self.first:.2f}",
            f"{self.median:.2f}",
            f"{self.end_seconds:.2f}",
        )


class _Clock(Unwatched):
    """Notes when each trial ends."""

    def __init__(self) -> None:
        self.ends = [time.perf_counter()]

    def trial_ended(self, trial: Trial, standing: RunProgress) -> None:
        """Notes the time."""
        del trial, standing
        self.ends.append(time.perf_counter())


def bare_ms(folder: Path, times: int = _BARE) -> float:
    """Milliseconds for starting the command as a trial does and waiting for it, the median."""
    argv = ["setpriv", "--pdeathsig", "KILL", "--", *_COMMAND]
    each = []
    for _ in range(times):
        began = time.perf_counter()
        with (folder / "stdout").open("wb") as out, (folder / "stderr").open("wb") as err:
            process = subprocess.Popen(
                argv,
                env=dict(os.environ),
                stdin=subprocess.DEVNULL,
                stdout=out,
                stderr=err,
                start_new_session=True,
            )
        process.wait()
        each.append(1000 * (time.perf_counter() - began))
    return statistics.median(each)


def measure(url: str, specification: Specification, folder: Path) -> Figures:
    """Runs a whole job.

    Args:
        url: A database; tables are made in it.
        specification: With the instant benchmark.
        folder: An empty one, for all that a trial writes.
    """
    settings = Settings(bench_dir=folder / "bench", lock=folder / "lock", free_bytes=0)
    assembly = assemble(specification, settings)
    engine = make_engine(url)
    try:
        upgrade_tables(engine)
        store = JobStore(engine)
        job = store.create_job(specification.document(), specification.digest())
        before = bare_ms(folder)
        clock = _Clock()
        run_job(engine, job, specification, assembly, settings, progress=clock)
        ended = time.perf_counter()
        bare = (before + bare_ms(folder)) / 2
    finally:
        engine.dispose()
    each = [1000 * (b - a) for a, b in zip(clock.ends, clock.ends[1:], strict=False)]
    tenth = max(len(each) // 10, 1)
    return Figures(
        trials=len(each),
        whole=statistics.fmean(each),
        bare=bare,
        first=statistics.fmean(each[:tenth]) - bare,
        last=statistics.fmean(each[-tenth:]) - bare,
        median=statistics.median(each) - bare,
        end_seconds=ended - clock.ends[-1],
    )


def instant(trials: int, folder: Path, *, strategy: str = "random") -> Specification:
    """A job whose benchmark ends at once."""
    workload = folder / "instant.toml"
    workload.write_text(_WORKLOAD, encoding="utf-8")
    return specify(workload=str(workload), strategy=strategy, trials=trials)


@contextmanager
def server_database() -> Iterator[str]:
    """A new database on the server that the ``PG*`` variables name, dropped in the end."""
    name = f"rocktune_overhead_{os.getpid()}"
    with psycopg.connect(dbname="postgres", autocommit=True) as connection:
        connection.execute(f"CREATE DATABASE {name}".encode())
        try:
            about = connection.info
            url = URL.create(
                "postgresql", about.user, about.password, about.host, about.port, name
            )
            yield url.render_as_string(hide_password=False)
        finally:
            connection.execute(f"DROP DATABASE {name} WITH (FORCE)".encode())


def main(counts: Sequence[int]) -> None:
    """Prints a line for every database and number of trials."""
    print(" | ".join(_HEAD), flush=True)
    with ExitStack() as closing:
        databases = {"SQLite": ""}
        if os.environ.get("PGHOST"):
            databases["PostgreSQL"] = closing.enter_context(server_database())
        for name, url in databases.items():
            for trials in counts:
                with tempfile.TemporaryDirectory(prefix="rocktune-overhead-") as place:
                    folder = Path(place)
                    where = url or str(folder / "rocktune.db")
                    figures = measure(where, instant(trials, folder), folder)
                print(" | ".join(figures.row(name)), flush=True)


if __name__ == "__main__":
    main([int(argument) for argument in sys.argv[1:]] or TRIALS)
