"""The service's application in this process, over a local database: no server is needed."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import httpx2

from cli.client.remote import Remote


class InProcess(httpx2.BaseTransport):
    """Hands each request to an application and waits for its answer."""

    def __init__(self, app: Any) -> None:
        """Binds it to an application."""
        self._transport = httpx2.ASGITransport(app)

    def handle_request(self, request: httpx2.Request) -> httpx2.Response:
        """The application's answer."""
        return asyncio.run(self._answer(request))

    async def _answer(self, request: httpx2.Request) -> httpx2.Response:
        answer = await self._transport.handle_async_request(request)
        content = await answer.aread()
        return httpx2.Response(answer.status_code, headers=answer.headers, content=content)


@contextmanager
def local(db: str | None) -> Iterator[Remote]:
    """The local database, asked as a service is.

    Raises:
        InputError: It cannot be used, or a setting of the service is wrong.
    """
    from api.app import make_app
    from cli.operations.service import open_database
    from db.connection.address import shown_url
    from jobs.queue.logs import configure_logs
    from jobs.queue.service_settings import load_service_settings

    # What goes wrong reaches the command as an exception; to log it too would tell it twice.
    configure_logs("error" if "ROCKTUNE_DEBUG" in os.environ else "critical")
    settings = load_service_settings()
    engine = open_database(db, migrate=False)
    try:
        app = make_app(engine, settings, trusted=True)
        with httpx2.Client(transport=InProcess(app), base_url="http://localhost") as client:
            yield Remote(client, shown_url(engine.url), is_local=True)
    finally:
        engine.dispose()
