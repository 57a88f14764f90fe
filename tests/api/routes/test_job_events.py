"""A job as it goes on, by server-sent events."""

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import httpx2
import pytest
from fastapi.testclient import TestClient
from sqlalchemy import Engine

from api.app import make_app
from db.access.tokens import Role, make_token, revoke_token
from jobs.queue.lifecycle import cancel_stored
from tests.support.api.callers import EXTERNAL, bearer, require_problem, submit
from tests.support.api.fake_runner import ask, drive, measure, tell
from tests.support.api.real_server import serving
from tests.support.api.sse import Event, events, tags

pytestmark = pytest.mark.slow

Served = Callable[..., TestClient]


@contextmanager
def watching(
    url: str, job: int, last: str | None = None, *, token: str
) -> Iterator[Iterator[Event]]:
    headers = bearer(token) | ({} if last is None else {"Last-Event-ID": last})
    with (
        httpx2.Client(base_url=url, timeout=60) as client,
        client.stream("GET", f"/v1/jobs/{job}/events", headers=headers) as answer,
    ):
        assert answer.headers["content-type"].startswith("text/event-stream")
        yield events(answer.iter_lines())


@pytest.fixture
def token(database: Engine) -> str:
    return make_token(database, "watcher", Role.READ)


def seen(client: TestClient, job: int, last: str | None = None) -> list[Event]:
    """All events of a job that has ended."""
    headers = {} if last is None else {"Last-Event-ID": last}
    answer = client.get(f"/v1/jobs/{job}/events", headers=headers)
    return list(events(answer.text.splitlines()))


def test_a_watcher_sees_each_trial_as_it_ends_and_the_end(
    client: TestClient, database: Engine, token: str
) -> None:
    job = submit(client, EXTERNAL)
    with serving(make_app(database)) as url, watching(url, job, token=token) as found:
        first = next(found)
        assert (first.kind, first.data["id"], first.data["done"]) == ("job", job, 0)
        one, two = ask(client, job, count=2)["suggestions"]
        tell(client, job, measure(two))
        heard = [next(found)]
        while heard[-1].kind != "trial":  # the phase may have been told of before
            heard.append(next(found))
        assert heard[-1].data["number"] == two["number"]
        tell(client, job, measure(one))
        drive([client], job, at_once=3)
        heard += list(found)
    trials = [event.data["number"] for event in heard if event.kind == "trial"]
    assert trials[:2] == [2, 1], "in the order in which they ended"
    assert sorted(trials) == list(range(1, 13))
    assert [event.kind for event in heard[-2:]] == ["job", "end"]
    assert heard[-1].data["state"] == "done"
    done = [event.data["done"] for event in heard if event.kind == "job"]
    assert done == sorted(done) and done[-1] == 12
    trial = next(event.data for event in heard if event.kind == "trial")
    assert trial == client.get(f"/v1/jobs/{job}/trials").json()["trials"][1]


def test_who_comes_back_goes_on_without_loss_or_repetition(client: TestClient) -> None:
    job = submit(client, EXTERNAL)
    drive([client], job, at_once=4)
    whole = seen(client, job)
    trials = [event for event in whole if event.kind == "trial"]
    assert len(trials) == 12
    assert all(event.id is None for event in whole if event.kind != "trial")
    for index, event in enumerate(trials):
        rest = seen(client, job, event.id)
        assert tags(rest) == [*tags(trials[index + 1 :]), ("job", job), ("end", job)]


def test_more_trials_than_a_page_come_in_order(client: TestClient) -> None:
    job = submit(client, EXTERNAL)
    given = [
        {"configuration": {"batch": n % 64 + 1}, "metrics": {"rate": float(n)}} for n in range(450)
    ]
    tell(client, job, {"baseline": True, "metrics": {"rate": 1.0}}, *given)
    client.post(f"/v1/jobs/{job}/cancel")
    whole = seen(client, job)
    assert tags(whole)[:-2] == [("trial", number) for number in range(1, 452)]
    assert tags(seen(client, job, whole[199].id))[:-2] == tags(whole)[200:-2]
    assert whole[-1].data["state"] == "cancelled"


def test_a_watcher_of_a_live_job_comes_back_and_misses_nothing(
    client: TestClient, database: Engine, token: str
) -> None:
    job = submit(client, EXTERNAL)
    one, two = ask(client, job, count=2)["suggestions"]
    with serving(make_app(database)) as url:
        tell(client, job, measure(one))
        with watching(url, job, token=token) as found:
            first = next(found)
            assert (first.kind, first.data["number"]) == ("trial", 1)
        tell(client, job, measure(two))  # while nobody watches
        with watching(url, job, first.id, token=token) as found:
            assert next(found).data["number"] == 2


def test_the_events_end_when_the_job_is_cancelled_or_deleted(
    client: TestClient, database: Engine, token: str
) -> None:
    job = submit(client)
    with serving(make_app(database)) as url, watching(url, job, token=token) as found:
        assert next(found).kind == "job"
        client.post(f"/v1/jobs/{job}/cancel")
        assert [event.kind for event in found] == ["job", "end"]
    assert [event.kind for event in seen(client, job)] == ["job", "end"]
    client.delete(f"/v1/jobs/{job}")
    require_problem(client.get(f"/v1/jobs/{job}/events"))


def test_the_events_end_when_the_server_stops(
    client: TestClient, database: Engine, token: str
) -> None:
    job = submit(client)
    stopping = threading.Event()
    app = make_app(database, stopping=stopping.is_set)
    with serving(app) as url, watching(url, job, token=token) as found:
        assert next(found).kind == "job"
        stopping.set()
        assert list(found) == []


def test_the_events_end_when_the_token_is_revoked(client: TestClient, database: Engine) -> None:
    job = submit(client, EXTERNAL)
    gone, stays = (make_token(database, name, Role.READ) for name in ("gone", "stays"))
    with (
        serving(make_app(database)) as url,
        watching(url, job, token=gone) as ends,
        watching(url, job, token=stays) as goes_on,
    ):
        assert next(ends).kind == next(goes_on).kind == "job"
        else_it_ends = threading.Timer(20, cancel_stored, (database, job))
        else_it_ends.start()
        revoke_token(database, "gone")
        assert list(ends) == []
        else_it_ends.cancel()
        cancel_stored(database, job)
        assert [event.kind for event in goes_on] == ["job", "end"]


def test_an_id_that_is_none_begins_at_the_beginning_or_after_the_end(client: TestClient) -> None:
    job = submit(client, EXTERNAL)
    tell(client, job, measure(ask(client, job)["suggestions"][0]))
    client.post(f"/v1/jobs/{job}/cancel")
    beyond = "9" * 17 + "-1"
    for last in ("", "x", "1", "-", "1-", "-1", "9" * 90, "1-" + "9" * 90, "²-1", "0-0", beyond):
        headers = {"Last-Event-ID": last.encode()}
        answer = client.get(f"/v1/jobs/{job}/events", headers=headers)
        assert answer.status_code == 200
        trials = [event for event in events(answer.text.splitlines()) if event.kind == "trial"]
        assert len(trials) == (0 if last == beyond else 1), last
