"""Where jobs are measured: on this machine, or on the hosts of a cluster."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, Protocol

from jobs.execution.assembly import Assembly, assemble, environment_of
from jobs.results.export import export_options
from jobs.specification.specification import Specification
from optimizer.run.ports import Hosts, OneHost
from optimizer.trials.trial import Phase, Purpose, Trial
from sampler.common.errors import InputError
from sampler.machine.machine import host_name
from sampler.runner.bench_folder import require_space
from sampler.runner.benchmark import Benchmark
from sampler.runner.outcome import Outcome
from sampler.runner.runner import LocalRunner
from sampler.runner.settings import Settings
from sampler.space.space import Configuration


@dataclass(frozen=True)
class JobEvents:
    """What the hosts of a job tell, and how they wait."""

    waiting: Callable[[str], None]  # who holds this machine, while a trial must wait for it
    told: Callable[[str], None]  # what happens to hosts
    pause: Callable[[float], None]


class ExecutionBackend(Protocol):
    """What a job needs of wherever it is measured."""

    def assemble(
        self,
        specification: Specification,
        *,
        told: Callable[[str], None],
        check: Callable[[], None],
    ) -> Assembly:
        """Checks a specification there, else an InputError; a cluster waits for its first host."""

    def environment(self, assembly: Assembly) -> dict[str, Any]:
        """The machines, the RocksDB, and what must be known of either."""

    def hosts(self, assembly: Assembly, key: str, known: Sequence[Trial], on: JobEvents) -> Hosts:
        """The hosts of one job, whose trials so far are ``known``.

        ``key`` names it among all that a cluster may ever measure.
        """

    def export(self, assembly: Assembly, configuration: Configuration, comments: list[str]) -> str:
        """The OPTIONS file, tried with the RocksDB that measured; see ``export_options``."""

    def close(self) -> None:
        """Lets go of whatever was opened."""


class ThisMachine:
    """Measures here."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings

    def assemble(
        self,
        specification: Specification,
        *,
        told: Callable[[str], None] = lambda _: None,  # noqa: ARG002
        check: Callable[[], None] = lambda: None,  # noqa: ARG002
    ) -> Assembly:
        """Checks a specification against this machine."""
        if specification.host_kind is not None:
            mend = "name a cluster's `scheduler`, or leave it out"
            raise InputError("host_kind", f"this machine has no host kind; {mend}")
        return assemble(specification, self._settings)

    def environment(self, assembly: Assembly) -> dict[str, Any]:
        """This machine and the RocksDB on it."""
        return environment_of(assembly, self._settings)

    def hosts(
        self,
        assembly: Assembly,
        key: str,  # noqa: ARG002
        known: Sequence[Trial],  # noqa: ARG002
        on: JobEvents,
    ) -> Hosts:
        """The one."""
        if assembly.confirming:  # known now, not when the search is over
            require_space(self._settings.bench_dir, assembly.confirming.space_bytes)
        return OneHost(local_host(assembly, self._settings, waiting=on.waiting, pause=on.pause))

    def export(self, assembly: Assembly, configuration: Configuration, comments: list[str]) -> str:
        """The OPTIONS file, tried with the db_bench of this machine."""
        return export_options(assembly.plan, assembly.installed, configuration, comments)

    def close(self) -> None:
        """Nothing is open."""


class LocalHost:
    """Meets ``optimizer.run.ports.Bench`` with this machine."""

    def __init__(
        self,
        benchmark: Benchmark,
        settings: Settings,
        *,
        waiting: Callable[[str], None],
        pause: Callable[[float], None],
        confirming: Benchmark | None = None,
        reads: Callable[[Trial], bool] = lambda _: False,
    ) -> None:
        """Binds a benchmark to this machine; see ``LocalRunner``.

        ``confirming`` is what the trials of the confirmation run instead; None: the same.
        ``reads`` says which trials are followed by reads of their tree.
        """
        made = partial(LocalRunner, settings=settings, waiting=waiting, pause=pause)
        self._searching = made(benchmark)
        self._confirming = made(confirming) if confirming else self._searching
        self._runner = self._searching  # the one whose trial is in flight
        self._reads = reads
        self.name = host_name()

    def start(self, trial: Trial, *, cutoff_seconds: float | None) -> None:
        """Begins to measure, when the host is free; a proof shares no prepared database."""
        confirms = trial.phase is Phase.CONFIRM
        self._runner = self._confirming if confirms else self._searching
        share = trial.purpose is not Purpose.PROVE
        self._runner.start(
            trial.configuration,
            cutoff_seconds=cutoff_seconds,
            share=share,
            reads=self._reads(trial),
        )

    def wait(self, timeout: float) -> Outcome | None:
        """The outcome, or None when the trial is not over after ``timeout`` s."""
        return self._runner.wait(timeout)

    def cancel(self) -> None:
        """Ends the trial in flight."""
        self._runner.cancel()


def local_host(
    assembly: Assembly,
    settings: Settings,
    *,
    waiting: Callable[[str], None] = lambda _: None,
    pause: Callable[[float], None],
) -> LocalHost:
    """This machine, for all trials of a job."""
    problem = assembly.problem
    return LocalHost(
        assembly.benchmark,
        settings,
        waiting=waiting,
        pause=pause,
        confirming=assembly.confirming,
        reads=lambda trial: problem.reads(proves=trial.purpose is Purpose.PROVE),
    )
