"""The tables of all jobs and of a job's trials: filtered, sorted and paged on the server."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, Literal
from urllib.parse import urlencode

from fastapi import APIRouter, Query, Response
from pydantic import BeforeValidator

from api.pages.job_page import job_page
from api.pages.page import Reader
from api.routes.jobs import After, Search
from api.routes.trials import FILES, trial_file
from api.schemas.job_schemas import JobPage, TrialPage, TrialPublic
from api.services.dependencies import TunedJobDep
from db.jobs.job_store import JobOrder, count_by_state, read_jobs
from db.schema.job_row import LIVE, JobKind, JobState
from db.schema.tables import MAIN_METRICS
from db.trials.trial_rows import TrialOrder, count_listed, read_listed
from jobs.views.live import baseline_so_far, confirms_larger_load
from optimizer.evaluation.baseline import Baseline
from optimizer.objective.objective import Objective
from optimizer.objective.objective_file import objective_from_document
from optimizer.trials.trial import Phase
from sampler.bench.outcome import TrialState

router = APIRouter(include_in_schema=False)
_ROWS = 50


@dataclass(frozen=True)
class ColumnHead:
    """The head of a column."""

    name: str  # what it is called
    # Where the table is sorted by it, the other way round if it is already; None: it cannot be.
    link: str | None = None
    sorted: str | None = None  # ascending or descending, for ARIA; None: by another column
    number: bool = False  # whether it holds figures


def head(
    name: str,
    orders: tuple[str, str] | None,
    now: str,
    at: Callable[[str], str],
    *,
    number: bool = False,
) -> ColumnHead:
    """The head of a column, which leads to the table in the order that a reader may want next.

    ``orders`` are the way that is wanted more often, then the other, None where it cannot be
    sorted; ``now`` is how it is sorted, and ``at`` tells the address of the table in another
    order.
    """
    if orders is None:
        return ColumnHead(name, number=number)
    link = at(orders[1] if now == orders[0] else orders[0])
    way = "descending" if now.startswith("-") else "ascending"
    return ColumnHead(name, link, way if now in orders else None, number)


def unless_empty(given: str) -> str | None:
    """A form sends an empty text where nothing is asked for."""
    return given or None


def table_address(path: str, asked: Mapping[str, object], usual_sort: str) -> str:
    """The address of a table: what is asked for but for what is usual, or empty."""
    given = {name: str(value) for name, value in asked.items() if value not in (None, "")}
    told = {name: value for name, value in given.items() if (name, value) != ("sort", usual_sort)}
    return f"{path}?{urlencode(told)}" if told else path


_JOB_COLUMNS = {
    "Job": (JobOrder.NEWEST, JobOrder.OLDEST),
    "State": (JobOrder.STATE, JobOrder.STATE_BACKWARDS),
    "Workload": (JobOrder.WORKLOAD, JobOrder.WORKLOAD_BACKWARDS),
    "Progress": None,
    "Best fitness": (JobOrder.BEST, JobOrder.WORST),
    "Time left": None,
    "Changed": (JobOrder.CHANGED, JobOrder.UNCHANGED),
}


@router.get("/")
def jobs_table(
    visit: Reader,
    state: Annotated[JobState | None, BeforeValidator(unless_empty)] = None,
    kind: Annotated[JobKind | None, BeforeValidator(unless_empty)] = None,
    search: Search = "",
    sort: JobOrder = JobOrder.NEWEST,
    after: After = None,
) -> Response:
    """The table, a page at a time; all that is asked for is in the address."""
    asked: dict[str, Any] = {"state": state, "kind": kind, "search": search}
    rows = read_jobs(visit.engine, limit=_ROWS, after=after, order=sort, **asked)
    found = JobPage.of(rows, _ROWS)
    counts = count_by_state(visit.engine)

    def at(**changed: object) -> str:
        return table_address("/", {**asked, "sort": sort, **changed}, JobOrder.NEWEST)

    return visit.page(
        "jobs.html",
        jobs=found.jobs,
        columns=[
            head(name, orders, sort, lambda order: at(sort=order))
            for name, orders in _JOB_COLUMNS.items()
        ],
        first=at() if after is not None else None,
        following=at(after=found.next) if found.next is not None else None,
        **asked,
        kinds=[each.value for each in JobKind],
        states=[(each.value, counts.get(each, 0)) for each in JobState],
        total=sum(counts.values()),
        sort=sort,
        live=any(job.state in LIVE for job in found.jobs),
    )


_MEDIA = {ending: kind for kind, (ending, _) in FILES.items()}


@router.get("/jobs/{job_id}/trials")
def trials_table(
    visit: Reader,
    job: TunedJobDep,
    state: Annotated[TrialState | None, BeforeValidator(unless_empty)] = None,
    phase: Annotated[Phase | None, BeforeValidator(unless_empty)] = None,
    sort: TrialOrder = TrialOrder.NUMBER,
    after: After = None,
    trial: Annotated[int | None, Query(ge=1, le=2**31 - 1), BeforeValidator(unless_empty)] = None,
) -> Response:
    """The table, a page at a time; with ``trial`` the page that begins with that one."""
    if trial is not None:
        state, phase, sort, after = None, None, TrialOrder.NUMBER, trial - 1
    asked: dict[str, Any] = {"state": state, "phase": phase}
    rows = read_listed(visit.engine, job.id, limit=_ROWS, after=after, order=sort, **asked)
    found = TrialPage.of(rows, _ROWS)
    states, phases = count_listed(visit.engine, job.id)
    objective = objective_from_document(job.specification["objective"])

    def at(**changed: object) -> str:
        told = {**asked, "sort": sort, **changed}
        return table_address(f"/jobs/{job.id}/trials", told, TrialOrder.NUMBER)

    baseline = baseline_so_far(visit.engine, job)
    larger = confirms_larger_load(job)
    first = read_listed(visit.engine, job.id, limit=1)
    start = first[0].configuration if first and first[0].subject == 1 else {}
    shown = []
    for each in found.trials:
        changes = [(k, value) for k, value in each.configuration.items() if start.get(k) != value]
        fitness = _fitness(each, objective, baseline, larger=larger)
        shown.append({"trial": each, "fitness": fitness, "changes": changes})
    return job_page(
        visit,
        "trials.html",
        job=job,
        tab="trials",
        rows=shown,
        metrics=objective.metrics,
        columns=_trial_columns(objective.metrics, sort, lambda order: at(sort=order)),
        first=at() if after is not None else None,
        following=at(after=found.next) if found.next is not None else None,
        **asked,
        sort=sort,
        shown=trial,
        best=((job.standing or {}).get("best") or {}).get("trial"),
        states=[(each.value, states[each]) for each in TrialState if each in states],
        phases=[(each.value, phases[each]) for each in Phase if each in phases],
        total=states.total(),
        files=_MEDIA,
    )


@router.get("/jobs/{job_id}/trials.{ending}")
def trials_file(
    visit: Reader, job: TunedJobDep, ending: Literal["csv", "ndjson", "parquet"]
) -> Response:
    """All of them as a file, for a link cannot say which format it would rather have."""
    headers = {"Cache-Control": "no-store"}
    return trial_file(visit.service, job, _MEDIA[ending], visit.caller, headers=headers)


def _trial_columns(
    metrics: Sequence[str], sort: TrialOrder, at: Callable[[str], str]
) -> list[ColumnHead]:
    orders = {name: (name, f"-{name}") for name in metrics if name in MAIN_METRICS}
    return [
        head("Trial", ("number", "-number"), sort, at, number=True),
        ColumnHead("State"),
        ColumnHead("Phase"),
        *(head(name, orders.get(name), sort, at, number=True) for name in metrics),
        ColumnHead("Fitness", number=True),
        head("Benchmark", ("-bench_seconds", "bench_seconds"), sort, at, number=True),
        ColumnHead("Ended"),
        ColumnHead("Configuration and reason"),
    ]


def _fitness(
    trial: TrialPublic, objective: Objective, baseline: Baseline | None, *, larger: bool
) -> float | None:
    """Of a whole measurement, against the baseline so far.

    ``larger``: the confirmation measures a larger load than the search.
    """
    compared = trial.state is TrialState.DONE and not (larger and trial.phase == Phase.CONFIRM)
    if baseline is None or not compared:
        return None
    metrics = baseline.corrected(trial.metrics, trial.started_at, trial.host)
    return objective.fitness(metrics, baseline.metrics)
