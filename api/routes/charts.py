"""The plots of a job as data: what the dashboard draws."""

from __future__ import annotations

from fastapi import APIRouter
from fastapi.responses import Response

from api.auth.security import requires
from api.http.caching import UNCHANGED, CachedJobDep
from api.http.problems import EVERYWHERE, described
from api.http.rendered import rendered
from api.schemas.result_schemas import ChartPublic, JobCharts
from api.services.dependencies import ServiceDep
from db.access.tokens import Role
from jobs.views.live import live_charts

router = APIRouter(
    prefix="/v1/jobs/{job_id}",
    tags=["results"],
    dependencies=[requires(Role.READ)],
    responses={
        **EVERYWHERE,
        **described(404),
        **UNCHANGED,
    },
)


@router.get("/charts", operation_id="show_charts", response_model=JobCharts)
def show_charts(service: ServiceDep, job: CachedJobDep, response: Response) -> Response:
    """The plots of what a job has measured so far, for Plotly; empty before its baseline was.

    A value such as `@accent` in a field whose name ends with color is a role, not a colour.
    """
    charts = [
        ChartPublic.model_construct(
            name=chart.name, title=chart.title, caption=chart.caption, figure=chart.figure
        )
        for chart in live_charts(service.engine, job)
    ]
    return rendered(JobCharts.model_construct(charts=charts), response)
