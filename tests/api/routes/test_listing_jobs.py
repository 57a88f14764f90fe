"""Lists of jobs: pages by key, so that what is added meanwhile moves nothing."""

from concurrent.futures import ThreadPoolExecutor
from threading import Event

from fastapi.testclient import TestClient
from sqlalchemy import Engine

from api.app import make_app
from db.connection.engine import make_engine
from db.jobs.job_store import JobStore
from tests.support.api.callers import EXTERNAL, admin, errors_of, submit


def pages(client: TestClient, *, limit: int, state: str | None = None) -> list[list[int]]:
    """The numbers of all jobs, page by page."""
    found: list[list[int]] = []
    after: int | None = None
    while True:
        asked = {"limit": limit, "after": after, "state": state}
        given = {name: value for name, value in asked.items() if value is not None}
        page = client.get("/v1/jobs", params=given).json()
        found.append([job["id"] for job in page["jobs"]])
        after = page["next"]
        if after is None:
            return found


def stored(engine: Engine, count: int) -> list[int]:
    store = JobStore(engine)
    names = {part: {"name": part} for part in ("workload", "space", "objective")}
    document = {**names, "strategy": "random", "trials": 12}
    return [store.create_job(document, str(index)) for index in range(count)]


def test_all_pages_together_hold_every_job_once_newest_first(
    client: TestClient, database: Engine
) -> None:
    numbers = stored(database, 11)
    for limit in (1, 4, 10, 11, 12, 1000):
        found = pages(client, limit=limit)
        assert [job for page in found for job in page] == numbers[::-1]
        assert all(len(page) <= limit for page in found)
    assert client.get("/v1/jobs").json()["next"] is None


def test_no_job_comes_twice_or_is_left_out_while_others_are_made(
    database_url: str, client: TestClient, database: Engine
) -> None:
    before = stored(database, 20)
    begun, over = Event(), Event()
    engine = make_engine(database_url)

    def add() -> int:
        made = 0
        with admin(make_app(engine)) as other:
            while not over.is_set():
                submit(other, EXTERNAL)
                made += 1
                begun.set()
        return made

    with ThreadPoolExecutor(1) as pool:
        adding = pool.submit(add)
        assert begun.wait(60)
        for _ in range(3):
            found = [job for page in pages(client, limit=3) for job in page]
            assert len(found) == len(set(found))
            assert found == sorted(found, reverse=True)
            assert set(before) <= set(found)
        over.set()
        made = adding.result()
    engine.dispose()
    assert len([job for page in pages(client, limit=1000) for job in page]) == 20 + made


def test_a_page_is_not_shifted_by_what_is_deleted(client: TestClient, database: Engine) -> None:
    stored(database, 6)
    first = client.get("/v1/jobs", params={"limit": 2}).json()
    for job in (5, 4):
        client.post(f"/v1/jobs/{job}/cancel")
        assert client.delete(f"/v1/jobs/{job}").status_code == 204
    second = client.get("/v1/jobs", params={"limit": 2, "after": first["next"]}).json()
    assert [job["id"] for job in second["jobs"]] == [3, 2]


def test_a_list_may_be_of_one_state(client: TestClient, database: Engine) -> None:
    stored(database, 5)
    external = submit(client, EXTERNAL)
    client.post("/v1/jobs/2/cancel")
    assert pages(client, limit=2, state="queued") == [[5, 4], [3, 1], []]
    assert pages(client, limit=2, state="running") == [[external]]
    assert pages(client, limit=2, state="cancelled") == [[2]]
    assert pages(client, limit=2, state="done") == [[]]


def test_a_wrong_question_is_refused(anyone: TestClient) -> None:
    for asked, field in (
        ({"limit": 0}, "limit"),
        ({"limit": 1001}, "limit"),
        ({"limit": "many"}, "limit"),
        ({"after": -1}, "after"),
        ({"after": 2**63}, "after"),
        ({"after": "9" * 5000}, "after"),
        ({"state": "asleep"}, "state"),
        ({"state": "\0"}, "state"),
        ({"search": "x\0"}, "search"),
        ({"search": "x" * 101}, "search"),
        ({"sort": "error"}, "sort"),
        ({"sort": "best", "after": 2**40}, "after"),
    ):
        assert errors_of(anyone.get("/v1/jobs", params=asked)).keys() == {field}  # type: ignore[arg-type]


def test_a_place_beyond_all_jobs_is_an_empty_page(client: TestClient, database: Engine) -> None:
    stored(database, 1)
    assert client.get("/v1/jobs", params={"after": 0}).json() == {"jobs": [], "next": None}
    assert len(client.get("/v1/jobs", params={"after": 2**63 - 1}).json()["jobs"]) == 1


def test_a_list_is_searched_and_sorted(client: TestClient, database: Engine) -> None:
    stored(database, 3)
    external = submit(client, EXTERNAL)
    assert [job["id"] for job in client.get("/v1/jobs?search=EXT").json()["jobs"]] == [external]
    pages_of = client.get("/v1/jobs?sort=workload&limit=2").json()
    assert [job["id"] for job in pages_of["jobs"]] == [external, 1]
    assert pages_of["next"] == 1
    rest = client.get("/v1/jobs?sort=workload&limit=2&after=1").json()
    assert [job["id"] for job in rest["jobs"]] == [2, 3]
