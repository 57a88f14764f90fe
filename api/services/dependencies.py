"""What routes depend on: the service, a job of it, and what a stored job has to tell.

What a job does not have yet is refused with 409.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Annotated, Any, TypeVar

from anyio import CancelScope, CapacityLimiter, create_task_group, to_thread
from fastapi import Depends, Header, Path, Request, Response
from pydantic import BaseModel
from pydantic_core import to_json
from sqlalchemy import Engine
from starlette.datastructures import MutableHeaders

from api.http.problems import ProblemError, shortened
from api.http.responses import Exports
from api.services.job_streams import JobStreams
from db.jobs.job_store import JobStore
from db.leases import read_hosts
from db.schema.job_row import ENDED, JobKind, JobRow, JobState
from db.workloads import workload_documents
from jobs.queue.lifecycle import is_external
from jobs.queue.service_settings import ServiceSettings
from jobs.results.fits import ToBeFitted, without_fitting
from jobs.results.pages import VERSION
from optimizer.trials.trial import Trial
from sampler.bench.builds import DEFAULT_BUILD, installed_build, is_build_name, named_programs
from sampler.bench.installed import InstalledDbBench
from sampler.bench.settings import Settings
from sampler.common.errors import InputError

if TYPE_CHECKING:
    from jobs.external import ExternalJobs
    from jobs.specification.experiments import PickRequest
    from jobs.views.answers import PickAnswer
    from optimizer.results.ranking import ParameterRanking


MOST_WAITING = 32
_AGAIN_SECONDS = 10
T = TypeVar("T")


class FitQueue:
    """The viewers of a service whose answer needs models fitted first.

    Each waits without a thread of the pool, so that log-ins, submissions and health are answered
    meanwhile; beyond a bound nobody waits; and who has gone away makes room.
    """

    def __init__(self) -> None:
        self.waiting = 0  # the one whose turn it is among them
        self._turn = CapacityLimiter(1)

    async def answer(self, request: Request, make: Callable[[], T]) -> T:
        """What ``make`` returns: at once where it fits nothing, else when it is its turn.

        It is called once more in the second case, so it changes nothing.

        Raises:
            ProblemError: 503, too many wait, or the client has gone.
            Exception: Whatever ``make`` raised.
        """
        try:
            return await to_thread.run_sync(without_fitting()(make))
        except ToBeFitted:
            pass
        if self.waiting >= MOST_WAITING:
            raise _busy(f"{self.waiting} requests are waiting for models; try again")
        self.waiting += 1
        try:
            return await self._in_turn(request, make)
        finally:
            self.waiting -= 1

    async def _in_turn(self, request: Request, make: Callable[[], T]) -> T:
        made: list[T] = []
        failed: list[Exception] = []
        async with create_task_group() as group:
            group.start_soon(_leave_when_gone, request, group.cancel_scope)
            try:
                made.append(await to_thread.run_sync(make, limiter=self._turn))
            except Exception as error:  # bare, not in a group of its own
                failed.append(error)
            group.cancel_scope.cancel()
        if failed:
            raise failed[0]
        if not made:
            raise _busy("the client has disconnected")
        return made[0]


async def _leave_when_gone(request: Request, scope: CancelScope) -> None:
    while (await request.receive())["type"] != "http.disconnect":
        pass  # what is left of the body
    scope.cancel()


def _busy(why: str) -> ProblemError:
    return ProblemError(503, why, headers={"Retry-After": str(_AGAIN_SECONDS)})


_BUILD = "db_bench"


@dataclass(frozen=True)
class KnownBuilds:
    """Who has which RocksDB builds. Jobs name them: over HTTP a path would run any program."""

    # The builds of this machine by name, where it measures; None for one that does not work.
    here: Mapping[str, InstalledDbBench | None] = field(default_factory=dict)
    # The names that other hosts advertise; asked only when it must be known.
    elsewhere: Callable[[], Collection[str]] = tuple

    @property
    def versions(self) -> dict[str, str]:
        """The versions of the builds of this machine that work, by name."""
        return {name: build.version for name, build in self.here.items() if build}

    def find(self, name: str) -> InstalledDbBench | None:
        """The build of that name, where it is on this machine and works.

        While no host has said what it has, any name may turn out to be known; afterwards one that
        no host has is an InputError, as is what is no name.
        """
        if not is_build_name(name):
            problem = f"{shortened(name)} is not a build's name; paths are not accepted over HTTP"
            raise InputError(_BUILD, f"{problem}; /v1/hosts lists the builds")
        if name == DEFAULT_BUILD or name in self.here:
            return self.here.get(name)
        known = sorted({*self.here, *self.elsewhere()})
        if known and name not in known:
            names = ", ".join(known)
            raise InputError(_BUILD, f"no host has a build {name!r}; choose one of {names}")
        return None


def builds_here(settings: Settings, default: InstalledDbBench | None) -> KnownBuilds:
    """The builds of this machine, ``default`` in use; an InputError of a wrong ROCKTUNE_BUILDS."""
    here: dict[str, InstalledDbBench | None] = {}
    for name in named_programs(settings):
        here[name] = None
        with suppress(InputError):
            here[name] = default if name == DEFAULT_BUILD else installed_build(name, settings)
    return KnownBuilds({DEFAULT_BUILD: default} | here)


def names_on_hosts(engine: Engine) -> set[str]:
    """The names of all builds that hosts advertise and that work there."""
    known = [build for h in read_hosts(engine) for build in h.environment.get("builds") or ()]
    return {build["name"] for build in known if build["problem"] is None}


@dataclass(frozen=True)
class Service:
    """What all requests share."""

    engine: Engine
    store: JobStore
    settings: ServiceSettings
    registered: Mapping[str, Mapping[str, Any]]  # the shipped and the operator's workloads
    installed: InstalledDbBench | None  # the db_bench that measures, where it is on this machine
    builds: KnownBuilds  # further RocksDB builds that jobs may name
    # whether whoever asks could as well open the database, and never asks from a network: then
    # they need no token
    trusted: bool
    stopping: Callable[[], bool]  # whether the server is about to stop: then long answers end
    exports: Exports = field(default_factory=Exports)
    fits: FitQueue = field(default_factory=FitQueue)

    @cached_property
    def streams(self) -> JobStreams:
        """The event streams that are open."""
        most = self.settings.most_streams
        return JobStreams(self.engine, most=most, stopping=self.stopping)

    @property
    def workloads(self) -> Mapping[str, Mapping[str, Any]]:
        """All that jobs may name now, with their documents: those that were sent come last.

        A name that is registered is that of the registered one, whatever was sent before.
        """
        return {**self.registered, **workload_documents(self.engine), **self.registered}

    @cached_property
    def external(self) -> ExternalJobs:
        """The jobs that users' own runners measure; one for all requests."""
        from jobs.external import ExternalJobs

        return ExternalJobs(self.engine)


async def _service(request: Request) -> Service:
    # What waits for nothing is async: else it would cost a turn in the pool of threads.
    service: Service = request.app.state.service
    return service


ServiceDep = Annotated[Service, Depends(_service)]
JobId = Annotated[int, Path(ge=1, le=2**63 - 1, description="Job number.", examples=[1])]


def _job(service: ServiceDep, job_id: JobId) -> JobRow:
    return service.store.job(job_id)


JobDep = Annotated[JobRow, Depends(_job)]


def _tuned(job: JobDep) -> JobRow:
    if job.kind is not JobKind.TUNE:
        told = f"job {job.id} is of kind {job.kind}, which has no such data"
        raise ProblemError(404, f"{told}; its result is at /v1/jobs/{job.id}/result")
    return job


TunedJobDep = Annotated[JobRow, Depends(_tuned)]
"""The same of a job that tunes; 404 of an experiment."""

TUNED = Depends(_tuned)
"""For a route, or a router, that is of tuning jobs alone; after what says who may ask."""

UNCHANGED: dict[int | str, dict[str, Any]] = {304: {"description": "Not changed since this ETag"}}
"""What a route that takes ``CachedJobDep`` may answer, for the description."""


class NotModifiedError(Exception):
    """The client has it already."""

    def __init__(self, headers: dict[str, str]) -> None:
        super().__init__("not modified")
        self.headers = headers


async def _unless_known(
    request: Request,
    response: Response,
    job: JobDep,
    if_none_match: Annotated[str | None, Header(max_length=4000)] = None,
) -> JobRow:
    if job.state not in ENDED:
        response.headers["Cache-Control"] = "no-store"
        return job
    what = f"{request.url.path}?{request.url.query} {request.headers.get('accept', '')}"
    # With another version of Rocktune the same job may have another report.
    when = f"{job.run} {job.updated_at.timestamp()} {job.state.value} {VERSION}"
    tag = f'W/"{hashlib.sha256(f"{what} {when}".encode()).hexdigest()[:24]}"'
    headers = {"ETag": tag, "Cache-Control": "private, no-cache", "Vary": "Accept, Authorization"}
    known = [each.strip() for each in (if_none_match or "").split(",")]
    if tag in known or "*" in known:
        raise NotModifiedError(headers)
    response.headers.update(headers)
    return job


CachedJobDep = Annotated[JobRow, Depends(_unless_known)]
"""A job; where the client knows the answer already, 304 instead."""


@dataclass(frozen=True)
class JobAnswer:
    """A request for what a job has to tell, and the headers of its answer."""

    request: Request
    service: Service
    job: JobRow
    headers: MutableHeaders

    def json(self, page: BaseModel | dict[str, object]) -> Response:
        """The page as JSON; what is read from the database is sound, and is not checked again."""
        body = page.model_dump_json() if isinstance(page, BaseModel) else to_json(page)
        return Response(body, media_type="application/json", headers=dict(self.headers))

    def file(self, content: str | bytes, name: str, kind: str) -> Response:
        """A file, to be kept under a name; ``kind`` is its media type."""
        disposition = {"Content-Disposition": f'attachment; filename="{name}"'}
        return Response(content, headers={**self.headers, **disposition}, media_type=kind)

    async def fitted(self, make: Callable[[], BaseModel | dict[str, object]]) -> Response:
        """What ``make`` returns as JSON; models may have to be fitted for it, see ``FitQueue``."""
        return await self.service.fits.answer(self.request, lambda: self.json(make()))


async def _answer(
    request: Request, service: ServiceDep, job: CachedJobDep, response: Response
) -> JobAnswer:
    return JobAnswer(request, service, job, response.headers)


AnswerDep = Annotated[JobAnswer, Depends(_answer)]


_MOST_LIVE = 5000
MOST_TRIALS = 20_000
_MOST_LEARNED = 2_000


def require_done(job: JobRow) -> None:
    """Refuses with 409 a job that has no result yet."""
    if job.state is not JobState.DONE:
        raise ProblemError(409, f"job {job.id} is {job.state.value}; it has no result yet")


def result_of(service: Service, job: JobRow) -> Mapping[str, Any]:
    """The document of result.json; 409 where the job has none yet."""
    require_done(job)
    result = service.store.result(job.id)
    assert result is not None
    return result


def result_if_done(service: Service, job: JobRow) -> Mapping[str, Any] | None:
    """The same; None where there is none yet."""
    return service.store.result(job.id) if job.state is JobState.DONE else None


def job_ranking(service: Service, job: JobRow) -> tuple[ParameterRanking, bool]:
    """What a job knows of its parameters, and whether that is final; 409 for nothing yet."""
    from optimizer.results.ranking import ParameterRanking

    final = job.state is JobState.DONE
    document = result_of(service, job) if final else service.store.recall(job.id, "ranking")
    if document is not None:
        return ParameterRanking.model_validate(document), final
    if is_external(job) and 0 < (job.standing or {}).get("done", 0) <= _MOST_LIVE:
        from jobs.external import live_ranking

        return live_ranking(service.engine, job), final
    raise ProblemError(409, f"job {job.id} has no ranking yet; it follows the sampling")


def measured_trials(
    service: Service, job: JobRow, *, most: int = MOST_TRIALS, otherwise: str = ""
) -> Sequence[Trial]:
    """All trials of a job that are not too many, with its baseline among them.

    ``otherwise`` says what to do where more than ``most`` are too many, and ``MOST_TRIALS`` not.

    Raises:
        ProblemError: 409, they are too many, or the baseline was not measured yet.
    """
    count = sum(service.store.count_trials(job.id).values())
    if count > most:
        mend = otherwise if count <= MOST_TRIALS else ""
        raise ProblemError(409, f"job {job.id} has more than {most:,} trials{mend}")
    trials = service.store.trials(job.id)
    if not any(trial.is_baseline and trial.done for trial in trials):
        raise ProblemError(409, f"job {job.id} has no run of its baseline yet")
    return trials


def picked(service: Service, job: JobRow, asked: PickRequest) -> PickAnswer:
    """The fittest of all measured configurations by a preference.

    Raises:
        ProblemError: 409, the job has too many trials, or no run of its baseline yet.
        InputError: The preference is none, or is for what was not measured.
    """
    from jobs.specification.resolved_job import resolve_stored
    from jobs.views.pick import pick_of_job
    from optimizer.results.document import Result

    most = _MOST_LEARNED if asked.model else MOST_TRIALS
    trials = measured_trials(service, job, most=most, otherwise="; omit the model")
    document = result_if_done(service, job)
    best = Result.read(document).best if document else None
    proven = best.trial if best else None
    return pick_of_job(job.id, resolve_stored(job), trials, asked, proven=proven)
