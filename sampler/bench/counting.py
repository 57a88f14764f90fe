"""Counts the live keys and values of a trial's database, where no formula tells them.

When the metrics have been taken db_bench reads the whole database once, from its first key to its
last, without writing to it: ``readseq`` of a database that is opened for reading only. RocksDB's
counter ``db.iter.bytes.read`` then holds the bytes of all live keys and values, merged and without
what was deleted (db_iter.cc adds both at each step).
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from sampler.bench.command_line import command_line
from sampler.bench.db_bench_output import complaint, parse_output
from sampler.bench.run_ending import read_text
from sampler.parameters.parameter import Value
from sampler.runner.outcome import Outcome
from sampler.runner.process import EndedProcess, Ending
from sampler.workload.tree_reads import TRANSACTIONS
from sampler.workload.workload import Workload

_BENCHMARK = "readseq"
_BYTES = "db.iter.bytes.read"
_ALL = 2**62  # more keys than there are: each is read once


@dataclass(frozen=True)
class Counting:
    """The counting part of one trial."""

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
            "benchmarks": _BENCHMARK,
            "use_existing_db": True,
            **(transactions or {"readonly": True}),
            "num": 1,
            "reads": _ALL,
            "key_size": self.workload.key_size,
            "total_order_seek": True,
            "statistics": True,
            "progress_reports": False,
        }
        return command_line(self.program, flags, self.folder)

    def begin(self) -> None:
        """Nothing needs to be readied."""

    def finish(self, outcome: Outcome, ended: EndedProcess) -> Outcome:
        """The trial's outcome with ``sa``, or with a warning that says why it has none."""
        whole = replace(outcome, bench_seconds=outcome.bench_seconds + ended.wall_seconds)
        output = parse_output(read_text(self.outputs / "stdout"))
        live = output.tickers.get(_BYTES, 0)
        words = why_failed(ended, self.outputs)
        if not words and live > 0:
            metrics = {**whole.metrics, "sa": whole.metrics["lsm_bytes"] / live}
            return replace(whole, metrics=metrics)
        why = f"sa is not told: counting live keys: {words or 'it found none'}"
        return replace(whole, warnings=(*whole.warnings, why))


def why_failed(ended: EndedProcess, outputs: Path) -> str:
    """Why such a process did not end well, in db_bench's words if it said any; or empty."""
    if ended.ending is not Ending.EXIT:
        return f"ended by {ended.ending.value} after {ended.wall_seconds:.0f} s"
    said = complaint(read_text(outputs / "stderr"))
    return "" if ended.status == 0 else said or f"exit status {ended.status}"
