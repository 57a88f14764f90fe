"""Trials in the format that the client would rather have, and answers that it has already."""

import csv
import io
import json
from typing import Any

import pyarrow.parquet as pq
import pytest
from fastapi.testclient import TestClient

from tests.support.api.callers import EXTERNAL, errors_of, require_problem, submit
from tests.support.api.fake_runner import ask, measure, tell

pytestmark = pytest.mark.one_database

JSON, CSV = "application/json", "text/csv"
NDJSON, PARQUET = "application/x-ndjson", "application/vnd.apache.parquet"


def numbers(answer: Any) -> list[int]:
    """The trials in an answer of whatever format."""
    kind = answer.headers["content-type"].partition(";")[0]
    if kind == JSON:
        return [trial["number"] for trial in answer.json()["trials"]]
    if kind == NDJSON:
        return [json.loads(line)["number"] for line in answer.text.splitlines()]
    if kind == CSV:
        return [int(row["number"]) for row in csv.DictReader(io.StringIO(answer.text))]
    assert kind == PARQUET
    found: list[int] = pq.read_table(io.BytesIO(answer.content))["number"].to_pylist()
    return found


@pytest.mark.slow
@pytest.mark.parametrize("kind", [JSON, CSV, NDJSON, PARQUET])
def test_every_format_holds_the_same_trials(anyone: TestClient, ended: int, kind: str) -> None:
    path = f"/v1/jobs/{ended}/trials"
    answer = anyone.get(path, headers={"Accept": kind})
    assert answer.headers["content-type"].partition(";")[0] == kind
    assert numbers(answer) == list(range(1, 13))
    part = anyone.get(path, headers={"Accept": kind}, params={"after": 3, "limit": 4})
    assert numbers(part) == [4, 5, 6, 7]
    assert numbers(anyone.get(path, headers={"Accept": kind}, params={"after": 12})) == []
    if kind != JSON:
        assert f"job-{ended}-trials." in answer.headers["content-disposition"]


def test_pages_of_trials_hold_every_trial_once(anyone: TestClient, ended: int) -> None:
    found: list[int] = []
    after = 0
    while after is not None:
        page = anyone.get(f"/v1/jobs/{ended}/trials", params={"limit": 5, "after": after})
        found += numbers(page)
        after = page.json()["next"]
    assert found == list(range(1, 13))
    assert anyone.get(f"/v1/jobs/{ended}/trials", params={"limit": 12}).json()["next"] == 12


def test_the_best_of_what_is_acceptable_is_sent(anyone: TestClient, ended: int) -> None:
    for accept, kind in (
        (None, JSON),
        ("*/*", JSON),
        ("text/*", CSV),
        ("application/*", JSON),
        ("TEXT/CSV", CSV),
        ("text/csv;q=0.5, application/x-ndjson", NDJSON),
        ("application/json;q=0.1, text/csv;q=0.2", CSV),
        ("application/json;q=0, */*;q=0.1", CSV),
        (f"{PARQUET}; q=1.0, */*; q=0.9", PARQUET),
        ("text/html, */*;q=0.1", JSON),
        (",,", None),
        ("text/html", None),
        ("*/*;q=0", None),
        ("application/json;q=nonsense", None),
        ("application/json;q=nan", None),
        ("\x7f", None),
        ("x" * 5000, None),
    ):
        headers = {} if accept is None else {"Accept": accept}
        answer = anyone.get(f"/v1/jobs/{ended}/trials", headers=headers)
        if kind is None:
            assert answer.status_code == 406
            assert PARQUET in require_problem(answer)["detail"]
        else:
            assert answer.headers["content-type"].partition(";")[0] == kind
        assert answer.headers.get("vary", "Accept, Authorization") == "Accept, Authorization"


def test_what_a_finished_job_says_is_not_sent_twice(anyone: TestClient, ended: int) -> None:
    tags = []
    for path in ("", "/result", "/parameters", "/anova", "/pareto", "/report", "/trials"):
        first = anyone.get(f"/v1/jobs/{ended}{path}")
        tag = first.headers["etag"]
        again = anyone.get(f"/v1/jobs/{ended}{path}", headers={"If-None-Match": tag})
        assert (again.status_code, again.content) == (304, b""), path
        assert again.headers["etag"] == tag
        assert "Accept" in again.headers["vary"]
        among = anyone.get(f"/v1/jobs/{ended}{path}", headers={"If-None-Match": f'"x", {tag}'})
        assert among.status_code == 304
        other = anyone.get(f"/v1/jobs/{ended}{path}", headers={"If-None-Match": '"x"'})
        assert (other.status_code, other.content) == (200, first.content)
        tags.append(tag)
    assert len(set(tags)) == len(tags)


def test_another_question_has_another_tag(anyone: TestClient, ended: int) -> None:
    path = f"/v1/jobs/{ended}/trials"
    tags = [
        anyone.get(path, headers={"Accept": kind}, params=asked).headers["etag"]
        for kind in (JSON, CSV, NDJSON, PARQUET)
        for asked in ({}, {"limit": 5}, {"limit": 5, "after": 5})
    ]
    assert len(set(tags)) == 12


def test_a_live_job_is_sent_every_time(client: TestClient) -> None:
    job = submit(client, EXTERNAL)
    for path in ("", "/trials"):
        answer = client.get(f"/v1/jobs/{job}{path}", headers={"If-None-Match": "*"})
        assert answer.status_code == 200
        assert "etag" not in answer.headers
        assert answer.headers["cache-control"] == "no-store"


def test_a_job_that_goes_on_has_another_tag_when_it_has_ended_again(client: TestClient) -> None:
    job = submit(client, EXTERNAL)
    client.post(f"/v1/jobs/{job}/cancel")
    tag = client.get(f"/v1/jobs/{job}").headers["etag"]
    client.post(f"/v1/jobs/{job}/resume")
    tell(client, job, measure(ask(client, job)["suggestions"][0]))
    client.post(f"/v1/jobs/{job}/cancel")
    answer = client.get(f"/v1/jobs/{job}", headers={"If-None-Match": tag})
    assert (answer.status_code, answer.json()["done"]) == (200, 1)


def test_a_wrong_part_of_the_trials_is_refused(anyone: TestClient, ended: int) -> None:
    for asked, field in (
        ({"limit": 0}, "limit"),
        ({"limit": 10_000_001}, "limit"),
        ({"after": -1}, "after"),
    ):
        answer = anyone.get(f"/v1/jobs/{ended}/trials", params=asked, headers={"Accept": CSV})
        assert errors_of(answer).keys() == {field}
