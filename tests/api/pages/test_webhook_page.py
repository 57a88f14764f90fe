"""The page of webhooks as it is served: the form, the secret once, the buttons, the deliveries."""

from html import unescape

import pytest
from fastapi.testclient import TestClient
from sqlalchemy import Engine

from db.jobs.job_store import JobStore
from db.schema.job_row import JobState
from db.webhooks import read_webhooks
from tests.support.api.browser import act, see, send_form

pytestmark = pytest.mark.one_database

URL = "https://chat.example.com/hooks/s3cr3t"


def test_what_the_form_holds_is_added_and_its_secret_shown_once(
    logged_in: TestClient, database: Engine
) -> None:
    assert "No webhook yet" in see(logged_in, "/webhooks").text
    answer = act(logged_in, "/webhooks", url=f" {URL} ", regression_found="yes", job_ended="yes")
    assert answer.status_code == 200
    (kept,) = read_webhooks(database)
    assert kept.events == ["job_ended", "regression_found"] and kept.url == URL
    assert kept.secret in answer.text and "s3cr3t" not in answer.text
    page = see(logged_in, "/webhooks").text
    assert kept.secret not in page and "s3cr3t" not in page
    assert "https://chat.example.com/..." in page and "job ended, regression found" in page
    assert 'href="/webhooks" aria-current="page"' in page


def test_what_is_wrong_is_said_and_what_was_filled_in_stays(logged_in: TestClient) -> None:
    for url, said in (("http://10.0.0.1/x", "ROCKTUNE_WEBHOOK_ALLOW"), ("nowhere", "HTTP")):
        answer = act(logged_in, "/webhooks", url=url, job_ended="yes")
        text = unescape(answer.text)
        assert answer.status_code == 422 and 'role="alert"' in text and said in text
        assert f'value="{url}"' in text and 'name="job_ended" value="yes" checked' in text
        assert 'name="host_excluded" value="yes">' in text
    assert act(logged_in, "/webhooks", url=URL).status_code == 422
    assert "No webhook yet" in see(logged_in, "/webhooks").text


def test_the_buttons_send_a_test_and_delete(logged_in: TestClient, database: Engine) -> None:
    act(logged_in, "/webhooks", url=URL, job_ended="yes")
    job_id = JobStore(database).create_job({"workload": {"name": "<b>load"}}, "d")
    JobStore(database).set_state(job_id, JobState.FAILED, error="<script>")
    assert act(logged_in, "/webhooks/1/test").headers["location"] == "/webhooks"
    page = see(logged_in, "/webhooks").text
    assert "This is a test message of Rocktune." in page
    assert "Job 1 (&amp;lt;b&amp;gt;load) is failed" in page and "<script>" not in page
    assert act(logged_in, "/webhooks/1/delete").status_code == 303
    assert read_webhooks(database) == []
    assert act(logged_in, "/webhooks/1/delete").status_code == 404
    assert act(logged_in, "/webhooks/1/other").status_code == 422


def test_a_form_of_another_page_does_nothing(logged_in: TestClient, database: Engine) -> None:
    fields = {"url": URL, "job_ended": "yes", "form_token": "0" * 64}
    assert send_form(logged_in, "/webhooks", fields).status_code == 403
    assert read_webhooks(database) == []
