"""The routes of the application, those of its routers among them."""

from collections.abc import Iterator
from typing import Any


def routes_of(routes: Any) -> Iterator[tuple[str, str]]:
    """(method, path) of each."""
    for route in routes:
        inner = getattr(route, "original_router", None)
        if inner is not None:
            yield from routes_of(inner.routes)
        else:
            yield from ((method, route.path) for method in route.methods - {"HEAD"})
