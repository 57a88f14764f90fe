"""What runs after the process that is measured: reads of the tree that it left, a count of keys.

The metrics of the run were taken before. Each kind of read (present keys, absent keys and short
scans) is made twice, by db_bench processes of their own with the run's options: with the whole
tree in the page cache, and with nothing of it there. Each begins with an empty block cache. In a
proof each is made in several rounds, and the middle figure counts: a process that reads for a
fifth of a second scatters by 10 to 17%, what else the machine does in that moment.

Where no formula tells the live keys and values, db_bench reads the whole database once, from its
first key to its last, without writing to it: ``readseq`` of a database that is opened for reading
only. The counter ``db.iter.bytes.read`` then holds the bytes of all live keys and values, merged
and without what was deleted (db_iter.cc adds both at each step).
"""

import contextlib
import os
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from itertools import product
from pathlib import Path
from statistics import median

from sampler.bench.bench_plan import BenchPlan, command_line, reading_flags
from sampler.bench.outcome import EndedProcess, Ending, Outcome
from sampler.bench.output import complaint, parse_output, read_text
from sampler.bench.runner import Stage
from sampler.rocksdb.parameters import Value
from sampler.space.space import Configuration
from sampler.workload.metric_table import COLD, READ_BENCHMARKS, UNTOLD
from sampler.workload.workload import Workload
from sampler.workload.workload_file import TRANSACTIONS, why_unread

# Enough for a fifth of a second each: operations from the page cache, and from the device.
_OPERATIONS = {
    "read_present": (10_000, 1_000),
    "read_absent": (10_000, 1_000),
    "scan_short": (2_000, 250),
}
_FOUND = re.compile(r"\((\d{1,18}) of (\d{1,18}) found\)")
_LEAST_FOUND = 0.5  # of the keys that are asked for as present
_PIECE_BYTES = 2**20
_MOST_LOADED = 2**30  # of a larger tree what the run left there is in the page cache
_PAGE = 4096
_ALL = 2**62  # more keys than there are: each is read once


@dataclass(frozen=True)
class TreeRead(Stage):
    """One kind of read of one trial's tree, from the page cache or from the device."""

    program: Path  # db_bench
    plan: BenchPlan
    configuration: Configuration
    folder: Path  # the trial's
    kind: str  # one of ``READ_BENCHMARKS``
    cold: bool
    round: int = 1  # counted from 1

    @property
    def metric(self) -> str:
        """What it measures, in operations a second."""
        return self.kind + COLD if self.cold else self.kind

    @property
    def outputs(self) -> Path:
        """The folder of the process's ``stdout`` and ``stderr``."""
        return self._outputs(self.round)

    def _outputs(self, number: int) -> Path:
        return self.folder / (self.metric if number == 1 else f"{self.metric}_{number}")

    @property
    def operations(self) -> int:
        """How many reads there are: not more than a client thread has written keys."""
        load = self.plan.workload
        written = load.prepare.writes / load.prepare.threads if load.prepare else 0.0
        written = written or load.user_bytes() / (load.key_size + load.value_size)
        return max(1, min(_OPERATIONS[self.kind][self.cold], int(written) or load.num))

    def argv(self) -> list[str]:
        """The command line."""
        flags = reading_flags(
            self.plan, self.configuration, READ_BENCHMARKS[self.kind], self.operations
        )
        return command_line(self.program, flags, self.folder)

    def begin(self) -> None:
        """Drops the tree from the page cache, or loads it."""
        files = [path for path in (self.folder / "db").iterdir() if path.is_file()]
        if not self.cold and sum(path.stat().st_size for path in files) > _MOST_LOADED:
            return
        for path in files:
            with contextlib.suppress(OSError), path.open("rb", buffering=0) as file:
                if self.cold:  # as far as the file system allows; dirty pages would stay
                    os.fsync(file.fileno())
                    os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)
                while not self.cold and file.read(_PIECE_BYTES):
                    pass

    def finish(self, ended: EndedProcess, outcome: Outcome | None) -> Outcome:
        """The trial's outcome with the median of the rounds so far.

        Where a round failed, the trial has no figure, whatever the others gave, and a warning says
        why.
        """
        assert outcome is not None
        if self.round > 1 and self.metric not in outcome.metrics:
            return _with(outcome, ended, {})  # an earlier round failed
        rates = [self._rate(number) for number in range(1, self.round + 1)]
        why = why_failed(ended, self.outputs)
        why = why or ("" if rates[-1] else "db_bench printed no result")
        why = why or self._unusable(read_text(self.outputs / "stdout"), ended)
        if why:
            kept = {name: v for name, v in outcome.metrics.items() if name != self.metric}
            left = replace(outcome, metrics=kept)
            return _with(left, ended, {}, UNTOLD.format(self.metric) + why)
        warning = (
            f"{self.metric} was not read from a warm cache: the tree is larger than the page "
            "cache, or reads bypass it"
        )
        from_device = not self.cold and ended.device_read_bytes > _PAGE / 2 * self.operations
        warnings = [warning] * (from_device and warning not in outcome.warnings)
        return _with(outcome, ended, {self.metric: median(rates)}, *warnings)

    def _rate(self, number: int) -> float:
        """Reads a second in a round; 0.0 where db_bench printed none."""
        output = parse_output(read_text(self._outputs(number) / "stdout"))
        return next(
            (x.per_second for x in output.lines if x.name == READ_BENCHMARKS[self.kind]), 0.0
        )

    def _unusable(self, printed: str, ended: EndedProcess) -> str:
        if self.cold and not ended.device_read_bytes:
            return "nothing was read from the device; the file system keeps its pages in memory"
        match = _FOUND.search(printed)
        found, asked = (int(match[1]), int(match[2])) if match else (0, 0)
        if self.kind == "read_present" and found < _LEAST_FOUND * asked:
            return f"only {found} of {asked} keys that the load wrote were found"
        return ""


def reads_of_tree(
    program: Path, plan: BenchPlan, configuration: Configuration, folder: Path, *, rounds: int
) -> Iterator[TreeRead]:
    """All reads of the tree that a run has left; none where they cannot be measured.

    Each round makes every kind once, so that a busy moment of the machine meets few rounds of one.
    """
    if not why_unread(plan.workload):
        for number, cold, kind in product(range(1, rounds + 1), (False, True), READ_BENCHMARKS):
            yield TreeRead(program, plan, configuration, folder, kind, cold, number)


@dataclass(frozen=True)
class KeyCount(Stage):
    """Counts the live keys and values that a trial left."""

    program: Path  # db_bench
    workload: Workload  # the load
    folder: Path  # the trial's

    @property
    def outputs(self) -> Path:
        """The folder of the process's ``stdout`` and ``stderr``."""
        return self.folder / "count"

    def argv(self) -> list[str]:
        """The command line."""
        # A database of transactions that were not flushed cannot be opened for reading only: 7.8.3
        # stops at the marks of two-phase commit in its log (tried).
        given = dict(self.workload.flags)
        transactions = {name: given[name] for name in TRANSACTIONS if given.get(name)}
        flags: Mapping[str, Value] = {
            "benchmarks": "readseq", "use_existing_db": True,
            **(transactions or {"readonly": True}),
            "num": 1, "reads": _ALL, "key_size": self.workload.key_size, "total_order_seek": True,
            "statistics": True, "progress_reports": False,
        }  # fmt: skip
        return command_line(self.program, flags, self.folder)

    def finish(self, ended: EndedProcess, outcome: Outcome | None) -> Outcome:
        """The trial's outcome with ``sa``, or with a warning that says why it has none."""
        assert outcome is not None
        output = parse_output(read_text(self.outputs / "stdout"))
        live = output.tickers.get("db.iter.bytes.read", 0)
        words = why_failed(ended, self.outputs)
        if not words and live > 0:
            return _with(outcome, ended, {"sa": outcome.metrics["lsm_bytes"] / live})
        why = f"{UNTOLD.format('sa')}counting live keys failed: {words or 'none found'}"
        return _with(outcome, ended, {}, why)


def _with(
    outcome: Outcome, ended: EndedProcess, metrics: Mapping[str, float], *warnings: str
) -> Outcome:
    """An outcome with what a process that followed has found."""
    return replace(
        outcome,
        metrics={**outcome.metrics, **metrics},
        warnings=(*outcome.warnings, *warnings),
        bench_seconds=outcome.bench_seconds + ended.wall_seconds,
    )


def why_failed(ended: EndedProcess, outputs: Path) -> str:
    """Why such a process did not end well, in db_bench's words if it said any; or empty."""
    if ended.ending is not Ending.EXIT:
        return f"ended by {ended.ending.value} after {ended.wall_seconds:.0f} s"
    said = complaint(read_text(outputs / "stderr"))
    return "" if ended.status == 0 else said or f"exit status {ended.status}"
