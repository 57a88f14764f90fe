"""The dashboard shows experiments: in the table of jobs, and each on a page of its own."""

import re

import pytest
from fastapi.testclient import TestClient
from sqlalchemy import Engine

from tests.support.api.callers import submit
from tests.support.api.stored_experiment import COMPARE, RESULTS, end_experiment
from tests.support.api.stored_job import keep, proved


@pytest.fixture
def job(client: TestClient) -> int:
    return submit(client, COMPARE)


def test_the_table_says_the_kind_and_shows_one_alone(logged_in: TestClient, job: int):
    page = logged_in.get("/").text
    assert "compare: default against block_size=16KiB" in page
    assert f'href="/jobs/{job}/clone"' not in page
    assert f"#{job}<" in logged_in.get("/?kind=compare").text
    assert "No job is like that" in logged_in.get("/?kind=explain").text


def test_its_page_says_how_it_stands(logged_in: TestClient, job: int):
    page = logged_in.get(f"/jobs/{job}").text
    assert "Kind compare: default against block_size=16KiB" in page
    assert 'data-again="5"' in page
    assert "Where it stands" in page
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
    assert "One build was made with assertions." in page
    assert f'href="/v1/jobs/{job}/files/runs.csv"' in page
    assert logged_in.get(f"/v1/jobs/{job}/files/runs.csv").text == "a\n"
    row = re.findall(r"<tr><th scope=\"row\">.*</tr>", page)[0]
    assert re.sub("<[^>]+>", "|", row).strip("|").split("||") == {
        "compare": ["load-quick", "waf", "2", "3", "+50.0% (+40.0% to +60.0%)", "0.002", "A",
                    "3%"],
        "upgrade-check": ["the defaults as they come", "WAF", "2", "3",
                          "+50.0% (+40.0% to +60.0%)", "0.010", "worse", "2%"],
        "profile-check": ["write amplification", "2", "", "differs", "change num"],
    }[kind]  # fmt: skip


def test_an_explanation_leads_to_its_job(
    logged_in: TestClient, client: TestClient, database: Engine
):
    tuned = keep(database, proved())
    job = submit(client, {"kind": "explain", "job": tuned})
    assert f'<a href="/jobs/{tuned}">' in logged_in.get(f"/jobs/{job}").text
