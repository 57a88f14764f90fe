"""A cluster as an execution backend, and its hosts as the tuning run sees them, through Dask.

One future per host in flight, published under the trial's name: a controller that is started
again finds those that went on without it, and the results that came meanwhile.
"""

import queue
import threading
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from distributed import Client, Future, Security
from distributed.client import FutureCancelledError

from jobs.cluster.host import HostUnfit, describe_build, export_here, measure_trial
from jobs.cluster.scheduler import HostSeen, SchedulerConnection, own_version, submitted
from jobs.execution.assembly import JobEvents, assembly_of
from jobs.specification.resolved_job import ResolvedJob
from jobs.specification.specification import Specification
from optimizer.run.ports import Hosts
from optimizer.trials.trial import Trial
from sampler.bench.builds import DEFAULT_BUILD
from sampler.bench.outcome import Outcome, TrialState
from sampler.common.errors import InputError
from sampler.space.space import Configuration

_HAND_OVER_SECONDS = 30.0
_BROKEN = (OSError, TimeoutError, ValueError, KeyError)  # what a scheduler that goes away raises
_MOST_HOSTS_FULL = 2  # a configuration that fills the disks of so many hosts is itself to blame
_REST_SECONDS = 30.0  # a host that cannot measure is asked again after so long
# One that goes away in the middle of a trial is used again when it is back, for hosts are started
# anew. One that goes again and again would lose trials as fast as it is given them, while all
# others are busy with theirs, until one of them counts as lost for good.
_GONE_OFTEN = 3
_MOST_DOUBLINGS = 6  # of its rest: half an hour


class Backoff:
    """Hosts that are left alone: they cannot measure, or keep going away. Of one thread."""

    def __init__(
        self, told: Callable[[str], None], clock: Callable[[], float] = time.monotonic
    ) -> None:
        """Begins with nobody resting; ``told`` hears who is left alone, for how long and why."""
        self._told, self._clock = told, clock
        self._until: dict[str, float] = {}
        self._gone: Counter[str] = Counter()

    def rests(self, host: str) -> bool:
        """Whether a host is to be left alone now."""
        return self._until.get(host, 0.0) > self._clock()

    def rest(self, host: str, why: str) -> None:
        """Leaves a host alone that is there and cannot measure."""
        self._leave_alone(host, _REST_SECONDS, why)

    def went_away(self, host: str) -> None:
        """A host has gone, and a trial with it: often in a row, and it rests, longer each time."""
        self._gone[host] += 1
        often = self._gone[host] - _GONE_OFTEN
        if often >= 0:
            seconds = _REST_SECONDS * 2 ** min(often, _MOST_DOUBLINGS)
            why = f"it disconnected {self._gone[host]} times in a row during a trial"
            self._leave_alone(host, seconds, why)

    def measured(self, host: str) -> None:
        """A host has brought a trial to its end."""
        del self._gone[host]

    def _leave_alone(self, host: str, seconds: float, why: str) -> None:
        self._until[host] = self._clock() + seconds
        self._told(f"host {host} gets no trials for {seconds:.0f} s: {why}")


@dataclass(frozen=True)
class _Flight:
    trial: Trial
    host: str
    address: str | None  # of its Dask worker, a new one whenever the host begins anew
    future: Future[Any] | None  # None: it is lost
    client: Client | None


class DaskHosts:
    """Those hosts of a cluster that one job may use. Of one thread."""

    def __init__(
        self,
        connection: SchedulerConnection,
        specification: Specification,
        *,
        prefix: str,
        fits: Callable[[HostSeen], str | None],
        told: Callable[[str], None] = lambda _: None,
    ) -> None:
        """Binds a job to a cluster.

        ``prefix`` begins the names of its trials on the scheduler, the same for the same job
        alone. ``fits`` says why a host is not for this job, ``told`` hears what happens to hosts.
        """
        self._connection, self._specification = connection, specification
        self._prefix, self._fits, self._told = prefix, fits, told
        self._flying: dict[str, _Flight] = {}
        self._over: queue.SimpleQueue[tuple[str, Outcome | BaseException]] = queue.SimpleQueue()
        self._backoff = Backoff(told)
        self._full_on: defaultdict[int, set[str]] = defaultdict(set)
        self._taken: str | None = None
        self._said: dict[str, str] = {}

    def hosts(self) -> Sequence[str]:
        """The names of the hosts that are there, fit, and for this job."""
        return [seen.name for seen in self._usable()]

    def start(self, trial: Trial, *, cutoff_seconds: float | None) -> None:
        """Begins to measure; what is lost at once, with its host say, is told by ``wait``."""
        name, host = self._name(trial), trial.host
        assert host is not None
        seen = next((each for each in self._usable() if each.name == host), None)
        client = self._connection.client()
        if seen is None or client is None:
            if client is not None:
                self._backoff.went_away(host)
            self._lose(trial, host, "its host disconnected before it began")
            return
        asked = (measure_trial, self._specification, trial, cutoff_seconds)
        future = submitted(client, [seen], *asked, key=name)
        self._fly(name, _Flight(trial, host, seen.address, future, client))
        with suppress(*_BROKEN):
            client.publish_dataset((future, seen.address), name=name, override=True)

    def attach(self, trial: Trial) -> bool:
        """Takes over a trial whose future is still published; waits for the scheduler first."""
        client = self._connection.client()
        name = self._name(trial)
        if client is None or trial.host is None:
            return False
        try:
            future, address = client.get_dataset(name)
        except _BROKEN:
            return False
        self._fly(name, _Flight(trial, trial.host, address, future, client))
        return True

    def wait(self, timeout: float) -> tuple[Trial, Outcome] | None:
        """A trial that is over; those whose host or scheduler has gone are over, too."""
        self._forget_taken()
        self._notice_gone()
        try:
            name, came = self._over.get(timeout=timeout)
        except queue.Empty:
            return None
        flight = self._flying.get(name)
        if flight is None or (flight.future is None and not isinstance(came, Outcome)):
            return None  # it was given up; why is told, or comes next
        del self._flying[name]
        self._taken = name  # its future stays published until what came of it is stored
        if flight.future is not None and isinstance(came, Outcome):
            self._backoff.measured(flight.host)
        outcome = came if isinstance(came, Outcome) else self._without_result(flight, came)
        return flight.trial, self._by_host(flight, outcome)

    def cancel(self) -> None:
        """Ends all trials in flight: each host ends its db_bench when Dask tells it."""
        self._forget_taken()
        for name, flight in self._flying.items():
            self._drop(name, flight)
        self._flying.clear()

    def leave(self) -> None:
        """Lets go: hosts go on, and whoever comes next finds their results."""
        self._forget_taken()
        self._flying.clear()

    def forget_leftovers(self, known: Sequence[Trial]) -> None:
        """Ends what earlier controllers of this job left on the scheduler and nobody waits for."""
        client = self._connection.client()
        if client is None:
            return
        wanted = {self._name(trial) for trial in known}
        with suppress(*_BROKEN):
            for name in client.list_datasets():
                if str(name).startswith(f"{self._prefix}-") and name not in wanted:
                    future, _ = client.get_dataset(name)
                    client.cancel([future], force=True)
                    client.unpublish_dataset(name)

    def _usable(self) -> list[HostSeen]:
        usable = []
        for seen in self._connection.seen():
            problem = seen.problem or self._fits(seen)
            if problem is None and not self._backoff.rests(seen.name):
                self._said.pop(seen.name, None)
                usable.append(seen)
            elif problem is not None and self._said.get(seen.name) != problem:
                self._said[seen.name] = problem
                self._told(f"host {seen.name} is not used: {problem}")
        return usable

    def _name(self, trial: Trial) -> str:
        return f"{self._prefix}-{trial.number}-{trial.attempt}"

    def _fly(self, name: str, flight: _Flight) -> None:
        """Waits for a trial; what it measured lies with its host, and is fetched beside others."""
        assert flight.future is not None
        self._flying[name] = flight

        def fetch_beside(future: Future[Any]) -> None:
            threading.Thread(target=self._fetch, args=(name, future), daemon=True).start()

        flight.future.add_done_callback(fetch_beside)

    def _fetch(self, name: str, future: Future[Any]) -> None:
        try:
            self._over.put((name, future.result(timeout=_HAND_OVER_SECONDS)))
        except BaseException as error:
            self._over.put((name, error))

    def _lose(self, trial: Trial, host: str, why: str) -> None:
        name = self._name(trial)
        self._flying[name] = _Flight(trial, host, None, None, None)
        self._over.put((name, _lost(why)))

    def _notice_gone(self) -> None:
        """Ends the waiting for trials whose host, or whose scheduler, is not there any more."""
        client = self._connection.client()
        there = {seen.place for seen in self._connection.seen()}
        for name, flight in list(self._flying.items()):
            if flight.future is None:
                continue
            if client is None or flight.client is not client:
                why = "the scheduler disconnected"
            elif (flight.host, flight.address) not in there:
                why = f"its host {flight.host} disconnected"
                self._backoff.went_away(flight.host)
            else:
                continue
            self._drop(name, flight)
            self._lose(flight.trial, flight.host, why)

    def _without_result(self, flight: _Flight, error: BaseException) -> Outcome:
        if flight.client is None or flight.client.status != "running":
            return _lost("the scheduler disconnected")
        if isinstance(error, HostUnfit):
            why = f"cannot measure: {error}"
        elif isinstance(error, TimeoutError):
            why = "does not return its measurements"
        elif isinstance(error, FutureCancelledError | OSError):
            return _lost(f"its result was lost: {error}")
        else:
            why = f"failed: {type(error).__name__}: {error}"
        self._backoff.rest(flight.host, why)
        return _lost(f"{flight.host} {why}")

    def _by_host(self, flight: _Flight, outcome: Outcome) -> Outcome:
        """The outcome, or that the trial is to be measured elsewhere: the disk was full."""
        if not outcome.by_host:
            return outcome
        self._full_on[flight.trial.number].add(flight.host)
        if len(self._full_on[flight.trial.number]) >= _MOST_HOSTS_FULL:
            return outcome
        self._backoff.rest(flight.host, outcome.failure or "its disk is full")
        return _lost(f"{flight.host}: {outcome.failure}")

    def _drop(self, name: str, flight: _Flight) -> None:
        client, future = flight.client, flight.future
        if future is None or client is None or client.status != "running":
            return
        with suppress(*_BROKEN):
            client.cancel([future], force=True)
            client.unpublish_dataset(name)

    def _forget_taken(self) -> None:
        """Frees the scheduler of a result that is stored by now."""
        name, self._taken = self._taken, None
        client = self._connection.client()
        if name is not None and client is not None:
            with suppress(*_BROKEN):
                client.unpublish_dataset(name)


def _lost(why: str) -> Outcome:
    return Outcome(state=TrialState.LOST, failure=why)


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
    ) -> ResolvedJob:
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

    def environment(self, assembly: ResolvedJob) -> dict[str, Any]:
        """That of the host that was asked first, and of all that are there now, by name."""
        found = {seen.name: dict(seen.environment) for seen in self.connection.seen()}
        known = {**self._environment.get("hosts", {}), **found}
        self._environment = {**self._environment, "hosts": known}
        own = assembly.installed.warnings if assembly.installed else ()
        return {**self._environment, "warnings": [*own, *assembly.warnings]}

    def hosts(
        self, assembly: ResolvedJob, key: str, known: Sequence[Trial], on: JobEvents
    ) -> Hosts:
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

    def export(
        self, assembly: ResolvedJob, configuration: Configuration, comments: list[str]
    ) -> str:
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
