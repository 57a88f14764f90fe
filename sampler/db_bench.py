"""One trial with db_bench: its command line, and what is made of what it left."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path

from sampler.bench_plan import BenchPlan, effective_values
from sampler.db_bench_output import DbBenchOutput, complaint, parse_output
from sampler.installed import InstalledDbBench, newest_options
from sampler.metrics import MissingMeasurement, censored_metrics, metrics_of
from sampler.options_file import format_options
from sampler.outcome import Outcome, TrialState
from sampler.parameter import Value
from sampler.process import Ended, Ending
from sampler.rocksdb_log import RocksdbLog, parse_log
from sampler.space import Configuration
from sampler.workload import Workload

_SETTLING = {"wait": ("flush", "waitforcompaction"), "flush": ("flush",), "none": ()}
# Output beyond this is of no use to the parser; a trial that floods is ended sooner anyway.
_READ_BYTES = 32 * 2**20
_REST_SECONDS = 1.0


def space_for(workload: Workload) -> int:
    """Free bytes that a trial of a load needs: the data four times over, and a margin."""
    return 4 * workload.user_bytes() + 256 * 2**20


@dataclass(frozen=True)
class DbBench:
    """Measures configurations with an installed db_bench."""

    installed: InstalledDbBench
    plan: BenchPlan

    @property
    def timeout_seconds(self) -> float:
        """A trial that takes longer is ``timed_out``."""
        return self.plan.workload.timeout_seconds

    @property
    def space_bytes(self) -> int:
        """Free bytes that a trial needs."""
        return space_for(self.plan.workload)

    def prepare(self, configuration: Configuration, folder: Path) -> list[str]:
        """Writes the scaled OPTIONS file and returns the command line.

        Flags carry only the workload and deployment parameters: beside a file db_bench ignores
        nearly every option flag, so what is measured is what is exported.
        """
        options = folder / "OPTIONS.ini"
        text = format_options(
            self.plan.options(configuration), rocksdb_version=self.installed.version
        )
        options.write_text(text, encoding="utf-8")
        workload = self.plan.workload
        benchmarks = [*workload.benchmarks, *_SETTLING[workload.settle], "stats", "sstables"]
        flags: dict[str, Value] = {
            "db": str(folder / "db"),
            "options_file": str(options),
            "benchmarks": ",".join(benchmarks),
            "num": workload.num,
            "key_size": workload.key_size,
            "value_size": workload.value_size,
            "threads": workload.threads_of(configuration),
            "compression_ratio": configuration.get(
                "compression_ratio", workload.compression_ratio
            ),
            "seed": workload.seed,
            "statistics": True,
            "histogram": True,
            "progress_reports": False,
            **self.plan.flags(configuration),
            **dict(workload.flags),
        }
        return [str(self.installed.program), *(f"--{n}={_text(v)}" for n, v in flags.items())]

    def environment(self) -> Mapping[str, str]:
        """LOG stamps are in local time: make that UTC."""
        return {**os.environ, "TZ": "UTC", "LC_ALL": "C"}

    def settled(self, folder: Path) -> bool:
        """Whether the load is over, the tree at rest and its counters written to the LOG.

        db_bench 7.8 sleeps 5 s before it looks at the compactions and 10 s between looks, and with
        universal compaction it may never end (RocksDB issue 9275). RocksDB itself begins the next
        compaction within milliseconds of the last one's end, so a second without any is enough.
        """
        if self.plan.workload.settle != "wait":
            return False
        lines = {line.name for line in parse_output(_read(folder / "stdout")).lines}
        if not lines.issuperset(self.plan.workload.benchmarks):
            return False  # still loading: leave the LOG alone
        log = _log_of_size(folder / "db" / "LOG", _size(folder / "db" / "LOG"))
        if log.load_ended is None or log.flushed is None or log.dumped is None or log.working > 0:
            return False
        at_rest = max(log.flushed, log.work_ended or 0.0)
        return log.dumped > at_rest and time.time() - at_rest >= _REST_SECONDS

    def harvest(
        self, configuration: Configuration, folder: Path, ended: Ended, began: float
    ) -> Outcome:
        """What a run came to.

        Args:
            configuration: What was asked for.
            folder: The trial's folder, with ``stdout``, ``stderr`` and the database.
            ended: How the process ended.
            began: When it began, seconds since the epoch.
        """
        printed, said = _read(folder / "stdout"), _read(folder / "stderr")
        output = parse_output(printed)
        aside = parse_output(said)  # some versions warn on the other stream
        output = replace(
            output,
            warnings=tuple({**dict.fromkeys(output.warnings), **dict.fromkeys(aside.warnings)}),
        )
        log = parse_log(_read(folder / "db" / "LOG"))
        if ended.ending is Ending.SETTLED:
            output = at_rest(output, log, folder / "db")
        written = newest_options(folder / "db")
        scale = self.plan.workload.scale
        effective, changed = (
            effective_values(written, configuration, self.plan.space, scale=scale)
            if written
            else (None, ())
        )
        values = self.plan.space.complete(effective or configuration)

        def outcome(
            state: TrialState, metrics: Mapping[str, float], failure: str | None = None
        ) -> Outcome:
            return Outcome(
                state=state,
                metrics=metrics,
                counters=output.tickers or log.tickers,
                effective=effective,
                failure=failure,
                warnings=(*output.warnings, *changed),
                bench_seconds=ended.wall_seconds,
                by_host=ended.ending is Ending.DISK_FULL,
            )

        if ended.ending is Ending.CUTOFF:
            why = f"cut off after {ended.wall_seconds:.1f} s, too slow to win"
            metrics = censored_metrics(log, ended, began, self.plan.workload, values)
            return outcome(TrialState.CENSORED, metrics, why)
        problem = ending_problem(ended, said, log)
        if problem:
            return outcome(problem[0], {}, problem[1])
        try:
            metrics = metrics_of(output, log, ended, self.plan.workload, values)
        except MissingMeasurement as missing:
            return outcome(TrialState.FAILED, {}, f"{missing}; {complaint(said)}".rstrip("; "))
        return outcome(TrialState.DONE, metrics)


def at_rest(output: DbBenchOutput, log: RocksdbLog, database: Path) -> DbBenchOutput:
    """The output of a run that was ended at rest, completed from what RocksDB left behind.

    With no compaction under way every table and blob file in the folder is a live one, and the
    LOG's last counters are the last.
    """
    files = [path for kind in ("*.sst", "*.blob") for path in database.glob(kind)]
    live = sum(path.stat().st_size for path in files)
    return replace(output, tickers=log.tickers, live_bytes=live, stall_percent=log.stall_percent)


def ending_problem(
    ended: Ended, said: str, log: RocksdbLog | None = None
) -> tuple[TrialState, str] | None:
    """The state and the reason of a run that did not end well; None for one that did."""
    match ended.ending:
        case Ending.TIMEOUT:
            settling = " while it settled" if log and log.load_ended else ""
            return TrialState.TIMED_OUT, f"timed out after {ended.wall_seconds:.0f} s{settling}"
        case Ending.DISK_FULL:
            return TrialState.FAILED, "ended because the disk of the bench folder was nearly full"
        case Ending.FLOOD:
            return TrialState.FAILED, "ended because it printed without end"
        case Ending.CANCELLED:
            return TrialState.LOST, "cancelled"
    if ended.status == 0 or ended.ending is Ending.SETTLED:
        return None
    words = complaint(said)
    if ended.status < 0:
        try:
            name = signal.Signals(-ended.status).name
        except ValueError:
            name = f"signal {-ended.status}"
        return TrialState.FAILED, f"killed by {name}: {words}".rstrip(": ")
    return TrialState.FAILED, words or f"exit status {ended.status} without a word"


@lru_cache(maxsize=2)
def _log_of_size(path: Path, size: int) -> RocksdbLog:
    """The LOG, read again only when it has grown: beside compactions every look costs them."""
    del size
    return parse_log(_read(path))


def _size(path: Path) -> int:
    try:
        return path.stat().st_size
    except OSError:
        return 0


def _text(value: Value) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def _read(path: Path) -> str:
    """The text of a file, its end if it is too long; empty if there is none."""
    try:
        with path.open("rb") as file:
            file.seek(max(0, path.stat().st_size - _READ_BYTES))
            return file.read().decode("utf-8", errors="replace")
    except OSError:
        return ""
