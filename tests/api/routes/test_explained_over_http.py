"""A finished job's explanation over HTTP, of jobs of this version and of earlier ones."""

from collections.abc import Callable
from pathlib import Path

import pytest
from fastapi.testclient import TestClient
from sqlalchemy import Engine

from db.jobs.job_store import JobStore
from sampler.bench.settings import Settings
from tests.support.api.callers import require_problem, submit
from tests.support.api.finished_job import body, finished, serve

pytestmark = pytest.mark.one_database

Serve = Callable[..., TestClient]
# By chance alone, one noise in ten would leave it unsure that `level` does nothing.
SURE = {"repeatable": True}


@pytest.mark.slow
def test_what_it_says_and_the_file_with_fewer_changes(
    served: Serve, database: Engine, settings: Settings, tmp_path: Path
) -> None:
    client = serve(served, tmp_path, **SURE)
    job = finished(client, database, settings, trials=23)  # nothing is simplified
    path = f"/v1/jobs/{job}"
    answer = client.get(f"{path}/explanation")
    assert answer.status_code == 200, answer.text
    found = answer.json()
    result = client.get(f"{path}/result").json()
    assert found == result["explanation"]
    (first, second) = found["steps"]
    assert [each["name"] for each in first["changes"]] == ["codec"]
    assert first["gain"]["low"] > 0
    assert [each["name"] for each in second["changes"]] == ["level"]
    assert found["minimal"]["kept"] == ["codec"]
    assert found["measured"] is None
    minimal = client.get(f"{path}/options", params={"minimal": True})
    assert minimal.headers["content-disposition"] == 'attachment; filename="OPTIONS.minimal.ini"'
    assert "the fewest changes, 1 of 2" in minimal.text
    assert minimal.text != client.get(f"{path}/options").text
    report = client.get(f"{path}/report").text
    assert ">Why it is better</h2>" in report and "codec slow -&gt; fast" in report
    # An earlier version has kept none: it is made anew, and nothing is changed by that.
    old = {name: value for name, value in result.items() if name != "explanation"}
    store = JobStore(database)
    store.save_result(job, old)
    anew = client.get(f"{path}/explanation").json()
    assert anew["minimal"]["kept"] == ["codec"]
    assert [len(step["changes"]) for step in anew["steps"]] == [1, 1]
    assert store.result(job) == old


def test_a_job_without_a_winner_has_nothing_to_explain(
    served: Serve, database: Engine, settings: Settings, tmp_path: Path
) -> None:
    client = serve(served, tmp_path, wins="none")
    waiting = submit(client, body())
    early = client.get(f"/v1/jobs/{waiting}/explanation")
    assert early.status_code == 409 and "yet" in require_problem(early)["detail"]
    job = finished(client, database, settings, trials=12)
    answer = client.get(f"/v1/jobs/{job}/explanation")
    assert answer.status_code == 404
    assert "nothing to explain" in require_problem(answer)["detail"]
    assert client.get(f"/v1/jobs/{job}/result").json()["explanation"] is None
    options = client.get(f"/v1/jobs/{job}/options", params={"minimal": True})
    assert "nothing better" in require_problem(options)["detail"]


@pytest.mark.slow
def test_a_job_with_four_configurations_is_not_explained(
    served: Serve, database: Engine, settings: Settings, tmp_path: Path
) -> None:
    """It has proven its winner, and no file with fewer changes, nor a word on any change."""
    client = serve(served, tmp_path, **SURE)
    job = finished(client, database, settings, trials=12)
    path = f"/v1/jobs/{job}"
    result = client.get(f"{path}/result").json()
    assert result["best"] is not None and result["explanation"] is None
    withheld = result["explanation_withheld"]
    assert withheld["configurations"] <= 4 and withheld["needed"] == 10
    detail = require_problem(client.get(f"{path}/explanation"))["detail"]
    assert withheld["why"] in detail and "needs 10" in detail
    minimal = client.get(f"{path}/options", params={"minimal": True})
    assert minimal.status_code == 404 and client.get(f"{path}/options").status_code == 200
    for page in (f"{path}/report", f"/jobs/{job}/won"):
        shown = client.get(page).text
        assert withheld["why"] in shown and "95% intervals; each step" not in shown
    # Of an earlier version's job the same is found when it is asked for.
    names = ("explanation", "explanation_withheld")
    old = {name: value for name, value in result.items() if name not in names}
    JobStore(database).save_result(job, old)
    assert withheld["why"] in require_problem(client.get(f"{path}/explanation"))["detail"]
    # What such a version told of as few is shown as it told it.
    told = {"trials": 12, "predicted": {"expected": 9.0, "low": 1.0, "high": 20.0}, "steps": [],
            "minimal": None, "measured": None}  # fmt: skip
    JobStore(database).save_result(job, {**old, "explanation": told})
    assert client.get(f"{path}/explanation").json() == told
