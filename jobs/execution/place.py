"""Where jobs are measured: on this machine, or on the hosts of a cluster."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Protocol

from jobs.execution.assembly import Assembly, assemble
from jobs.execution.local_host import LocalHost
from jobs.execution.run_environment import environment_of
from jobs.results.export import export_options
from jobs.specification.specification import Specification
from optimizer.run.ports import Hosts, OneHost
from optimizer.trials.trial import Trial
from sampler.common.errors import InputError
from sampler.runner.bench_folder import require_space
from sampler.runner.settings import Settings
from sampler.space.space import Configuration


class Place(Protocol):
    """What a job needs of wherever it is measured."""

    def assemble(
        self,
        specification: Specification,
        *,
        told: Callable[[str], None],
        check: Callable[[], None],
    ) -> Assembly:
        """Checks a specification against the RocksDB there; a cluster waits for its first host.

        Raises:
            InputError: It cannot be measured there.
        """
        ...

    def environment(self, assembly: Assembly) -> dict[str, Any]:
        """The machines, the RocksDB, and what must be known of either."""
        ...

    def hosts(
        self,
        specification: Specification,
        assembly: Assembly,
        key: str,
        known: Sequence[Trial],
        *,
        waiting: Callable[[str], None],
        told: Callable[[str], None],
        pause: Callable[[float], None],
    ) -> Hosts:
        """The hosts of one job.

        Args:
            specification: Of the job.
            assembly: Made of it.
            key: Names the job among all that a cluster may ever measure.
            known: Its trials so far.
            waiting: Told who holds this machine while a trial must wait for it.
            told: Told what happens to hosts.
            pause: How to wait.
        """
        ...

    def export(
        self,
        specification: Specification,
        assembly: Assembly,
        configuration: Configuration,
        comments: list[str],
    ) -> str:
        """The OPTIONS file, tried with the RocksDB that measured; see ``export_options``."""
        ...

    def close(self) -> None:
        """Lets go of whatever was opened."""
        ...


class ThisMachine:
    """Measures here."""

    def __init__(self, settings: Settings) -> None:
        """``settings``: where things are on this machine."""
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
            mend = "name the scheduler of a cluster (--scheduler), or leave it out"
            raise InputError("--host-kind", f"this machine is of no kind; {mend}")
        return assemble(specification, self._settings)

    def environment(self, assembly: Assembly) -> dict[str, Any]:
        """This machine and the RocksDB on it."""
        return environment_of(assembly, self._settings)

    def hosts(
        self,
        specification: Specification,  # noqa: ARG002
        assembly: Assembly,
        key: str,  # noqa: ARG002
        known: Sequence[Trial],  # noqa: ARG002
        *,
        waiting: Callable[[str], None],
        told: Callable[[str], None],  # noqa: ARG002
        pause: Callable[[float], None],
    ) -> Hosts:
        """The one."""
        confirming = assembly.confirming
        if confirming:  # known now, not when the search is over
            require_space(self._settings.bench_dir, confirming.space_bytes)
        host = LocalHost(
            assembly.benchmark,
            self._settings,
            waiting=waiting,
            pause=pause,
            confirming=confirming,
        )
        return OneHost(host)

    def export(
        self,
        specification: Specification,  # noqa: ARG002
        assembly: Assembly,
        configuration: Configuration,
        comments: list[str],
    ) -> str:
        """The OPTIONS file, tried with the db_bench of this machine."""
        return export_options(assembly.plan, assembly.installed, configuration, comments)

    def close(self) -> None:
        """Nothing is open."""
