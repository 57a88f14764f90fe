"""What matters: the ranking as the interface has it, its tests, and what is learned beyond."""

import re
from dataclasses import replace
from html import unescape
from typing import Any

import pytest
from fastapi.testclient import TestClient
from sqlalchemy import Engine

from db.connection.engine import writing
from db.schema.job_row import JobState
from jobs.results.outcome import JobOutcome
from tests.support.api.browser import see
from tests.support.api.callers import EXTERNAL, errors_of, require_problem, submit
from tests.support.api.stored_job import keep, names, proved, remember

pytestmark = pytest.mark.one_database

DRAWS, MODELS = "genetic", "guided"


def ranked(html: str) -> list[str]:
    return re.findall(r'<tr id="parameter-([^"]+)"', html)


def figures(html: str) -> int:
    return html.count("<figure>")


def percent(share: float) -> str:
    return f"{100 * share:.1f}"


def part(html: str, begins: str, ends: str) -> str:
    return unescape(html.partition(begins)[2].partition(ends)[0])


def learned_in(finished: JobOutcome, **more: Any) -> dict[str, Any]:
    """A ranking as a job that goes on keeps it."""
    kept = ("parameters", "forest", "models", "ranked_by", "shown_first", "anova_power")
    return {name: finished.result[name] for name in kept} | more


@pytest.mark.slow
@pytest.mark.parametrize("strategy", [DRAWS, MODELS])
def test_the_parameters_are_ranked_as_over_the_interface(
    client: TestClient, database: Engine, strategy: str
) -> None:
    job = keep(database, proved(strategy))
    for asked in ("", "?metric=waf"):
        page = see(client, f"/jobs/{job}/matters{asked}")
        assert page.status_code == 200
        answer = client.get(f"/v1/jobs/{job}/parameters{asked}").json()
        assert ranked(page.text) == names(answer["parameters"])
    assert answer["ranked_by"] == "models"
    page_of_all = unescape(see(client, f"/jobs/{job}/matters").text)
    answer = client.get(f"/v1/jobs/{job}/parameters").json()
    first = answer["parameters"][0]
    row = part(page_of_all, f'<tr id="parameter-{first["name"]}">', "</tr>")
    found = first["model"]["waf"]
    told = f"{percent(found['total'])}% ({percent(found['low'])} to {percent(found['high'])})"
    lines = [*answer["trust"], *answer["disagreement"]]
    assert lines and all(line in page_of_all for line in lines)
    assert told in row
    assert figures(page_of_all) >= 4


@pytest.mark.slow
def test_tests_and_stability_are_told(client: TestClient, database: Engine) -> None:
    power = {**proved().result["anova_power"], "draws": 40}
    many = replace(proved(), result={**proved().result, "anova_power": power})
    job = keep(database, many)
    page = see(client, f"/jobs/{job}/matters?metric=waf").text
    told = part(page, '<section aria-labelledby="anova-title">', "</section>")
    known = client.get(f"/v1/jobs/{job}/anova?metric=waf").json()["rows"]
    tested = [row["parameter"] for row in known if row["p"] is not None][:30]
    assert client.get(f"/v1/jobs/{job}/anova").json()["words"] in told
    assert re.findall(r'href="#parameter-([^"]+)"', told) == tested
    sure = part(page, '<section aria-labelledby="stable-title">', "</section>")
    forest, process = (proved().result[part]["waf"] for part in ("forest", "models"))
    assert f"{forest['r2_cross_validated']:.2f}" in sure
    assert f"{process['kendall_tau']:.2f}" in sure


@pytest.mark.slow
def test_what_needs_the_trials_comes_by_and_by(client: TestClient, database: Engine) -> None:
    job = keep(database, proved())
    path = f"/jobs/{job}/matters"
    first = see(client, path).text
    assert f'id="details" data-later="{path}?details=true"' in first
    assert "Show them" in first and "The strongest pairs" not in first
    whole = see(client, f"{path}?details=true").text
    later = whole.partition('<div id="details">')[2]
    assert figures(later) >= 6 and "data-later" not in whole
    found = client.get(f"/v1/jobs/{job}/dependence").json()
    assert f"fitted to {found['trials']} trials" in later
    link = r'<a href="#parameter-([^"]+)">[^<]+</a>'
    pairs = re.findall(rf'{link}</th>\s*<td class="word">{link}', later)
    assert [list(pair) for pair in pairs] == [p["parameters"] for p in found["pairs"][:10]]
    # The pretended load writes less with a higher trigger, by 12% of the rest per doubling.
    trigger = "level0_file_num_compaction_trigger"
    curve = next(c for c in found["curves"] if (c["parameter"], c["metric"]) == (trigger, "waf"))
    values = found["settings"][trigger]
    bounds = list(zip(curve["low"], curve["effect"], curve["high"], strict=True))
    assert values == sorted(values) and len(values) == len(bounds)
    assert curve["effect"][0] > 0 > curve["effect"][-1]
    assert all(low <= effect <= high for low, effect, high in bounds)
    of_waf = [c for c in found["curves"] if c["metric"] == "waf"]
    assert trigger in [c["parameter"] for c in of_waf[:2]]
    assert sum(c["share"] for c in of_waf) <= 1 + 1e-9


@pytest.mark.slow
def test_a_job_that_has_not_come_so_far_says_what_is_missing(
    client: TestClient, database: Engine
) -> None:
    waiting = submit(client)
    page = see(client, f"/jobs/{waiting}/matters")
    assert page.status_code == 200
    assert "Nothing is ranked yet" in page.text and "The job is queued" in page.text
    external = submit(client, EXTERNAL)
    assert "the first complete measurement" in see(client, f"/jobs/{external}/matters").text
    ended = keep(database, proved(), state=JobState.CANCELLED)
    assert "ended before its sampling phase" in see(client, f"/jobs/{ended}/matters").text
    refused = client.get(f"/v1/jobs/{waiting}/dependence")
    assert refused.status_code == 409 and "yet" in require_problem(refused)["detail"]
    running = keep(database, proved(), state=JobState.RUNNING)
    assert "ranking follows the sampling phase" in see(client, f"/jobs/{running}/matters").text
    with writing(database) as connection:
        remember(connection, running, "ranking", learned_in(proved()))
    page = see(client, f"/jobs/{running}/matters?details=true")
    assert "has not ended" in page.text and len(ranked(page.text)) > 20


def test_a_workload_factor_is_marked_and_names_are_text(
    client: TestClient, database: Engine
) -> None:
    evil = "<i>x</i>"
    finished = proved()
    rows = [dict(row) for row in finished.result["parameters"]]
    rows[0] |= {"workload_factor": True, "searched": False}
    rows[1] |= {"name": evil}
    job = keep(database, replace(finished, result={**finished.result, "parameters": rows}))
    page = see(client, f"/jobs/{job}/matters").text
    row = part(page, f'<tr id="parameter-{rows[0]["name"]}">', "</tr>")
    assert "property of the load, never searched" in row
    assert evil not in page and "&lt;i&gt;x" in page


def test_a_metric_that_is_none_is_refused(client: TestClient, database: Engine) -> None:
    job = keep(database, proved())
    refused = client.get(f"/jobs/{job}/matters?metric=luck")
    assert "choose from" in errors_of(refused)["metric"]["problem"]
    assert see(client, "/jobs/99/matters").status_code == 404


def test_few_draws_test_nothing_and_say_what_they_could_have_seen(
    client: TestClient, database: Engine
) -> None:
    finished = proved(MODELS)
    assert finished.result["anova_power"]["draws"] < 30
    job = keep(database, finished)
    page = see(client, f"/jobs/{job}/matters").text
    told = part(page, '<section aria-labelledby="anova-title">', "</section>")
    assert "with fewer than 30 nothing is ranked" in told and "<table>" not in told
    assert "minimum detectable effect" in told


@pytest.mark.slow
def test_where_nothing_was_learned_that_is_said(client: TestClient, database: Engine) -> None:
    finished = proved()
    rows = [{**row, "importance": {}, "anova": {}} for row in finished.result["parameters"]]
    forest = {name: {**each, "r2_cross_validated": None}
              for name, each in finished.result["forest"].items()}  # fmt: skip
    result = {**finished.result, "parameters": rows, "forest": forest, "ranked_by": "forests"}
    result |= {"models": {}, "shown_first": {}}
    job = keep(database, replace(finished, result=result))
    page = see(client, f"/jobs/{job}/matters?details=true").text
    assert "Nothing could be learned from the random configurations" in page
    assert "No parameter could be tested" in page
