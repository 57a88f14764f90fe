"""The application: routes over a store."""

import sys
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import replace
from importlib import import_module
from importlib.metadata import version
from typing import Any

from anyio import to_thread
from fastapi import APIRouter, FastAPI
from sqlalchemy import Engine
from starlette.types import ASGIApp, Receive, Scope, Send

from api.http.middleware import Around, BodyLimit, require_rate, time_statements
from api.http.problems import ProblemDocument
from api.pages.errors import add_handlers, error_answer, error_app
from api.routes import (
    catalogue,
    health,
    jobs,
    results,
    schedules,
    trials,
)
from api.services.dependencies import KnownBuilds, Service, names_on_hosts
from db.jobs.job_store import JobStore
from jobs.queue.service_settings import ServiceSettings
from jobs.results.fits import end_fits
from jobs.specification.named_files import registered_workloads
from sampler.bench.installed import InstalledDbBench

_LOG_IN_BYTES = 16 * 2**10  # the one body that is read without a token
_THREADS = 12
# A short page shall not wait for long behind the arithmetic of a long one.
_SWITCH_SECONDS = 0.001

# Of all applications of a process: FastAPI reads what they take and give once, not once for each.
# An operation is called what its function is.
_ROUTES = APIRouter(generate_unique_id_function=lambda route: route.name)
for _routes in (health, catalogue, jobs, trials, results):
    _ROUTES.include_router(_routes.router)
for _router in (jobs.events, schedules.router, schedules.webhooks, results.outcomes):
    _ROUTES.include_router(_router)


def make_app(
    engine: Engine,
    settings: ServiceSettings | None = None,
    *,
    installed: InstalledDbBench | None = None,
    builds: KnownBuilds | None = None,
    trusted: bool = False,
    stopping: Callable[[], bool] = lambda: False,
) -> FastAPI:
    """The HTTP interface over a database that is up to date; see ``Service`` for the arguments.

    Raises:
        InputError: A setting or a registered workload is wrong.
    """
    settings = settings or ServiceSettings()
    app = FastAPI(
        routes=_ROUTES.routes,
        lifespan=_around,
        title="Rocktune",
        version=version("rocktune"),
        summary="Finds better RocksDB options by experiment, and proves that they are better.",
        docs_url=None,  # a page of our own: theirs asks another server for its script
        redoc_url=None,
        # A redirect would lead to whatever host the request named.
        redirect_slashes=False,
        servers=[{"url": settings.root_path}] if settings.root_path else None,
    )
    app.state.service = Service(
        engine=engine,
        store=JobStore(engine),
        settings=settings,
        registered=registered_workloads(settings.workloads_dir),
        installed=installed,
        builds=replace(builds or KnownBuilds(), elsewhere=lambda: names_on_hosts(engine)),
        trusted=trusted,
        stopping=stopping,
    )
    time_statements(engine)
    add_handlers(app)
    app.add_middleware(
        BodyLimit,
        most_bytes=settings.most_body_bytes,
        smaller={"/login": _LOG_IN_BYTES},
        refusal=error_app,
    )
    app.add_middleware(
        Around,
        limit=require_rate(settings.rate_limit),
        refusal=error_answer,
        root_path=settings.root_path,
    )
    app.router.default = _Dashboard()
    app.openapi = _described(app)  # type: ignore[method-assign]
    return app


class _Dashboard:
    """All that is below no route: the pages, imported when a browser asks for the first."""

    _pages: ASGIApp | None = None

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if self._pages is None:
            pages = await to_thread.run_sync(import_module, "api.pages.dashboard")
            self._pages = pages.router
        await self._pages(scope, receive, send)


@asynccontextmanager
async def _around(_: FastAPI) -> AsyncIterator[None]:
    """Pages take turns on few threads: many would only make each other wait. No fit is left."""
    to_thread.current_default_thread_limiter().total_tokens = _THREADS
    before = sys.getswitchinterval()
    sys.setswitchinterval(_SWITCH_SECONDS)
    yield
    end_fits()
    sys.setswitchinterval(before)


def _described(app: FastAPI) -> Callable[[], dict[str, Any]]:
    """The description, with the one shape of all errors in it."""
    of_routes = app.openapi

    def description() -> dict[str, Any]:
        if app.openapi_schema is None:
            described = of_routes()  # kept as app.openapi_schema
            schemas = described["components"]["schemas"]
            whole = ProblemDocument.model_json_schema(ref_template="#/components/schemas/{model}")
            schemas |= whole.pop("$defs", {}) | {"Problem": whole}
            # Each event as OpenAPI 3.1 can: FastAPI writes what 3.2 alone knows.
            watched = described["paths"]["/v1/jobs/{job_id}/events"]["get"]["responses"]["200"]
            stream = watched["content"]["text/event-stream"]
            stream["schema"] = stream.pop("itemSchema")
        return of_routes()

    return description
