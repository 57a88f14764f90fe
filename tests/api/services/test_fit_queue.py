"""Viewers whose pages need models: they wait apart, not in the threads that answer all others."""

import socket
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from threading import Event
from typing import Any
from urllib.parse import urlsplit

import httpx2
import pytest
from fastapi import FastAPI
from sqlalchemy import Engine

from api.app import _THREADS, make_app
from api.services import dependencies
from db.access.tokens import Role, make_token
from jobs.views import results as models
from tests.support.api.browser import SEES
from tests.support.api.callers import QUEUED, bearer
from tests.support.api.real_server import serving
from tests.support.api.stored_job import keep, proved
from tests.support.jobs.service_desk import wait_until

pytestmark = [pytest.mark.one_database, pytest.mark.slow]
# More wait than the server has threads: not in them.
VIEWERS, MOST_WAITING = 16, 14


class Fits:
    """Fits that begin, and end when the test says so."""

    def __init__(self) -> None:
        self.begun, self.go_on = 0, Event()

    def __call__(self, _fit: Callable[..., Any], *_given: Any) -> None:
        self.begun += 1
        assert self.go_on.wait(300)


@pytest.fixture
def fits(monkeypatch: pytest.MonkeyPatch) -> Iterator[Fits]:
    held = Fits()
    monkeypatch.setattr(models, "fitted", held)
    yield held
    held.go_on.set()


@pytest.fixture
def app(database: Engine) -> FastAPI:
    return make_app(database)


@pytest.fixture
def token(database: Engine) -> str:
    return make_token(database, "viewer", Role.SUBMIT)


@pytest.fixture
def url(app: FastAPI, fits: Fits) -> Iterator[str]:
    with serving(app) as url:
        yield url
        fits.go_on.set()  # or the server would wait for it


@pytest.fixture
def caller(url: str, token: str) -> Iterator[httpx2.Client]:
    limits = httpx2.Limits(max_connections=None)
    with httpx2.Client(base_url=url, headers=bearer(token), timeout=120, limits=limits) as client:
        yield client


def test_many_viewers_of_many_jobs_hold_nobody_else_up(
    app: FastAPI, database: Engine, fits: Fits, caller: httpx2.Client, token: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    monkeypatch.setattr(dependencies, "MOST_WAITING", MOST_WAITING)
    assert VIEWERS > MOST_WAITING > _THREADS
    jobs = [keep(database, proved()) for _ in range(VIEWERS)]

    def view(job: int) -> httpx2.Response:
        return caller.get(f"/jobs/{job}/matters?details=true", headers=SEES)

    with ThreadPoolExecutor(VIEWERS) as viewers:
        seen = [viewers.submit(view, job) for job in jobs]
        refused = VIEWERS - MOST_WAITING
        wait_until(
            lambda: sum(each.done() for each in seen) == refused and fits.begun == 1,
            seconds=120,
            what="all wait, or are refused",
        )
        assert app.state.service.fits.waiting == MOST_WAITING
        for each in (each.result() for each in seen if each.done()):
            assert (each.status_code, each.headers["retry-after"]) == (503, "10")
        assert caller.get("/healthz").status_code == 200
        assert caller.get(f"/jobs/{jobs[0]}/matters", headers=SEES).status_code == 200
        assert caller.post("/v1/jobs", json=QUEUED).status_code == 201
        page = str(caller.base_url).rstrip("/")
        logged_in = httpx2.post(
            f"{page}/login", data={"token": token}, headers={"Origin": page}, timeout=120
        )
        assert logged_in.status_code == 303
        assert fits.begun == 1 and app.state.service.fits.waiting == MOST_WAITING
        fits.go_on.set()
        pages = [each.result() for each in seen]
    assert sorted(page.status_code for page in pages) == [200] * MOST_WAITING + [503] * refused
    assert fits.begun == MOST_WAITING
    assert app.state.service.fits.waiting == 0


def test_what_is_known_waits_behind_no_fit(
    database: Engine, fits: Fits, caller: httpx2.Client
) -> None:
    known, other = (keep(database, proved()) for _ in range(2))
    path = "/v1/jobs/{}/dependence"
    fits.go_on.set()
    assert caller.get(path.format(known)).status_code == 409
    fits.go_on.clear()
    with ThreadPoolExecutor(1) as viewers:
        waits = viewers.submit(caller.get, path.format(other))
        wait_until(lambda: fits.begun == 2, seconds=60, what="the other is fitted")
        assert caller.get(path.format(known)).status_code == 409
        assert not waits.done()
        fits.go_on.set()


def test_who_has_gone_away_makes_room(
    app: FastAPI, database: Engine, fits: Fits, url: str, token: str
) -> None:
    jobs = [keep(database, proved()) for _ in range(6)]
    place = urlsplit(url)
    assert place.hostname is not None and place.port is not None
    viewers = []
    for number, job in enumerate(jobs, start=1):
        viewer = socket.create_connection((place.hostname, place.port))
        asked = f"GET /v1/jobs/{job}/dependence HTTP/1.1\r\nHost: {place.netloc}\r\n"
        viewer.sendall(f"{asked}Authorization: Bearer {token}\r\n\r\n".encode())
        viewers.append(viewer)
        wait_until(
            lambda number=number: app.state.service.fits.waiting == number,
            seconds=60,
            what="it waits",
        )
    for viewer in viewers:
        viewer.close()
    wait_until(lambda: app.state.service.fits.waiting == 1, seconds=60, what="one place is taken")
    fits.go_on.set()
    wait_until(lambda: app.state.service.fits.waiting == 0, seconds=60, what="none is")
    assert fits.begun == 1, "nobody waits for the others"
