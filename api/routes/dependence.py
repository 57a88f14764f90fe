"""How the metrics of a job depend on its parameters, and which of them work together."""

from __future__ import annotations

from fastapi import APIRouter
from fastapi.responses import Response

from api.auth.security import requires
from api.http.caching import UNCHANGED, CachedJobDep
from api.http.problems import EVERYWHERE, ProblemError, described
from api.http.rendered import rendered
from api.schemas.dependence_schemas import Dependence
from api.services.dependencies import ServiceDep
from db.access.tokens import Role
from jobs.views.models import dependence_document, dependence_of_job

router = APIRouter(
    prefix="/v1/jobs/{job_id}",
    tags=["results"],
    dependencies=[requires(Role.READ)],
    responses={
        **EVERYWHERE,
        **described(404, 409),
        **UNCHANGED,
    },
)


@router.get("/dependence", operation_id="show_dependence", response_model=Dependence)
def show_dependence(service: ServiceDep, job: CachedJobDep, response: Response) -> Response:
    """What each parameter's settings do to each metric, and the strongest pairs, by models.

    They learn from all new configurations so far; of many trials, from some evenly over the job.
    """
    found = dependence_of_job(service.engine, job)
    if found is None:
        why = "too few trials have ended well, or no run of the baseline"
        raise ProblemError(409, f"job {job.id} has nothing to learn from yet: {why}")
    return rendered(dependence_document(found), response)
