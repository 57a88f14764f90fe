"""A job's trials: filtered, sorted and paged on the server, each under its own address."""

from collections.abc import Callable, Sequence
from typing import Annotated, Literal

from fastapi import APIRouter, Query, Response
from pydantic import BeforeValidator

from api.pages.job_page import job_page
from api.pages.page import Reader
from api.pages.sorted_table import Column, head, table_address, unless_empty
from api.routes.jobs import After
from api.schemas.trial_schemas import TrialPublic
from api.services.dependencies import JobDep, ServiceDep
from api.services.listings import FILES, page_of_trials, trial_file
from db.schema.tables import MAIN_METRICS
from db.trials.trial_list import TrialOrder, count_listed
from jobs.views.job_series import baseline_so_far, confirms_larger_load
from optimizer.baseline.baseline import Baseline
from optimizer.objective.objective import Objective
from optimizer.objective.objective_file import objective_from_document
from optimizer.trials.trial import Phase
from sampler.runner.outcome import TrialState

router = APIRouter(include_in_schema=False)
_ROWS = 50
_MEDIA = {ending: kind for kind, (ending, _) in FILES.items()}
_USUAL = {"sort": TrialOrder.NUMBER.value}


@router.get("/jobs/{job_id}/trials")
def trials_table(
    visit: Reader,
    service: ServiceDep,
    job: JobDep,
    state: Annotated[TrialState | None, BeforeValidator(unless_empty)] = None,
    phase: Annotated[Phase | None, BeforeValidator(unless_empty)] = None,
    sort: TrialOrder = TrialOrder.NUMBER,
    after: After = None,
    trial: Annotated[int | None, Query(ge=1, le=2**31 - 1), BeforeValidator(unless_empty)] = None,
) -> Response:
    """The table, a page at a time; with ``trial`` the page that begins with that one."""
    if trial is not None:
        state, phase, sort, after = None, None, TrialOrder.NUMBER, trial - 1
    found = page_of_trials(
        service.engine, job.id, limit=_ROWS, after=after, state=state, phase=phase, order=sort
    )
    counts = count_listed(service.engine, job.id)
    objective = objective_from_document(job.specification["objective"])
    asked = {"state": state, "phase": phase, "sort": sort}

    def at(**changed: object) -> str:
        return table_address(f"/jobs/{job.id}/trials", {**asked, **changed}, _USUAL)

    baseline = baseline_so_far(service.engine, job)
    larger = confirms_larger_load(job)
    first = page_of_trials(service.engine, job.id, limit=1).trials
    start = first[0].configuration if first and first[0].subject == 1 else {}
    rows = [
        {
            "trial": trial,
            "fitness": _fitness(trial, objective, baseline, larger=larger),
            "is_baseline": trial.subject == 1,
            "changes": [
                (name, value)
                for name, value in trial.configuration.items()
                if start.get(name) != value
            ],
        }
        for trial in found.trials
    ]
    return job_page(
        visit,
        "trials.html",
        job=job,
        tab="trials",
        rows=rows,
        metrics=objective.metrics,
        columns=_columns(objective.metrics, sort, lambda order: at(sort=order)),
        first=at() if after is not None else None,
        following=at(after=found.next) if found.next is not None else None,
        state=state,
        phase=phase,
        sort=sort,
        shown=trial,
        best=((job.standing or {}).get("best") or {}).get("trial"),
        states=[(each.value, counts.states[each]) for each in TrialState if each in counts.states],
        phases=[(each.value, counts.phases[each]) for each in Phase if each in counts.phases],
        total=counts.total,
        files=_MEDIA,
    )


@router.get("/jobs/{job_id}/trials.{ending}")
def trials_file(
    service: ServiceDep, _: Reader, job: JobDep, ending: Literal["csv", "ndjson", "parquet"]
) -> Response:
    """All of them as a file, for a link cannot say which format it would rather have."""
    headers = {"Cache-Control": "no-store"}
    return trial_file(service, job, _MEDIA[ending], headers=headers)


def _columns(metrics: Sequence[str], sort: TrialOrder, at: Callable[[str], str]) -> list[Column]:
    orders = {name: (name, f"-{name}") for name in metrics if name in MAIN_METRICS}
    return [
        head("Trial", ("number", "-number"), sort, at, number=True),
        Column("State"),
        Column("Phase"),
        *(head(name, orders.get(name), sort, at, number=True) for name in metrics),
        Column("Fitness", number=True),
        head("Benchmark", ("-bench_seconds", "bench_seconds"), sort, at, number=True),
        Column("Ended"),
        Column("Configuration, and why"),
    ]


def _fitness(
    trial: TrialPublic, objective: Objective, baseline: Baseline | None, *, larger: bool
) -> float | None:
    """Of a whole measurement, against the baseline so far.

    ``larger``: the confirmation measures a larger load than the search.
    """
    if baseline is None or trial.state is not TrialState.DONE:
        return None
    if larger and trial.phase == Phase.CONFIRM:
        return None
    metrics = baseline.corrected(trial.metrics, trial.started_at, trial.host)
    return objective.fitness(metrics, baseline.metrics)
