"""The application: routes over a store."""

from __future__ import annotations

from importlib.metadata import version

from fastapi import FastAPI
from sqlalchemy import Engine

from api.problems import add_handlers
from api.routes import catalogue, health, jobs
from db.job_store import Store


def make_app(engine: Engine) -> FastAPI:
    """The HTTP interface over a database that is up to date.

    It reads what jobs have left; jobs themselves are run from the terminal.
    """
    app = FastAPI(
        title="Rocktune",
        version=version("rocktune"),
        summary="Finds better RocksDB options by experiment, and proves it.",
    )
    app.state.store = Store(engine)
    add_handlers(app)
    for routes in (health, catalogue, jobs):
        app.include_router(routes.router)
    return app
