"""A job that a runner of the user's own measures, over HTTP from its beginning to its end."""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from itertools import cycle
from typing import Any

import pytest
from fastapi.testclient import TestClient

from api.app import make_app
from db.connection.engine import make_engine
from tests.support.api.callers import EXTERNAL, TWO_PARAMETERS, admin, require_problem, submit
from tests.support.api.fake_runner import Suggestion, ask, drive, measure, tell

PATHS = ("result", "parameters", "anova", "pareto", "report", "options", "trials", "events")


@pytest.mark.slow
def test_a_whole_job_with_several_out_and_told_in_any_order(client: TestClient) -> None:
    job = submit(client, {**EXTERNAL, "space": TWO_PARAMETERS, "trials": 40})
    suggested = drive([client], job, at_once=5)
    assert [each["number"] for each in suggested] == list(range(1, 41))
    phases = dict.fromkeys(each["phase"] for each in suggested)
    assert list(phases) == ["baseline", "sample", "search", "confirm"]
    assert all(1 <= each["configuration"]["batch"] <= 64 for each in suggested)
    done = client.get(f"/v1/jobs/{job}").json()
    assert (done["state"], done["done"], done["failed"], done["total"]) == ("done", 40, 0, 40)
    result = client.get(f"/v1/jobs/{job}/result").json()
    assert result["best"]["configuration"]["batch"] > 8
    assert result["verdict"]["change"]["rate"]["percent"] > 0
    for path in PATHS:
        answer = client.get(f"/v1/jobs/{job}/{path}")
        assert answer.status_code == 200, (path, answer.text)
    refused = client.post(f"/v1/jobs/{job}/suggestions", json={})
    assert refused.status_code == 409
    assert "done" in require_problem(refused)["detail"]


def test_a_failed_a_cut_off_and_a_lost_trial_do_not_stop_the_job(client: TestClient) -> None:
    job = submit(client, EXTERNAL)
    lost: list[int] = []

    def outcome(suggestion: Suggestion) -> dict[str, Any]:
        number = suggestion["number"]
        if number == 4:
            return {"number": 4, "state": "failed", "failure": "it ran out of memory"}
        if number == 5:
            return {"number": 5, "state": "timed_out"}
        if number in (1, 6) and suggestion["attempt"] == 1:
            lost.append(number)
            return {"number": number, "attempt": 1, "state": "lost"}
        return measure(suggestion)

    suggested = drive([client], job, at_once=3, outcome=outcome)
    again = [each["number"] for each in suggested if each["attempt"] == 2]
    assert sorted(again) == sorted(lost) == [1, 6]
    done = client.get(f"/v1/jobs/{job}").json()
    assert (done["state"], done["done"], done["failed"]) == ("done", 10, 2)
    assert done["counts"] == {"done": 10, "failed": 1, "timed_out": 1}
    trials = client.get(f"/v1/jobs/{job}/trials").json()["trials"]
    assert trials[3]["failure"] == "it ran out of memory"
    assert trials[5]["attempt"] == 2


def test_what_is_out_for_too_long_is_handed_out_again(client: TestClient) -> None:
    job = submit(client, EXTERNAL)
    first = ask(client, job, count=2)["suggestions"]
    assert ask(client, job, count=2, reclaim_seconds=1e6)["suggestions"] == []
    again = ask(client, job, count=2, reclaim_seconds=1e-6)["suggestions"]
    assert [(each["number"], each["attempt"]) for each in again] == [(1, 2), (2, 2)]
    assert [each["configuration"] for each in again] == [each["configuration"] for each in first]
    late = {**measure(first[0]), "attempt": 1}
    answer = client.post(f"/v1/jobs/{job}/trials", json={"trials": [late]})
    assert answer.status_code == 422, "the first attempt is over"
    tell(client, job, {**measure(again[0]), "attempt": 2})


def test_what_comes_next_waits_for_what_it_rests_on(client: TestClient) -> None:
    job = submit(client, EXTERNAL)
    asked = ask(client, job, count=1000)
    numbers = [each["number"] for each in asked["suggestions"]]
    assert 0 < len(numbers) < 12
    waiting = ask(client, job, count=1)
    assert waiting["suggestions"] == [] and not waiting["complete"]
    assert ", ".join(map(str, numbers[:10])) in waiting["why"]


@pytest.mark.slow
def test_two_servers_serve_one_job_at_once(database_url: str, client: TestClient) -> None:
    other_engine = make_engine(database_url)
    with admin(make_app(other_engine)) as other:
        in_turns = submit(client, EXTERNAL)
        suggested = drive([client, other, other], in_turns, at_once=3)
        assert [each["number"] for each in suggested] == list(range(1, 13))
        job = submit(client, EXTERNAL)

        def run(mine: TestClient) -> list[int]:
            numbers = []
            while True:
                answer = mine.post(f"/v1/jobs/{job}/suggestions", json={"count": 2})
                if answer.status_code == 409:
                    assert "done" in answer.json()["detail"]
                    return numbers
                asked = answer.json()
                if asked["complete"]:
                    return numbers
                for suggestion in asked["suggestions"]:
                    numbers.append(suggestion["number"])
                    tell(mine, job, measure(suggestion))

        runners = [mine for _, mine in zip(range(4), cycle((client, other)), strict=False)]
        with ThreadPoolExecutor(4) as pool:
            found = [number for numbers in pool.map(run, runners) for number in numbers]
    other_engine.dispose()
    assert sorted(found) == list(range(1, 13)), "each was handed out once"
    assert client.get(f"/v1/jobs/{job}").json()["state"] == "done"


def test_a_job_goes_on_where_a_server_that_died_left_it(
    served: Callable[..., TestClient],
) -> None:
    first = served()
    job = submit(first, EXTERNAL)
    asked = ask(first, job, count=3)["suggestions"]
    tell(first, job, measure(asked[0]))
    second = served()  # it has read nothing yet
    tell(second, job, *(measure(each) for each in asked[1:]))
    assert ask(second, job)["suggestions"][0]["number"] == len(asked) + 1


def test_a_cancelled_job_takes_nothing_until_it_goes_on(client: TestClient) -> None:
    job = submit(client, EXTERNAL)
    out = ask(client, job)["suggestions"]
    client.post(f"/v1/jobs/{job}/cancel")
    for path, body in (("suggestions", {}), ("trials", {"trials": [measure(out[0])]})):
        answer = client.post(f"/v1/jobs/{job}/{path}", json=body)
        assert answer.status_code == 409
        assert "cancelled" in require_problem(answer)["detail"]
    client.post(f"/v1/jobs/{job}/resume")
    tell(client, job, measure(out[0]))
    assert client.get(f"/v1/jobs/{job}").json()["done"] == 1


def test_a_job_of_the_service_takes_no_trials(client: TestClient) -> None:
    job = submit(client)
    for path, body in (("suggestions", {}), ("trials", {"trials": [{"number": 1}]})):
        answer = client.post(f"/v1/jobs/{job}/{path}", json=body)
        assert answer.status_code == 409
        assert "by the service" in require_problem(answer)["detail"]
        assert client.post(f"/v1/jobs/999/{path}", json=body).status_code == 404
