"""The routes of the application, those of its routers and of its pages among them."""

from collections.abc import Iterator
from typing import Any

from fastapi import FastAPI

from api.pages.dashboard import router


def routes_of(app: FastAPI) -> Iterator[tuple[str, str]]:
    """(method, path) of each."""
    yield from _routes_in([*app.routes, *router.routes])


def _routes_in(routes: Any) -> Iterator[tuple[str, str]]:
    for route in routes:
        inner = getattr(route, "original_router", None)
        if inner is not None:
            yield from _routes_in(inner.routes)
        else:
            yield from ((method, route.path) for method in route.methods - {"HEAD"})
