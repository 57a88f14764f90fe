"""One trial with a benchmark of the user's own."""

import json
import shutil
import sys
from dataclasses import dataclass
from pathlib import Path

from sampler.bench.bench_plan import BenchPlan
from sampler.bench.outcome import EndedProcess, Ending, Outcome, TrialState, ending_problem
from sampler.bench.output import read_text
from sampler.bench.runner import Benchmark
from sampler.common.atomic_write import make_private_folder, write_private
from sampler.common.documents import finite_number
from sampler.common.errors import InputError
from sampler.rocksdb.options_file import format_options
from sampler.rocksdb.parameters import catalogue
from sampler.space.space import Configuration
from sampler.workload.workload import Command

_TAIL_BYTES = 2**20
_PYTHON = "python"  # the Python that runs Rocktune, which is always there
_ROCKSDB_VERSION = "7.8.3"  # the catalogue's; an OPTIONS file names the version that it is for


@dataclass(frozen=True)
class CommandBench(Benchmark):
    """Measures configurations with a command whose last line is a JSON object of metrics."""

    command: Command
    plan: BenchPlan

    @property
    def timeout_seconds(self) -> float:
        """A trial that takes longer is ``timed_out``."""
        return self.command.timeout_seconds

    @property
    def space_bytes(self) -> int:
        """Free bytes that a trial needs: unknown, so a margin."""
        return 64 * 2**20

    def prepare(self, configuration: Configuration, folder: Path) -> list[str]:
        """Writes what argv's placeholders name and returns the command line.

        Raises:
            InputError: The program is not there.
        """
        places = {
            "configuration": folder / "configuration.json",
            "options": folder / "OPTIONS.ini",
            "directory": folder / "directory",
            _PYTHON: Path(sys.executable),
        }
        write_private(places["configuration"], json.dumps(dict(configuration)))
        options = self.plan.options({n: v for n, v in configuration.items() if n in catalogue()})
        text = format_options(options, rocksdb_version=_ROCKSDB_VERSION)
        write_private(places["options"], text)
        make_private_folder(places["directory"])
        argv = list(self.command.argv)
        for name, path in places.items():
            argv = [argument.replace("{" + name + "}", str(path)) for argument in argv]
        require_program(argv[0])
        return argv

    def harvest(self, configuration: Configuration, folder: Path, ended: EndedProcess) -> Outcome:
        """What a run came to; see ``DbBench.harvest``."""
        said = read_text(folder / "stderr", most_bytes=_TAIL_BYTES)
        state, metrics, failure = TrialState.DONE, {}, None
        problem = ending_problem(ended, said)
        if ended.ending is Ending.CUTOFF:
            state, metrics = TrialState.CENSORED, {"time": ended.wall_seconds}
            failure = f"cut off after {ended.wall_seconds:.1f} s, too slow to win"
        elif problem:
            state, failure = problem
        else:
            try:
                printed = read_text(folder / "stdout", most_bytes=_TAIL_BYTES)
                metrics = last_line_metrics(printed)
            except ValueError as error:
                state, failure = TrialState.FAILED, str(error)
        return Outcome(
            state=state,
            metrics=metrics,
            effective=configuration,
            failure=failure,
            bench_seconds=ended.wall_seconds,
            by_host=ended.ending is Ending.DISK_FULL,
        )


def require_program(name: str) -> None:
    """Refuses a command that cannot be run.

    Raises:
        InputError: It is not there, or is no program.
    """
    if name != "{" + _PYTHON + "}" and shutil.which(name) is None:
        raise InputError(
            "workload.command.argv", f"{name!r} is not an executable program on this host"
        )


def last_line_metrics(printed: str) -> dict[str, float]:
    """The metrics on the last line.

    Raises:
        ValueError: It is not a JSON object of finite numbers.
    """
    lines = printed.strip().splitlines()
    last = lines[-1] if lines else ""
    try:
        metrics = json.loads(last)
    except (ValueError, RecursionError):
        metrics = None
    if not isinstance(metrics, dict) or not metrics:
        raise ValueError(f"the last line is not a JSON object of metrics: {last[:200]!r}")
    found: dict[str, float] = {}
    for name, value in metrics.items():
        number = finite_number(value)
        if number is None:
            raise ValueError(f"metric {name!r} is not a finite number: {value!r}"[:300])
        found[name] = number
    return found
