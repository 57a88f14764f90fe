"""A cluster as an execution backend, through Dask."""

import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from typing import Any

from distributed import Security
from distributed.client import FutureCancelledError

from jobs.cluster.connection import HostSeen, SchedulerConnection, own_version, submitted
from jobs.cluster.dask_hosts import DaskHosts
from jobs.cluster.host import HostUnfit, describe_build, export_here
from jobs.execution.assembly import Assembly, assembly_of
from jobs.execution.execution_backend import JobEvents
from jobs.specification.specification import Specification
from optimizer.run.ports import Hosts
from optimizer.trials.trial import Trial
from sampler.bench.builds import DEFAULT_BUILD
from sampler.common.errors import InputError
from sampler.space.space import Configuration

_LOOK_SECONDS = 0.25
_ANSWER_SECONDS = 1.0
_EXPORT_SECONDS = 120.0


class Cluster:
    """Measures on all hosts of a scheduler that fit the job. Of one thread, one job at a time."""

    def __init__(self, scheduler: str, security: Security | None) -> None:
        """Names the scheduler; nothing is connected yet. ``security``: None on loopback alone."""
        self._scheduler = scheduler
        self.connection = SchedulerConnection(scheduler, security)
        self._reference: HostSeen | None = None
        self._environment: Mapping[str, Any] = {}

    def assemble(
        self,
        specification: Specification,
        *,
        told: Callable[[str], None],
        check: Callable[[], None],
    ) -> Assembly:
        """Asks the first host that fits, once there is one; an InputError if none can measure."""
        if specification.db_bench and "/" in specification.db_bench:
            mend = "name a build of the hosts (ROCKTUNE_BUILDS)"
            raise InputError("db_bench", f"a path is not possible with a cluster; {mend}")
        said: str | None = None
        while True:
            refused: dict[str, str] = {}
            for seen in sorted(self._fitting(specification), key=lambda host: host.busy):
                try:
                    installed, environment = self._ask(seen, specification, check)
                except HostUnfit as error:
                    refused[seen.name] = str(error)
                    continue
                except (FutureCancelledError, OSError, TimeoutError):
                    continue  # it went away just then
                self._reference, self._environment = seen, environment
                return assembly_of(specification, installed)
            if refused:
                why = "; ".join(f"{name}: {each}" for name, each in refused.items())
                raise InputError("hosts", f"no host can measure this: {why}")
            if (waits := self._why_waiting(specification)) != said:
                told(waits)
            said = waits
            check()
            time.sleep(_LOOK_SECONDS)

    def environment(self, assembly: Assembly) -> dict[str, Any]:
        """That of the host that was asked first, and of all that are there now, by name."""
        found = {seen.name: dict(seen.environment) for seen in self.connection.seen()}
        known = {**self._environment.get("hosts", {}), **found}
        self._environment = {**self._environment, "hosts": known}
        own = assembly.installed.warnings if assembly.installed else ()
        return {**self._environment, "warnings": [*own, *assembly.warnings]}

    def hosts(self, assembly: Assembly, key: str, known: Sequence[Trial], on: JobEvents) -> Hosts:
        """Those that fit the job; what nobody waits for any more is ended."""
        asked = assembly.specification
        hosts = DaskHosts(
            self.connection,
            asked,
            prefix=key,
            fits=lambda seen: self._unfit(seen, asked),
            told=on.told,
        )
        hosts.forget_leftovers([trial for trial in known if not trial.has_outcome])
        return hosts

    def export(self, assembly: Assembly, configuration: Configuration, comments: list[str]) -> str:
        """The OPTIONS file, tried by a host that fits."""
        specification = assembly.specification
        deadline = time.monotonic() + _EXPORT_SECONDS
        while time.monotonic() < deadline:
            client = self.connection.client()
            seen = self._fitting(specification)
            if client is None or not seen:
                time.sleep(_LOOK_SECONDS)
                continue
            with suppress(FutureCancelledError, OSError, TimeoutError):
                asked = (export_here, specification, dict(configuration), comments)
                future = submitted(client, seen, *asked)
                return str(future.result(timeout=_EXPORT_SECONDS))
        raise InputError("hosts", "no host is there to test the OPTIONS file; resume later")

    def close(self) -> None:
        """Ends the line to the scheduler."""
        self.connection.close()

    def _ask(self, seen: HostSeen, specification: Specification, check: Callable[[], None]) -> Any:
        client = self.connection.client()
        if client is None:
            raise TimeoutError
        future = submitted(client, [seen], describe_build, specification)
        while True:
            try:
                return future.result(timeout=_ANSWER_SECONDS)
            except TimeoutError:
                check()
                if seen.place not in {each.place for each in self.connection.seen()}:
                    raise

    def _fitting(self, specification: Specification) -> list[HostSeen]:
        return [s for s in self.connection.seen() if not self._unfit(s, specification)]

    def _unfit(self, seen: HostSeen, specification: Specification) -> str | None:
        """Why a host is not for a job; None when it is."""
        if specification.host_kind is not None and seen.kind != specification.host_kind:
            return f"its kind is {seen.kind}; the job asks for {specification.host_kind}"
        ours = own_version()
        if seen.version != ours:
            return f"it runs Rocktune {seen.version}; this is {ours}"
        if self._reference is None:
            return seen.problem
        named = specification.db_bench or DEFAULT_BUILD
        same = _build(seen, named) == _build(self._reference, named)
        if not same and "command" not in specification.workload:
            return f"its RocksDB build {named!r} differs from that of {self._reference.name}"
        return None

    def _why_waiting(self, specification: Specification) -> str:
        if (problem := self.connection.problem) is not None:
            return f"cannot reach the scheduler {self._scheduler} ({problem}); trying again"
        seen, kind = self.connection.seen(), specification.host_kind
        why = sorted({f"{each.name}: {self._unfit(each, specification)}" for each in seen})
        text = f"waiting for a host{f' of kind {kind}' if kind else ''} at {self._scheduler}"
        return "; ".join([text, *why])


def _build(seen: HostSeen, name: str) -> tuple[object, ...] | None:
    """What tells a build from others: the program, and the library that it loads."""
    builds = seen.environment.get("builds", [])
    found = next((each for each in builds if each.get("name") == name), None)
    return found and tuple(found.get(key) for key in ("digest", "source", "compiled"))
