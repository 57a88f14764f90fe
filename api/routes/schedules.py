"""Schedules, the batches that they and terminals begin, and webhooks that tell of them."""

from typing import TYPE_CHECKING, Annotated, Any

from fastapi import APIRouter, Path, Query, Response

from api.auth.security import ADMINISTERS, READS, SUBMITS, Caller, GuardedRoute
from api.http.problems import EVERYWHERE, ProblemError, described, field_problems, refused
from api.http.responses import created
from api.routes.jobs import After, Limit
from api.schemas.schedule_schemas import (
    NAME_PATTERN,
    BatchAsked,
    BatchBrief,
    BatchJobState,
    BatchPage,
    BatchPublic,
    DeliveryPublic,
    ScheduleCreate,
    SchedulePublic,
    WebhookCreate,
    WebhookPublic,
)
from api.services.dependencies import Service, ServiceDep
from api.services.submission import plan_from
from db.connection.engine import now, reading, writing
from db.nightly.batches import (
    ScheduleRow,
    batch_result,
    find_batch,
    find_schedule,
    job_states,
    read_batches,
    read_schedules,
    remove_schedule,
)
from db.webhooks import TEST, add_webhook, read_deliveries, read_webhooks, remove_webhook, tell
from jobs.schedule import begin_now, keep_schedule, read_times, run_now, stopped_because
from jobs.webhooks import hosts_named, new_secret, require_url
from sampler.common.errors import InputError

if TYPE_CHECKING:
    from jobs.regression.detection import RegressionReport


router = APIRouter(
    prefix="/v1", tags=["schedules"], responses=EVERYWHERE, route_class=GuardedRoute
)
_LAST = 10  # batches that are shown with a schedule

ScheduleName = Annotated[
    str, Path(max_length=200, pattern=NAME_PATTERN, description="Name.", examples=["nightly"])
]
BatchId = Annotated[int, Path(ge=1, le=2**63 - 1, description="Batch number.", examples=[1])]
NightOf = Annotated[
    int | None,
    Query(ge=1, le=2**63 - 1, description="Number of the batch that the change began with."),
]
BatchName = Annotated[
    str | None, Query(max_length=200, pattern=NAME_PATTERN, description="Name of the batches.")
]


@router.post(
    "/schedules",
    operation_id="add_schedule",
    status_code=201,
    responses={**described(400, 409, 413), **created("URL of the schedule")},
)
def make_schedule(
    service: ServiceDep,
    response: Response,
    asked: ScheduleCreate,
    caller: Annotated[Caller, SUBMITS],
) -> SchedulePublic:
    """Adds a schedule, which starts a batch at the times of a cron expression."""
    try:
        read_times(asked.cron, asked.time_zone)
    except InputError as error:
        raise refused(field_problems(error, asked.model_dump(exclude={"batch"}))) from None
    plan = plan_from(asked.batch, asked.name, service)
    about = asked.model_dump(exclude={"batch"})
    keep_schedule(service.engine, plan, **about, submitter=caller.name)
    response.headers["Location"] = f"/v1/schedules/{asked.name}"
    return _public(service, _found(service, asked.name))


@router.get("/schedules", dependencies=[READS])
def list_schedules(service: ServiceDep) -> list[SchedulePublic]:
    """Lists the schedules by name, each with its next time and last batches."""
    return [_public(service, row) for row in read_schedules(service.engine)]


@router.get("/schedules/{name}", dependencies=[READS], responses=described(404))
def show_schedule(service: ServiceDep, name: ScheduleName) -> SchedulePublic:
    """Returns a schedule with its next time and last batches."""
    return _public(service, _found(service, name))


@router.post(
    "/schedules/{name}/run",
    status_code=201,
    # First of all, or else whoever has no token could learn which schedules there are.
    dependencies=[SUBMITS],
    responses={**described(404, 409), **created("URL of the batch")},
)
def run_schedule(
    service: ServiceDep,
    response: Response,
    name: ScheduleName,
    caller: Annotated[Caller, SUBMITS],
) -> BatchBrief:
    """Starts the batch of a schedule now. Its scheduled times stay."""
    try:
        batch_id = run_now(
            service.engine,
            _found(service, name).id,
            submitter=caller.name,
            most_queued=service.settings.most_queued,
        )
    except KeyError:
        raise _none(name) from None
    response.headers["Location"] = f"/v1/batches/{batch_id}"
    return BatchBrief.of(find_batch(service.engine, batch_id))


@router.delete(
    "/schedules/{name}", status_code=204, dependencies=[ADMINISTERS], responses=described(404)
)
def delete_schedule(service: ServiceDep, name: ScheduleName) -> None:
    """Deletes a schedule. Its batches stay, and a running batch continues."""
    if not remove_schedule(service.engine, name):
        raise _none(name)


@router.post(
    "/batches",
    operation_id="begin_batch",
    status_code=201,
    responses={**described(400, 409, 413), **created("URL of the batch")},
)
def submit_batch(
    service: ServiceDep, response: Response, asked: BatchAsked, caller: Annotated[Caller, SUBMITS]
) -> BatchBrief:
    """Starts a batch now; the worker runs its jobs in order."""
    plan = plan_from(asked, "batch", service)
    batch_id = begin_now(
        service.engine, plan, submitter=caller.name, most_queued=service.settings.most_queued
    )
    response.headers["Location"] = f"/v1/batches/{batch_id}"
    return BatchBrief.of(find_batch(service.engine, batch_id))


@router.get("/batches", dependencies=[READS])
def list_batches(
    service: ServiceDep, name: BatchName = None, limit: Limit = 50, after: After = None
) -> BatchPage:
    """Lists batches by page, newest first, including those of terminals."""
    rows = read_batches(service.engine, limit=limit, after=after, name=name)
    following = rows[-1].id if len(rows) == limit else None
    return BatchPage(batches=[BatchBrief.of(row) for row in rows], next=following)


@router.get("/batches/{batch_id}", dependencies=[READS], responses=described(404))
def show_batch(service: ServiceDep, batch_id: BatchId) -> BatchPublic:
    """Returns a batch: states of its jobs, and its result once it has ended."""
    try:
        row = find_batch(service.engine, batch_id)
    except KeyError:
        raise ProblemError(404, f"there is no batch {batch_id}") from None
    states = job_states(service.engine, [batch_id])[batch_id]
    items = []
    for name in (each["item"] for each in row.document["items"]):
        number, state = states.get(name, (None, "deleted"))
        items.append(BatchJobState(item=name, job=number, state=state))
    result = dict(batch_result(service.engine, batch_id) or {}) or None
    return BatchPublic(**dict(BatchBrief.of(row)), items=items, result=result)


@router.get("/nights/{name}/triage", dependencies=[READS], responses=described(404))
def triage_nights(
    service: ServiceDep, name: ScheduleName, night: NightOf = None
) -> dict[str, Any]:
    """Returns the changes of one night of a batch, and what else changed then; not the cause.

    The default night is that of the newest worsening. `docs/how-to/triage.md` describes the
    document.
    """
    from jobs.regression.triage import triage_of

    return triage_of(service.engine, judged_nights(service, name), name, night)


def judged_nights(service: Service, name: str) -> "RegressionReport":
    """What the nights of a batch show, none among them; 404 where there is no such batch."""
    # A server that nobody asks for nights does without numpy.
    from jobs.regression.detection import detect_regressions, regressions_of_batch

    report = regressions_of_batch(service.engine, name)
    if report is None and not read_batches(service.engine, limit=1, name=name):
        raise ProblemError(404, f"there is no batch {name!r}")
    return report or detect_regressions(())


def _found(service: Service, name: str) -> ScheduleRow:
    row = find_schedule(service.engine, name)
    if row is None:
        raise _none(name)
    return row


def _none(name: str) -> ProblemError:
    return ProblemError(404, f"there is no schedule {name!r}")


def _public(service: Service, row: ScheduleRow) -> SchedulePublic:
    last = read_batches(service.engine, limit=_LAST, schedule_id=row.id)
    with reading(service.engine) as connection:
        stopped = stopped_because(connection, row)
    return SchedulePublic.of(row, [BatchBrief.of(each) for each in last], stopped)


webhooks = APIRouter(
    prefix="/v1", tags=["webhooks"], responses=EVERYWHERE, route_class=GuardedRoute
)
WebhookId = Annotated[int, Path(ge=1, le=2**63 - 1, description="Webhook number.", examples=[1])]


@webhooks.post(
    "/webhooks",
    status_code=201,
    responses={**described(400, 409, 413), **created("URL of its deliveries")},
)
def make_webhook(
    service: ServiceDep,
    response: Response,
    asked: WebhookCreate,
    caller: Annotated[Caller, ADMINISTERS],
) -> WebhookPublic:
    """Adds a webhook. Only this answer contains the secret that signs its messages."""
    url, events = str(asked.url), list(dict.fromkeys(asked.events))
    try:
        require_url(url, hosts_named(service.settings.webhook_allow))
    except InputError as error:
        raise refused(field_problems(error)) from None
    made = add_webhook(service.engine, url, events, new_secret(), caller.name)
    if made is None:
        raise ProblemError(409, "a webhook for this URL already exists; delete it first")
    response.headers["Location"] = f"/v1/webhooks/{made.id}/deliveries"
    return WebhookPublic.of(made, made.secret)


@webhooks.get("/webhooks", dependencies=[ADMINISTERS])
def list_webhooks(service: ServiceDep) -> list[WebhookPublic]:
    """Lists the webhooks, oldest first."""
    return [WebhookPublic.of(row) for row in read_webhooks(service.engine)]


@webhooks.delete(
    "/webhooks/{webhook_id}", status_code=204, dependencies=[ADMINISTERS], responses=described(404)
)
def delete_webhook(service: ServiceDep, webhook_id: WebhookId) -> None:
    """Deletes a webhook with its deliveries, also those that were not sent yet."""
    if not remove_webhook(service.engine, webhook_id):
        raise _no_webhook(webhook_id)


@webhooks.post(
    "/webhooks/{webhook_id}/test",
    status_code=201,
    dependencies=[ADMINISTERS],
    responses={**described(404), **created("URL of its deliveries")},
)
def test_webhook(service: ServiceDep, response: Response, webhook_id: WebhookId) -> DeliveryPublic:
    """Sends a test message through the worker, with retries; see its deliveries."""
    with writing(service.engine) as connection:
        subject = f"{TEST} {now(connection).isoformat()}"
        if not tell(connection, [TEST], subject, {}, only=webhook_id):
            raise _no_webhook(webhook_id)
    response.headers["Location"] = f"/v1/webhooks/{webhook_id}/deliveries"
    made = (e for e in read_deliveries(service.engine, webhook_id) if e.subject == subject)
    return DeliveryPublic.of(next(made))


@webhooks.get(
    "/webhooks/{webhook_id}/deliveries", dependencies=[ADMINISTERS], responses=described(404)
)
def list_deliveries(service: ServiceDep, webhook_id: WebhookId) -> list[DeliveryPublic]:
    """Lists the last deliveries of a webhook with their answers, newest first."""
    if webhook_id not in {each.id for each in read_webhooks(service.engine)}:
        raise _no_webhook(webhook_id)
    return [DeliveryPublic.of(row) for row in read_deliveries(service.engine, webhook_id)]


def _no_webhook(webhook_id: int) -> ProblemError:
    return ProblemError(404, f"there is no webhook {webhook_id}")
