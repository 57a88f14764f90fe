"""The process that fills a trial's database under the trial's own options, before it is measured.

Its counters are its own: the measured process begins with none.
"""

import contextlib
import hashlib
import json
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from sampler.bench.bench_plan import BenchPlan
from sampler.bench.command_line import HELD_FROM, command_line, preparing_flags
from sampler.bench.db_bench_output import complaint, parse_output
from sampler.bench.installed import InstalledDbBench
from sampler.bench.metrics import stored_bytes
from sampler.bench.rocksdb_log import LogReader, read_log
from sampler.bench.run_ending import ending_problem, read_text, unrest
from sampler.machine.kernel_files import PROC, line_of
from sampler.machine.machine import host_name
from sampler.options.options_file import format_options
from sampler.parameters.catalogue import catalogue
from sampler.runner.outcome import Outcome, TrialState
from sampler.runner.prepared_copies import PreparedNote, write_note
from sampler.runner.process import EndedProcess, Ending
from sampler.space.space import Configuration, memory_bytes
from sampler.workload.workload import Prepare


@dataclass(frozen=True)
class Preparing:
    """The preparing part of one trial."""

    installed: InstalledDbBench
    plan: BenchPlan
    prepare: Prepare
    configuration: Configuration
    # The trial's; the database is made in ``db``, what is printed goes to ``outputs``.
    folder: Path

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

    @property
    def held_from(self) -> str:
        """See ``DbBench``; it always ends with its tree at rest."""
        return HELD_FROM

    def settled(self) -> bool:
        """See ``DbBench``."""
        return self._reader.read().working == 0

    @cached_property
    def _reader(self) -> LogReader:
        return LogReader(self.folder / "db" / "LOG")

    def finish(self, ended: EndedProcess) -> Outcome | None:
        """Keeps what preparing came to beside the database.

        The LOG is set aside, so that the measured process has one of its own.

        Returns:
            None when the database can be measured, otherwise what becomes of the trial.
        """
        said = read_text(self.outputs / "stderr")
        output = parse_output(read_text(self.outputs / "stdout"))
        log = read_log(self.folder / "db" / "LOG")
        found = ending_problem(ended, said, log)
        if ended.ending is Ending.CUTOFF:
            found = TrialState.CENSORED, f"cut off after {ended.wall_seconds:.1f} s"
        tickers = output.tickers
        needed = ("bytes.written", "flush.write.bytes", "compact.write.bytes")
        printed = {line.name for line in output.lines}
        missing = [each for each in self.prepare.benchmarks if each not in printed]
        missing = missing or [f"rocksdb.{each}" for each in needed if each not in tickers]
        if found is None and missing:
            words = f"db_bench printed nothing of {missing[0]}; {complaint(said)}"
            found = TrialState.FAILED, words.rstrip("; ")
        found = found or unrest(ended, log)
        if found is not None:  # it was never measured: nothing bounds its time or its rate
            state, why = found
            values = self.plan.space.complete(self.configuration)
            known = {"memory": float(memory_bytes(values))}
            return Outcome(
                state=state,
                metrics=known if state is TrialState.CENSORED else {},
                failure=f"while it was prepared: {why}",
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
