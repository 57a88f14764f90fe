"""The dashboard shows experiments: in the table of jobs, and each on a page of its own."""

import re

import pytest
from fastapi.testclient import TestClient
from sqlalchemy import Engine

from db.schema.job_row import JobKind
from jobs.specification.experiments import REQUESTS
from tests.support.api.browser import act, see
from tests.support.api.callers import submit
from tests.support.api.stored_experiment import COMPARE, RESULTS, end_experiment
from tests.support.api.stored_job import keep, proved

pytestmark = pytest.mark.one_database


@pytest.fixture
def job(client: TestClient) -> int:
    return submit(client, COMPARE)


def test_the_table_says_the_kind_and_shows_one_alone(logged_in: TestClient, job: int):
    page = logged_in.get("/").text
    assert "compare: default against block_size=16KiB" in page
    assert f'href="/jobs/{job}/clone"' not in page
    assert f"#{job}<" in logged_in.get("/?kind=compare").text
    assert "No job matches" in logged_in.get("/?kind=explain").text


def test_its_page_says_how_it_stands(logged_in: TestClient, job: int):
    page = logged_in.get(f"/jobs/{job}").text
    assert "Kind compare: default against block_size=16KiB" in page
    assert 'data-again="5"' in page
    assert ">Progress</h2>" in page
    for tab in ("matters", "won", "trials", "clone"):
        assert logged_in.get(f"/jobs/{job}/{tab}").status_code == 404
    assert logged_in.get(f"/compare?jobs={job},{job}1").status_code == 422


@pytest.mark.parametrize("kind", RESULTS)
def test_its_page_says_what_was_found(
    logged_in: TestClient, database: Engine, job: int, kind: str
):
    end_experiment(database, job, kind)
    page = logged_in.get(f"/jobs/{job}").text
    verdict = RESULTS[kind]["verdict"]
    assert (verdict if isinstance(verdict, str) else verdict[0]) in page
    assert "One build has assertions." in page
    assert f'href="/v1/jobs/{job}/files/runs.csv"' in page
    assert logged_in.get(f"/v1/jobs/{job}/files/runs.csv").text == "a\n"
    row = page.partition("<tbody>")[2].partition("</tr>")[0]
    assert re.findall(r"<t[hd][^>]*>(.*?)</t[hd]>", row) == {
        "compare": ["load-quick", "waf", "2", "3", "+50.0% (+40.0% to +60.0%)", "0.002", "A",
                    "3%"],
        "upgrade-check": ["the old defaults", "WAF", "2", "3",
                          "+50.0% (+40.0% to +60.0%)", "0.010", "worse", "2%"],
        "profile-check": ["write amplification", "2", "", "differs", "change num"],
    }[kind]  # fmt: skip


def test_an_explanation_leads_to_its_job(
    logged_in: TestClient, client: TestClient, database: Engine
):
    tuned = keep(database, proved())
    job = submit(client, {"kind": "explain", "job": tuned})
    assert f'<a href="/jobs/{tuned}">' in logged_in.get(f"/jobs/{job}").text


@pytest.mark.parametrize("kind", REQUESTS)
def test_every_kind_has_a_form_with_all_fields_of_its_request(client: TestClient, kind: JobKind):
    page = see(client, f"/jobs/new/{kind}").text
    named = set(re.findall(r'<(?:input|select|textarea)[^>]* name="([a-z_]+)"', page))
    assert named == {*REQUESTS[kind].model_fields, "form_token"} - {"kind"}
    assert f'<a href="/jobs/new/{kind}" aria-current="page">{kind}</a>' in page
    assert f'<a href="/jobs/new/{kind}">{kind}</a>' in see(client, "/jobs/new").text


def test_a_form_submits_what_the_interface_would_take(client: TestClient):
    sent = {"b": "compression_type=none", "rounds": "3", "metrics": "waf, sa", "seed": "7",
            "drop_unknown": "", "a": ""}  # fmt: skip
    answer = act(client, "/jobs/new/compare", **sent)
    assert (answer.status_code, answer.headers["location"]) == (303, "/jobs/1")
    made = client.get("/v1/jobs/1").json()
    body = {"kind": "compare", "b": "compression_type=none", "rounds": 3,
            "metrics": ["waf", "sa"], "seed": 7}  # fmt: skip
    same = client.get(f"/v1/jobs/{submit(client, body)}").json()
    assert made["specification"] == same["specification"]


def test_what_is_wrong_stands_beside_its_field_and_nothing_is_lost(client: TestClient):
    answer = act(client, "/jobs/new/compare", b="block_size=<b>", rounds="two", seed="7")
    assert answer.status_code == 422
    for field, lost in (("rounds", "two"), ("seed", "7")):
        assert f'name="{field}" value="{lost}"' in answer.text
    assert 'id="problem-rounds"' in answer.text and 'id="problem-seed"' not in answer.text
    answer = act(client, "/jobs/new/compare", b="block_size=<b>")
    assert answer.status_code == 422 and 'id="problem-b"' in answer.text
    assert client.get("/v1/jobs").json()["jobs"] == []


def test_only_an_uploaded_workload_is_checked_against_its_database(client: TestClient):
    assert "load-quick" not in see(client, "/jobs/new/profile-check").text
    assert (
        '<option value="">load-quick (default)</option>' in see(client, "/jobs/new/compare").text
    )


def test_what_the_address_names_is_filled_in_and_unknown_kinds_are_refused(client: TestClient):
    assert 'name="job" value="3"' in see(client, "/jobs/new/explain?job=3").text
    for kind in ("tune", "other"):
        assert see(client, f"/jobs/new/{kind}").status_code == 404
