"""Who asks for too much gets a 429 or a 401 at once, and costs nobody else a place.

What the attacks cost on a real server: `make prove-attacks`.
"""

import asyncio
import json
import socket
from collections.abc import Awaitable, Callable, Iterator
from contextlib import AsyncExitStack
from datetime import timedelta
from typing import Any

import pytest
from fastapi import FastAPI
from fastapi.testclient import TestClient
from sqlalchemy import Engine

from api.app import make_app
from api.auth.security import Caller
from api.http.middleware import MOST_VALUES
from api.http.problems import ProblemError
from api.http.responses import MOST, MOST_OF_ONE, Exports
from api.server import _listen
from api.services import job_streams
from api.services.job_streams import JobStreams, Stream
from db.access.tokens import Role, make_token, open_session, revoke_token
from db.jobs.job_store import JobStore
from db.schema.job_row import JobState
from jobs.queue.service_settings import ServiceSettings
from tests.support.api.callers import EXTERNAL, bearer, require_problem, submit
from tests.support.api.real_server import serving
from tests.support.api.served_routes import routes_of
from tests.support.jobs.elsewhere import statements

LIMITS = pytest.mark.one_database  # above the database


def of_token(name: str) -> Caller:
    return Caller(name, Role.READ, by_bearer=True, token_id=name)


class Streams:
    """Open event streams of one server, without HTTP around them."""

    def __init__(self, database: Engine, most: int = 400) -> None:
        self.stopping = False
        self.streams = JobStreams(database, most=most, stopping=lambda: self.stopping)
        self.stack = AsyncExitStack()

    async def open(self, job: int, caller: Caller) -> Stream:
        stream = await self.stack.enter_async_context(self.streams.opened(job, caller))
        await self.streams.read(stream, (None, 0))
        return stream


def in_a_loop(scene: Callable[[], Awaitable[None]]) -> None:
    asyncio.run(asyncio.wait_for(scene(), 60))


def test_idle_streams_ask_the_database_together(
    database: Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Three statements a look, however many watch."""
    jobs = [JobStore(database).create_job({}, f"{n}") for n in range(3)]
    token = make_token(database, "watcher", Role.READ).split("_")[1]
    session = Caller("watcher", Role.READ, token_id=token, session="0" * 64)
    monkeypatch.setattr(job_streams, "LOOK_SECONDS", 3600.0)

    async def scene() -> None:
        held = Streams(database)
        async with held.stack:
            for n in range(60):
                await held.open(jobs[n % 3], Caller("watcher", Role.READ, token_id=token))
            streams = list(held.streams._open)
            with statements(database) as told:
                assert held.streams._ask(streams).keys() == set(streams)
            assert _selects(told) == 2  # no session is among them
            await held.open(jobs[0], session)
            with statements(database) as told:
                assert len(held.streams._ask(list(held.streams._open))) == 60
            assert _selects(told) == 3

    in_a_loop(scene)


def _selects(told: list[str]) -> int:
    return sum(each.startswith("SELECT") for each in told)


async def ended(stream: job_streams.Stream) -> None:
    """Waits for its end; what a look had begun to tell before may come first."""
    while not stream.ends:
        await stream.news.wait()
        stream.news.clear()


def test_streams_at_the_same_place_share_what_is_read(
    database: Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = JobStore(database)
    job = store.create_job({}, "d")
    token = make_token(database, "watcher", Role.READ).split("_")[1]
    caller = Caller("watcher", Role.READ, token_id=token)
    monkeypatch.setattr(job_streams, "LOOK_SECONDS", 0.01)

    async def scene() -> None:
        held = Streams(database)
        async with held.stack:
            streams = [await held.open(job, caller) for _ in range(40)]
            store.set_state(job, JobState.CANCELLED)
            await asyncio.gather(*(each.news.wait() for each in streams))
            assert not any(each.ends for each in streams)
            with statements(database) as told:
                found = await asyncio.gather(*(held.streams.read(e, (None, 0)) for e in streams))
            whole = [each for each in told if "specification" in each or "FROM trial" in each]
            assert len(whole) == 2  # the job, and its trials
            assert {row.state for row, _ in found if row} == {JobState.CANCELLED}
            revoke_token(database, "watcher")
            await asyncio.gather(*map(ended, streams))

    in_a_loop(scene)


@LIMITS
def test_a_token_has_a_quarter_of_all_streams_and_gets_its_place_back(database: Engine) -> None:
    async def scene() -> None:
        held = Streams(database, most=8)
        async with held.stack:
            one = AsyncExitStack()
            for _ in range(2):
                await one.enter_async_context(held.streams.opened(1, of_token("one")))
            with pytest.raises(ProblemError, match="this token has 2 open event streams") as found:
                await one.enter_async_context(held.streams.opened(1, of_token("one")))
            assert found.value.problem.status == 429 and "Retry-After" in found.value.headers
            for other in "abc":
                for _ in range(2):
                    await held.stack.enter_async_context(held.streams.opened(1, of_token(other)))
            with pytest.raises(ProblemError, match="the server has 8 open event streams"):
                await held.stack.enter_async_context(held.streams.opened(1, of_token("d")))
            await one.aclose()
            await held.stack.enter_async_context(held.streams.opened(1, of_token("one")))

    in_a_loop(scene)


@pytest.mark.slow
@LIMITS
def test_beyond_the_limit_a_stream_is_429_and_a_closed_one_gives_its_place_back(
    database: Engine, client: TestClient
) -> None:
    job = submit(client, EXTERNAL)
    token = make_token(database, "watcher", Role.READ)
    app = make_app(database, ServiceSettings(most_streams=4))
    head = (
        f"GET /v1/jobs/{job}/events HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {token}\r\n\r\n"
    ).encode()
    with serving(app) as url:
        port = int(url.rpartition(":")[2])

        def status() -> tuple[socket.socket, bytes]:
            line = socket.create_connection(("127.0.0.1", port), timeout=60)
            line.sendall(head)
            return line, line.recv(12)[9:]

        first, begun = status()
        second, refused = status()
        assert (begun, refused) == (b"200", b"429")
        first.close()
        while (again := status())[1] != b"200":  # until the server has noticed
            again[0].close()
        for line in (second, again[0]):
            line.close()


@LIMITS
def test_exports_of_one_token_leave_places_to_others() -> None:
    assert MOST_OF_ONE < MOST
    exports = Exports()
    one = [exports.begin(iter(()), "one") for _ in range(MOST_OF_ONE)]
    with pytest.raises(ProblemError, match="of this token's exports are in progress"):
        exports.begin(iter(()), "one")
    rest = [exports.begin(iter(()), f"t{n}") for n in range(MOST - MOST_OF_ONE)]
    with pytest.raises(ProblemError, match=f"{MOST} of the server's exports") as found:
        exports.begin(iter(()), "another")
    assert found.value.problem.status == 429 and "Retry-After" in found.value.headers
    one.pop()  # an answer that is dropped before it was sent
    exports.begin(iter(()), "one")
    assert len(rest) == MOST - MOST_OF_ONE


@LIMITS
def test_an_export_that_was_sent_or_broke_gives_its_place_back() -> None:
    exports = Exports()

    async def scene() -> None:
        async def gone(_: Any) -> None:
            raise OSError

        async def taken(_: Any) -> None:
            pass

        async def waits() -> Any:
            await asyncio.sleep(3600)

        for send in (taken, gone, taken):
            closed: list[bool] = []
            answer = exports.begin(_closing(closed), "one")
            scope = {"type": "http", "asgi": {"spec_version": "2.3"}}
            try:
                await answer(scope, waits, send)
            except BaseException as error:
                assert send is gone, error
            assert closed or send is gone
            assert not exports._running

    in_a_loop(scene)


def _closing(closed: list[bool]) -> Iterator[bytes]:
    try:
        yield b"x"
    finally:
        closed.append(True)


@LIMITS
@pytest.mark.slow
def test_a_client_that_never_reads_loses_its_connection() -> None:
    """So an export that it asked for ends. Half a second here, half a minute in a server."""
    with (
        _listen("127.0.0.1", 0, unread_seconds=0.5) as listening,
        socket.socket() as client,
    ):
        client.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        client.connect(listening.getsockname())
        sending, _ = listening.accept()
        with sending, pytest.raises(TimeoutError):
            while True:
                sending.sendall(b"x" * 2**16)


def unread(app: FastAPI, method: str, path: str, headers: dict[str, str]) -> int:
    """The status of a request whose body was not asked for; fails where it is."""
    told: list[int] = []

    async def never() -> Any:
        raise AssertionError("the body was asked for")

    async def send(message: Any) -> None:
        if message["type"] == "http.response.start":
            told.append(message["status"])

    sent = {"host": "localhost", "content-type": "application/json", "content-length": "4000000"}
    scope = {
        "type": "http",
        "asgi": {"version": "3.0", "spec_version": "2.3"},
        "http_version": "1.1",
        "method": method,
        "scheme": "http",
        "path": path,
        "raw_path": path.encode(),
        "query_string": b"",
        "headers": [(n.lower().encode(), v.encode()) for n, v in (sent | headers).items()],
        "client": ("127.0.0.1", 1),
        "server": ("localhost", 80),
    }
    asyncio.run(app(scope, never, send))
    return told[0]


@LIMITS
def test_no_body_is_read_of_a_caller_who_may_not_send_it(
    database: Engine, tokens: dict[Role, str]
) -> None:
    app = make_app(database, ServiceSettings(rate_limit="100000/second"))
    asked = 0
    for method, path in routes_of(app):
        if method == "GET" or path == "/login":
            continue
        place = path.replace("{job_id}", "1").replace("{webhook_id}", "1")
        place = place.replace("{kind}", "compare").replace("{action}", "delete")
        for headers, status in (
            ({}, 401),
            (bearer("rt_000000000000_" + "x" * 43), 401),
            ({"Cookie": "rocktune=" + "x" * 43}, 401),
            # /logout is for everybody who is logged in, and takes no bearer of a token
            (bearer(tokens[Role.READ]), 403 if path != "/logout" else None),
        ):
            if status is not None:
                found = unread(app, method, place, headers)
                assert found == status, (method, path, headers)
                asked += 1
    assert asked > 60


@LIMITS
def test_a_session_needs_the_token_of_its_forms_before_the_body_is_read(
    database: Engine, tokens: dict[Role, str]
) -> None:
    app = make_app(database)
    token_id = tokens[Role.SUBMIT].split("_")[1]
    secret = open_session(database, token_id, lives=timedelta(hours=1))
    cookie = {"Cookie": f"rocktune={secret}"}
    assert unread(app, "POST", "/v1/jobs", cookie) == 403


@LIMITS
def test_the_log_in_takes_a_token_and_no_more(client: TestClient) -> None:
    form = {"token": "x" * 2**15}
    answer = client.post("/login", data=form, headers={"Origin": "http://localhost"})
    assert answer.status_code == 413
    assert "16,384 bytes" in require_problem(answer)["detail"]


@LIMITS
def test_a_body_has_so_many_values_and_no_more(anyone: TestClient) -> None:
    for part, values in (
        ("1,", 1),
        ("[],", 2),
        ('{"a":1},', 2),
        ("[[[[1]]]],", 5),
    ):
        sent = {"Content-Type": "application/json"}
        for count, status in ((MOST_VALUES // values, 413), (20_000, 422)):
            body = f'{{"workload":"external","x":[{part * count}1]}}'
            assert anyone.post("/v1/jobs", content=body, headers=sent).status_code == status


@LIMITS
def test_a_large_body_is_taken_as_a_small_one_is(client: TestClient) -> None:
    job = submit(client, EXTERNAL)
    trials = [
        {"configuration": {"batch": n % 64 + 1}, "metrics": {f"m{k}": 1.0 for k in range(40)}}
        for n in range(200)
    ]
    trials = [{**each, "metrics": {**each["metrics"], "rate": 1.0}} for each in trials]  # type: ignore[dict-item]
    told = [{"baseline": True, "metrics": {"rate": 1.0}}, *trials]
    assert len(json.dumps({"trials": told})) > 64 * 2**10
    answer = client.post(f"/v1/jobs/{job}/trials", json={"trials": told})
    assert answer.status_code == 200, answer.text
    assert len(answer.json()["trials"]) == 201
    broken = json.dumps({"trials": told})[:-1]
    sent = {"Content-Type": "application/json"}
    answer = client.post(f"/v1/jobs/{job}/trials", content=broken, headers=sent)
    assert answer.status_code == 422
    assert "not valid JSON" in require_problem(answer)["detail"]
