"""The page of batches: each with its jobs and how they stand."""

import re

import pytest
from fastapi.testclient import TestClient
from sqlalchemy import Engine

from db.connection.engine import writing
from db.nightly.batches import begin_batch
from tests.support.api.browser import see

pytestmark = pytest.mark.one_database

SCHEDULE = {
    "name": "nightly", "cron": "30 2 * * *",
    "batch": {"workloads": ["load-quick", "load"], "trials": 20},
}  # fmt: skip


def batches(html: str) -> list[int]:
    return [int(number) for number in re.findall(r'<tr id="batch-(\d+)">', html)]


def test_each_batch_has_its_jobs_with_their_states(client: TestClient) -> None:
    assert "No batch yet" in see(client, "/batches").text
    client.post("/v1/schedules", json=SCHEDULE)
    client.post("/v1/schedules/nightly/run")
    client.post("/v1/schedules", json={**SCHEDULE, "name": "weekly"})
    client.post("/v1/schedules/weekly/run")
    for job in (1, 2):
        client.post(f"/v1/jobs/{job}/cancel")
    client.delete("/v1/jobs/2")
    page = see(client, "/batches").text
    assert batches(page) == [2, 1]
    weekly, nightly = page.split('<tr id="batch-')[1:]
    assert weekly.count('<span class="state queued">queued</span>') == 2
    assert 'href="/jobs/3">' in weekly and 'href="/jobs/4">' in weekly
    assert '<a href="/jobs/1">load-quick/default</a> <span class="state cancelled">' in nightly
    assert 'load/default <span class="dim">deleted</span>' in nightly
    assert "/jobs/2" not in nightly and '<span class="state running">' in nightly
    only = see(client, "/batches?name=nightly").text
    assert batches(only) == [1] and 'href="/nights/nightly"' in only
    assert see(client, "/batches?name=%00").status_code == 422


def test_they_go_on_page_by_page(client: TestClient, database: Engine) -> None:
    with writing(database) as connection:
        for _ in range(21):  # as times of a schedule at which nothing was started
            begin_batch(connection, name="n", document={"items": [{"item": "load/default"}]},
                        digest="d", why="skipped")  # fmt: skip
    page = see(client, "/batches?name=n").text
    (onward,) = re.findall(r'<a rel="next" href="([^"]+)"', page)
    rest = see(client, onward.replace("&amp;", "&")).text
    assert batches(page) + batches(rest) == list(range(21, 0, -1))
    assert "First page" in rest and 'rel="next"' not in rest
    assert "deleted" not in page, "what was skipped has no job"
