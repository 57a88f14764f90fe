"""The table of a job's trials: a page, and the same over the interface."""

import re
from dataclasses import replace
from typing import Any

import pytest
from fastapi.testclient import TestClient
from sqlalchemy import Engine

from jobs.results.outcome import JobOutcome
from tests.support.api.browser import see
from tests.support.api.callers import EXTERNAL, errors_of, submit
from tests.support.api.fake_runner import ask, tell
from tests.support.api.stored_job import keep, proved

pytestmark = pytest.mark.one_database


def rows_of(html: str) -> list[int]:
    return [int(number) for number in re.findall(r'<tr id="trial-(\d+)"', html)]


def numbers(answer: Any) -> list[int]:
    return [trial["number"] for trial in answer.json()["trials"]]


def test_the_table_and_the_interface_hold_the_same_trials(anyone: TestClient, ended: int) -> None:
    for asked in ("", "sort=-rate", "sort=rate&phase=confirm", "state=done&sort=-number",
                  "state=failed", "sort=-bench_seconds&after=3"):  # fmt: skip
        shown = see(anyone, f"/jobs/{ended}/trials?{asked}")
        assert shown.status_code == 200
        assert rows_of(shown.text) == numbers(anyone.get(f"/v1/jobs/{ended}/trials?{asked}"))
    assert 'aria-sort="descending"' in see(anyone, f"/jobs/{ended}/trials?sort=-rate").text
    assert "Trials of job" in shown.text


def test_a_page_is_sorted_and_goes_on_where_the_last_one_ended(
    anyone: TestClient, ended: int
) -> None:
    path = f"/v1/jobs/{ended}/trials"
    first = anyone.get(path, params={"sort": "-rate", "limit": 5})
    rest = anyone.get(path, params={"sort": "-rate", "after": first.json()["next"]})
    rates = [t["metrics"]["rate"] for page in (first, rest) for t in page.json()["trials"]]
    assert rates == sorted(rates, reverse=True) and len(rates) == 12


@pytest.mark.slow
def test_every_trial_has_an_address(anyone: TestClient, ended: int) -> None:
    page = see(anyone, f"/jobs/{ended}/trials?trial=7").text
    assert rows_of(page) == [7, 8, 9, 10, 11, 12]
    assert '<tr id="trial-7" class="shown">' in page
    assert f'href="/jobs/{ended}/trials?trial=7#trial-7"' in page
    assert "No more trials" in see(anyone, f"/jobs/{ended}/trials?after=12").text
    assert "has no trial 40" in see(anyone, f"/jobs/{ended}/trials?trial=40").text


def test_a_row_says_what_was_changed_and_what_it_was_worth(anyone: TestClient, ended: int) -> None:
    page = see(anyone, f"/jobs/{ended}/trials").text
    trials = anyone.get(f"/v1/jobs/{ended}/trials").json()["trials"]
    changed = next(t for t in trials if t["configuration"]["batch"] != 8)
    row = page.partition(f'<tr id="trial-{changed["number"]}"')[2].partition("</tr>")[0]
    assert f"<code>batch = {changed['configuration']['batch']}</code>" in row
    assert "1 change against the baseline" in row
    rate = sorted(t["metrics"]["rate"] for t in trials if t["subject"] == 1)
    assert rate and "ops/s" in row
    first = page.partition('<tr id="trial-1"')[2].partition("</tr>")[0]
    assert "baseline" in first and "against the baseline</summary>" not in first


def fitness_shown(client: TestClient, engine: Engine, finished: JobOutcome) -> set[str]:
    """What stands under Fitness in the rows of the confirmation."""
    page = see(client, f"/jobs/{keep(engine, finished)}/trials?phase=confirm").text
    shown = set()
    for row in page.split('<tr id="trial-')[1:]:
        cells = re.findall(r'<td class="n">(.*?)</td>', row.partition("</tr>")[0])
        metrics, fitness, _duration = cells[:-2], *cells[-2:]
        assert len(metrics) == 4 and "-" not in metrics
        shown.add(fitness)
    return shown


def test_runs_of_a_larger_load_have_no_fitness_against_the_search_s_baseline(
    client: TestClient, database: Engine
) -> None:
    searched = proved()
    assert "-" not in fitness_shown(client, database, searched)
    job = {**searched.result["job"], "confirm_scale": 8}
    larger = replace(searched, result={**searched.result, "job": job})
    assert fitness_shown(client, database, larger) == {"-"}


@pytest.mark.parametrize(
    ("ending", "kind"),
    [("csv", "text/csv"), ("ndjson", "application/x-ndjson"),
     ("parquet", "application/vnd.apache.parquet")],
)  # fmt: skip
def test_links_lead_to_all_trials_as_files(
    anyone: TestClient, ended: int, ending: str, kind: str
) -> None:
    path = f"/jobs/{ended}/trials.{ending}"
    assert f'href="{path}"' in see(anyone, f"/jobs/{ended}/trials").text
    answer = see(anyone, path)
    assert answer.headers["content-type"].partition(";")[0] == kind
    assert answer.headers["content-disposition"].endswith(f'job-{ended}-trials.{ending}"')
    same = anyone.get(f"/v1/jobs/{ended}/trials", headers={"Accept": kind})
    assert answer.content == same.content


def test_files_are_neither_filtered_nor_sorted(anyone: TestClient, ended: int) -> None:
    for field, value in (("state", "done"), ("phase", "search"), ("sort", "-rate")):
        refused = anyone.get(
            f"/v1/jobs/{ended}/trials", params={field: value}, headers={"Accept": "text/csv"}
        )
        assert "JSON" in errors_of(refused)[field]["problem"]
    for field, value in (("state", "asleep"), ("phase", "lunch"), ("sort", "p99")):
        errors_of(anyone.get(f"/v1/jobs/{ended}/trials", params={field: value}))
        assert see(anyone, f"/jobs/{ended}/trials?{field}={value}").status_code == 422
    beyond = anyone.get(f"/v1/jobs/{ended}/trials", params={"sort": "rate", "after": 99})
    assert "no trial 99" in errors_of(beyond)["after"]["problem"]
    assert see(anyone, f"/jobs/{ended}/trials.exe").status_code == 422


def test_what_is_not_there_says_what_to_do(client: TestClient) -> None:
    job = submit(client, EXTERNAL)
    assert "No trial yet" in see(client, f"/jobs/{job}/trials").text
    (first,) = ask(client, job)["suggestions"]
    tell(client, job, {"number": first["number"], "state": "failed", "failure": "<b>no</b>"})
    page = see(client, f"/jobs/{job}/trials").text
    assert "&lt;b&gt;no&lt;/b&gt;" in page and "<b>no" not in page
    none = see(client, f"/jobs/{job}/trials?state=done").text
    assert "No trial matches" in none and "Show all trials" in none
    assert see(client, "/jobs/99/trials").status_code == 404
