"""One trial with db_bench: the process that fills its database, and the one that is measured.

A database is filled under the trial's own options. The counters of that process are its own: the
measured process begins with none.
"""

import contextlib
import hashlib
import json
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path

from sampler.bench.bench_folder import PreparedNote, read_note, write_note
from sampler.bench.bench_plan import (
    HELD_FROM,
    TRACE,
    BenchPlan,
    command_line,
    effective_values,
    measured_flags,
    preparing_flags,
)
from sampler.bench.following import KeyCount, reads_of_tree
from sampler.bench.installed import (
    InstalledDbBench,
    newest_options,
    require_same_file,
    require_same_version,
)
from sampler.bench.metrics import MissingMeasurement, censored_metrics, stored_bytes, trial_metrics
from sampler.bench.outcome import (
    EndedProcess,
    Ending,
    Outcome,
    TrialState,
    clock_problem,
    ending_problem,
    unreplayed,
    unrest,
)
from sampler.bench.output import RocksdbLog, complaint, parse_output, read_text
from sampler.bench.query_trace import write_slice
from sampler.bench.runner import Stage
from sampler.common.atomic_write import write_private
from sampler.machine.machine import PROC, host_name, line_of
from sampler.rocksdb.log_reader import LogReader
from sampler.rocksdb.options_file import CF, format_options
from sampler.rocksdb.parameters import catalogue
from sampler.space.space import Configuration, memory_bytes
from sampler.workload.workload import Prepare, Workload
from sampler.workload.workload_file import why_counted, why_untold


def space_for(workload: Workload) -> int:
    """Free bytes that a trial of a load needs: its trace, the data four times, and a margin."""
    prepared = workload.loaded_bytes() if workload.prepare else 0
    traced = 0
    with contextlib.suppress(OSError):  # where it is run it will be missed
        traced = Path(workload.trace.path).stat().st_size if workload.trace else 0
    return 4 * max(workload.user_bytes(), prepared) + traced + 256 * 2**20


@dataclass(frozen=True)
class Filling(Stage):
    """Fills the database of a trial; it always ends with its tree at rest."""

    installed: InstalledDbBench
    plan: BenchPlan
    prepare: Prepare
    configuration: Configuration
    folder: Path  # the trial's; the database is made in ``db``
    held_from = HELD_FROM

    @property
    def outputs(self) -> Path:
        """The folder of the process's ``stdout`` and ``stderr``."""
        return self.folder / "prepare"

    def argv(self) -> list[str]:
        """The command line; the OPTIONS file is in the folder already."""
        flags = preparing_flags(self.plan, self.prepare, self.configuration)
        return command_line(self.installed.program, flags, self.folder)

    def key(self) -> str | None:
        """The same for all trials whose databases are alike when they are prepared.

        All that can shape what is on disk is in it: every option but those known to act at run
        time alone, the load, the RocksDB build. And host and boot, for a copy is worth something
        only where, and while, the page cache and the disk are the ones that it was made on.

        Returns:
            None where the workload wants none shared, or the program has gone.
        """
        try:
            stat = self.installed.program.stat()
        except OSError:
            return None  # to start it will say so
        if not self.prepare.share:
            return None
        known = catalogue()
        passing = {name for name, parameter in known.items() if parameter.run_time}
        shaping = {n: value for n, value in self.configuration.items() if n not in passing}
        flags = preparing_flags(self.plan, self.prepare, shaping)
        program = self.installed.program
        document = {
            "options": format_options(self.plan.options(shaping), rocksdb_version="0"),
            "flags": {n: v for n, v in flags.items() if n not in {known[p].flag for p in passing}}
            | {"threads": self.prepare.threads},
            "build": [self.installed.version, str(program), stat.st_size, stat.st_mtime_ns],
            "host": [host_name(), line_of(PROC / "sys/kernel/random/boot_id")],
        }
        text = json.dumps(document, sort_keys=True)
        return hashlib.sha256(text.encode()).hexdigest()[:32]

    def settled(self) -> bool:
        """See ``DbBench``."""
        return self._reader.read().working == 0

    @cached_property
    def _reader(self) -> LogReader[RocksdbLog]:
        return LogReader(self.folder / "db" / "LOG", RocksdbLog)

    def finish(self, ended: EndedProcess, outcome: Outcome | None) -> Outcome | None:
        """Keeps what preparing came to beside the database.

        The LOG is set aside, so that the measured process has one of its own.

        Returns:
            None when the database can be measured, otherwise what becomes of the trial.
        """
        del outcome
        said = read_text(self.outputs / "stderr")
        output = parse_output(read_text(self.outputs / "stdout"))
        log = self._reader.read()
        found = ending_problem(ended, said, log)
        if ended.ending is Ending.CUTOFF:
            found = TrialState.CENSORED, f"cut off after {ended.wall_seconds:.1f} s"
        tickers = output.tickers
        needed = ("bytes.written", "flush.write.bytes", "compact.write.bytes")
        printed = {line.name for line in output.lines}
        missing = [each for each in self.prepare.benchmarks if each not in printed]
        missing = missing or [f"rocksdb.{each}" for each in needed if each not in tickers]
        if found is None and missing:
            words = f"db_bench printed nothing for {missing[0]}; {complaint(said)}"
            found = TrialState.FAILED, words.rstrip("; ")
        found = found or unrest(ended, log)
        if found is not None:  # it was never measured: nothing bounds its time or its rate
            state, why = found
            values = self.plan.space.complete(self.configuration)
            known = {"memory": float(memory_bytes(values))}
            return Outcome(
                state=state,
                metrics=known if state is TrialState.CENSORED else {},
                failure=f"while preparing the database: {why}",
                bench_seconds=ended.wall_seconds,
                by_host=ended.ending is Ending.DISK_FULL,
            )
        user, *stored = (tickers[each] for each in needed)
        written = stored_bytes(sum(stored), log, at_rest=True)
        note = PreparedNote(seconds=ended.wall_seconds, user_bytes=user, stored_bytes=written)
        write_note(self.folder, note)
        with contextlib.suppress(FileNotFoundError):
            (self.folder / "db" / "LOG").rename(self.outputs / "LOG")
        return None


@dataclass(frozen=True)
class DbBench:
    """Measures configurations with an installed db_bench."""

    installed: InstalledDbBench
    plan: BenchPlan
    # How far the LOGs of running trials have been read, by folder.
    _readers: dict[Path, LogReader[RocksdbLog]] = field(
        default_factory=dict, init=False, repr=False, compare=False
    )

    @property
    def timeout_seconds(self) -> float:
        """A trial that takes longer is ``timed_out``."""
        return self.plan.workload.timeout_seconds

    @property
    def space_bytes(self) -> int:
        """Free bytes that a trial needs."""
        return space_for(self.plan.workload)

    def prepare(self, configuration: Configuration, folder: Path) -> list[str]:
        """Writes the scaled OPTIONS file and returns the command line of what is measured.

        Raises:
            InputError: The program is another than the one that was tried, or the trace cannot
                be replayed.
        """
        require_same_file(self.installed)
        asked = self.plan.options(configuration)
        if trace := self.plan.workload.trace:
            merging = asked.get(CF, "merge_operator") not in (None, "nullptr")
            families = self.plan.workload.column_families
            write_slice(trace, folder / TRACE, families=families, merging=merging)
        options = format_options(asked, rocksdb_version=self.installed.version)
        write_private(folder / "OPTIONS.ini", options)
        flags = measured_flags(self.plan, configuration)
        return command_line(self.installed.program, flags, folder)

    def preparing(self, configuration: Configuration, folder: Path) -> Stage | None:
        """What fills the database before; None where the load begins with an empty one."""
        prepare = self.plan.workload.prepare
        if prepare is None:
            return None
        return Filling(self.installed, self.plan, prepare, configuration, folder)

    def environment(self) -> Mapping[str, str]:
        """LOG stamps are in local time: make that UTC."""
        return {**os.environ, "TZ": "UTC", "LC_ALL": "C"}

    @property
    def held_from(self) -> str | None:
        """With ``wait`` it prints its figures when the tree is at rest."""
        return HELD_FROM if self.plan.workload.owes == "wait" else None

    def settled(self, folder: Path) -> bool:
        """Whether no flush or compaction is under way, by as much of the LOG as is written.

        RocksDB writes it out whenever a flush or compaction has made its files, and when it
        begins the first of them (flush_job.cc, compaction_job.cc, db_impl_files.cc, 7.8 to 11.8).
        """
        path = folder / "db" / "LOG"
        reader = self._readers.setdefault(folder, LogReader(path, RocksdbLog))
        return reader.read().working == 0

    def harvest(self, configuration: Configuration, folder: Path, ended: EndedProcess) -> Outcome:
        """What a run came to.

        Raises:
            InputError: It was another RocksDB than the one that was tried.
        """
        said = read_text(folder / "stderr")  # where its version and, of some, its warnings stand
        output, aside = parse_output(read_text(folder / "stdout")), parse_output(said)
        printed_version = aside.version or output.version
        require_same_version(self.installed.program, self.installed.version, printed_version)
        warnings = tuple(dict.fromkeys((*output.warnings, *aside.warnings)))
        path = folder / "db" / "LOG"
        log = self._readers.pop(folder, LogReader(path, RocksdbLog)).read()
        written = newest_options(folder / "db")
        workload, space = self.plan.workload, self.plan.space
        scale = workload.scale
        told = effective_values(written, configuration, space, scale=scale) if written else None
        effective, changed = told or (None, ())
        values = space.complete(effective or configuration)
        prepared = read_note(folder) if workload.prepare else None
        beside = f", after {prepared.seconds:.1f} s of preparation" if prepared else ""
        reason = why_untold(workload)
        untold = (f"sa is not measured: {reason}",) if reason else ()
        ran = Outcome(
            state=TrialState.DONE,
            counters={**(output.tickers or log.tickers), **log.level_bytes},
            effective=effective,
            warnings=(*warnings, *changed, *untold),
            bench_seconds=ended.wall_seconds,
            by_host=ended.ending is Ending.DISK_FULL,
        )
        clock = clock_problem(ended)
        if clock and ended.ending is not Ending.CANCELLED:
            return replace(ran, state=TrialState.LOST, failure=clock)
        if ended.ending is Ending.CUTOFF:
            why = f"cut off after {ended.wall_seconds:.1f} s, too slow to win{beside}"
            metrics = censored_metrics(log, ended, workload, values, prepared=prepared)
            return replace(ran, state=TrialState.CENSORED, metrics=metrics, failure=why)
        if problem := ending_problem(ended, said, log) or unreplayed(said):
            state, why = problem
            why += beside if state is TrialState.TIMED_OUT else ""
            return replace(ran, state=state, failure=why)
        with_sa = not self._counted(configuration)
        try:
            metrics = trial_metrics(
                output, log, ended, workload, values, prepared=prepared, with_sa=with_sa
            )
        except MissingMeasurement as missing:
            why = f"{missing}; {complaint(said)}".rstrip("; ")
            return replace(ran, state=TrialState.FAILED, failure=why)
        if self.held_from and (problem := unrest(ended, log)):
            state, why = problem
            return replace(ran, state=state, failure=why)
        return replace(ran, metrics=metrics)

    def following(
        self, configuration: Configuration, folder: Path, outcome: Outcome, *, reads: int
    ) -> Sequence[Stage]:
        """A scan where no formula tells which keys the load left, and the rounds of reads."""
        workload, program = self.plan.workload, self.installed.program
        if outcome.state is not TrialState.DONE:
            return ()
        counted = self._counted(configuration) and not why_untold(workload)
        return (
            *((KeyCount(program, workload, folder),) if counted else ()),
            *reads_of_tree(program, self.plan, configuration, folder, rounds=reads),
        )

    def _counted(self, configuration: Configuration) -> bool:
        return bool(why_counted(self.plan.workload, self.plan.options(configuration)))
