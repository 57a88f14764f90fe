"""A job for a column family of the user's own file: the file, its diff, and picks from it."""

from dataclasses import replace

import pytest
from fastapi.testclient import TestClient
from sqlalchemy import Engine

from jobs.results.export import export_options
from jobs.results.outcome import JobOutcome
from jobs.specification.resolved_job import resolve
from jobs.specification.specification import specification_from_document
from tests.support.api.browser import see
from tests.support.api.callers import require_problem
from tests.support.api.stored_job import keep, proved

pytestmark = pytest.mark.one_database

TWO = (
    '[DBOptions]\n[CFOptions "default"]\n  # mine\n  num_levels=7\n'
    '[CFOptions "blocks"]\n  # theirs\n  num_levels=7\n'
)


def of_a_family(family: str) -> JobOutcome:
    """The pretended job, as if it had been for a family of that file."""
    found = proved()
    own = {"baseline": None, "baseline_options": TWO, "column_family": family}
    asked = specification_from_document({**found.result["job"], **own})
    best = found.result["best"]["configuration"]
    text = export_options(resolve(asked, None).plan, None, best, ["Tuned by Rocktune"])
    return replace(found, result={**found.result, "job": asked.document()}, options=text)


@pytest.fixture
def job(database: Engine) -> int:
    return keep(database, of_a_family("blocks"))


def test_the_difference_lies_beside_the_file(client: TestClient, job: int) -> None:
    text = client.get(f"/v1/jobs/{job}/options").text
    assert "  # mine\n  num_levels=7\n[CFOptions" in text
    answer = client.get(f"/v1/jobs/{job}/options", params={"diff": True})
    assert answer.headers["content-disposition"] == 'attachment; filename="OPTIONS.diff"'
    assert answer.text.startswith("--- OPTIONS\n+++ OPTIONS.ini\n@@ ")
    lines = answer.text.splitlines()[2:]
    assert {line for line in lines if line.startswith("+")} == {
        f"+{line}" for line in text.splitlines() if line not in TWO.splitlines()
    }


def test_a_job_without_a_file_has_no_difference(client: TestClient, database: Engine) -> None:
    plain = keep(database, proved())
    answer = client.get(f"/v1/jobs/{plain}/options", params={"diff": True})
    assert answer.status_code == 404
    assert "was given no OPTIONS file" in require_problem(answer)["detail"]
    assert "OPTIONS.diff" not in see(client, f"/jobs/{plain}/won").text


def test_the_page_shows_and_links_it(client: TestClient, job: int) -> None:
    page = see(client, f"/jobs/{job}/won").text
    assert f'href="/v1/jobs/{job}/options?diff=true"' in page
    assert "+  # Rocktune: " in page
    assert "CFOptions &#34;blocks&#34;" in page  # where an option stands


def test_a_pick_is_written_for_the_job_s_family_or_another(client: TestClient, job: int) -> None:
    own = client.get(f"/v1/jobs/{job}/pick").json()
    head, theirs = own["options"].split('[CFOptions "blocks"]')
    assert "# Rocktune: " in theirs and "# Rocktune: " not in head.split("[CFOptions")[1]
    assert own["difference"].startswith("--- OPTIONS\n")
    other = client.get(f"/v1/jobs/{job}/pick", params={"column_family": "default"}).json()
    assert other["picks"] == own["picks"]
    head, theirs = other["options"].split('[CFOptions "blocks"]')
    assert theirs == "\n  # theirs\n  num_levels=7\n" and "# Rocktune: " in head
    assert "# Measured for the column family blocks, written into default\n" in head
    refused = client.get(f"/v1/jobs/{job}/pick", params={"column_family": "block"})
    assert refused.status_code == 422
    (error,) = require_problem(refused)["errors"]
    assert error["field"] == "column_family"
    assert error["problem"] == (
        "the OPTIONS file has no column family 'block'; it has default, blocks"
    )


def test_a_pick_of_a_job_without_a_file_has_no_family(
    client: TestClient, database: Engine
) -> None:
    plain = keep(database, proved())
    assert client.get(f"/v1/jobs/{plain}/pick").json()["difference"] is None
    refused = client.get(f"/v1/jobs/{plain}/pick", params={"column_family": "blocks"})
    assert "needs an OPTIONS file" in require_problem(refused)["errors"][0]["problem"]
