"""What was won: proof, path, preference, what the file changes; or that nothing was, and why."""

import re
from dataclasses import replace
from html import unescape

import pytest
from fastapi.testclient import TestClient
from sqlalchemy import Engine

from db.schema.job_row import JobState
from jobs.results.figures import estimate_words
from optimizer.explained import Estimate
from tests.support.api.browser import see
from tests.support.api.stored_job import keep, proved, unproven

pytestmark = pytest.mark.one_database

WEIGHTS = "weight-waf=1&weight-sa=0&weight-time=0&weight-rate=0"


@pytest.fixture
def job(database: Engine) -> int:
    return keep(database, proved())


def section(html: str, title: str) -> str:
    """A part of the page, by the id of its head."""
    found = html.partition(f'aria-labelledby="{title}">')[2]
    return unescape(found.partition("</section>")[0])


def test_the_proof_is_told_with_its_intervals(client: TestClient, job: int) -> None:
    page = see(client, f"/jobs/{job}/won")
    assert page.status_code == 200
    verdict = section(page.text, "verdict-title")
    best = proved().result["best"]
    assert f'trials?trial={best["trial"]}#trial-{best["trial"]}">' in verdict
    assert f'href="/v1/jobs/{job}/options"' in verdict
    trade = proved().result["verdict"]["trade"]
    assert trade.startswith("Better than the baseline: ") and f"<b>{trade}.</b>" in verdict
    assert f"<b>{trade}.</b>" in unescape(see(client, f"/jobs/{job}").text)
    proof = section(page.text, "proof-title")
    for metric, change in best["change"].items():
        if metric in best["metrics"] and metric in ("waf", "sa", "time", "rate"):
            for figure in ("percent", "low", "high"):
                assert f"{change[figure]:+.1f}%" in proof, metric
    assert '<script type="application/json">' in proof


@pytest.mark.parametrize("tab", ["", "/won"])
def test_the_first_screen_tells_trade_changes_and_files(
    client: TestClient, job: int, tab: str
) -> None:
    first = section(see(client, f"/jobs/{job}{tab}").text, "verdict-title")
    result = proved().result
    rows = first.partition("<tbody>")[2].partition("</tbody>")[0].split("</tr>")[:-1]
    marks = [re.search(r'class="mark ([\w ]+)">\1<', row) for row in rows]
    assert len(rows) >= 4 and all(marks)
    waf = next(row for row in rows if ">WAF<" in row)
    change = result["verdict"]["change"]["waf"]
    assert change["high"] < 0 and ">better<" in waf
    assert f"{change['percent']:+.1f}%" in waf and f"{change['low']:+.1f}% to" in waf
    for row in result["best"]["changes"]:
        assert f"<li><b>{row['name']}</b> " in first
        assert estimate_words(Estimate(**row["gain"])) in first
    assert f"{len(result['best']['changes'])} options changed</h3>" in first
    assert "<code>rocktune options 1</code>" in first and "`" not in first
    assert "See the plots" not in first
    assert f'href="/v1/jobs/{job}/options" download>Download OPTIONS.ini' in first
    assert f'href="/jobs/{job}/won#diff-title"' in first


def test_many_changes_leave_the_rest_of_the_screen(client: TestClient, database: Engine) -> None:
    finished = proved()
    best = finished.result["best"]
    many = {f"own_{number}": number for number in range(20)}
    job = keep(database, replace(finished, result={
        **finished.result, "best": {**best, "configuration": {**best["configuration"], **many}},
    }))  # fmt: skip
    first = section(see(client, f"/jobs/{job}").text, "verdict-title")
    shown, _, more = first.partition("options changed</h3>")[2].partition("<details><summary>")
    rows = "<li><b>"
    assert shown.count(rows) == 8
    assert f"{more.count(rows)} more</summary>" in more and more.count(rows) >= 12


def test_the_path_has_a_row_for_each_step(client: TestClient, job: int) -> None:
    explanation = proved().result["explanation"]
    path = section(see(client, f"/jobs/{job}/won").text, "path-title")
    assert path.count('<th scope="row"') == len(explanation["steps"]) > 1
    assert "all of them: the winner" in path
    assert all(c["name"] in path for step in explanation["steps"] for c in step["changes"])


def test_the_file_is_compared_option_by_option(client: TestClient, job: int) -> None:
    page = see(client, f"/jobs/{job}/won").text
    diff = section(page, "diff-title")
    best, start = proved().result["best"], proved().result["baseline"]["configuration"]
    now = best["configuration"]["level0_file_num_compaction_trigger"]
    before = start["level0_file_num_compaction_trigger"]
    assert now != before
    row = diff.partition('<tr id="option-level0_file_num_compaction_trigger">')[2]
    row = row.partition("</tr>")[0]
    values = re.findall(r'<td class="word">([^\s<]*)', row)
    assert values[:2] == [str(before), str(now)]
    assert f'href="/jobs/{job}/matters#parameter-level0_file_num_compaction_trigger"' in row
    sides = [re.findall(r'<td class="word">(.*?)</td>', each)[:2]
             for each in diff.split('<tr id="option-')[1:]]  # fmt: skip
    assert len(sides) > 3
    assert all(old != new for old, new in sides), "what is alike is left out"
    assert f"rocktune options {job}" in section(page, "use-title")


def test_plots_of_all_trials_come_by_and_by(client: TestClient, job: int) -> None:
    path = f"/jobs/{job}/won"
    first = see(client, path).text
    assert f'id="front-plots" data-later="{path}?details=true"' in first
    front = section(first, "front-title")
    assert "<figure>" not in front
    whole = section(see(client, f"{path}?details=true").text, "front-title")
    assert whole.count("<figure>") == 2 and "data-later" not in whole
    numbers = [int(n) for n in re.findall(r"#trial-(\d+)", front)]
    assert numbers and set(numbers) <= set(proved().result["pareto"])


@pytest.mark.slow
def test_a_preference_picks_what_the_interface_picks(client: TestClient, job: int) -> None:
    page = see(client, f"/jobs/{job}/won?{WEIGHTS}&limit=sa+%3C%3D+1.5+baseline")
    assert page.status_code == 200
    told = section(page.text, "preference-title")
    same = client.get(
        f"/v1/jobs/{job}/pick", params={"weights": "waf=1", "limit": "sa <= 1.5 baseline"}
    ).json()
    rows = [int(n) for n in re.findall(r"#trial-(\d+)", told)]
    assert rows == [pick["trial"] for pick in same["picks"]]
    assert f"rocktune pick {job} --weights waf=1 --limit 'sa <= 1.5 baseline'" in told
    file = see(client, f"/jobs/{job}/won/options?{WEIGHTS}")
    assert file.headers["content-disposition"] == 'attachment; filename="OPTIONS.ini"'
    asked = client.get(f"/v1/jobs/{job}/pick", params={"weights": "waf=1"}).json()
    assert file.text == asked["options"]


def test_a_wrong_preference_is_told_where_it_is_given(client: TestClient, job: int) -> None:
    for asked, problem in (
        (WEIGHTS.replace("waf=1", "waf=0"), "every weight is 0"),
        (WEIGHTS.replace("waf=1", "waf=x"), "is not from 0 to"),
        (WEIGHTS.replace("waf=1", "waf=-1"), "is not from 0 to"),
        (f"{WEIGHTS}&limit=nonsense", "limit: "),
        (f"{WEIGHTS}&limit=p12+%3C%3D+4", "limit: "),
    ):
        page = see(client, f"/jobs/{job}/won?{asked}")
        assert page.status_code == 422
        assert problem in section(page.text, "preference-title")
        assert client.get(f"/jobs/{job}/won/options?{asked}").status_code == 422


def test_without_a_proof_the_reasons_are_told(client: TestClient, database: Engine) -> None:
    failed = {"why": "the interval holds 0", "fitness": 12.0, "low": -40.0, "high": 64.0}
    failed |= {"trade": "Nothing was proven better than the baseline; costs: none significant"}
    job = keep(database, unproven(proved(), **failed))
    page = see(client, f"/jobs/{job}/won").text
    verdict = section(page, "verdict-title")
    assert "Nothing was proven better than the baseline" in verdict
    assert (
        "the interval holds 0" in verdict
        and "-40 to 64. A proof needs it entirely above 0" in verdict
    )
    assert "What to do next" in verdict
    proof = section(page, "proof-title")
    assert "best candidate" in proof and "Minimum detectable change" in proof
    assert "diff-title" not in page and "/options" not in verdict
    assert "preference-title" in page
    none = keep(database, unproven(proved(), trial=None))
    assert "No new configuration could be compared" in see(client, f"/jobs/{none}/won").text


def test_before_the_proof_the_page_says_when_it_comes(
    client: TestClient, database: Engine
) -> None:
    job = keep(database, proved(), state=JobState.RUNNING)
    page = see(client, f"/jobs/{job}/won").text
    assert "Nothing is proven yet" in page and "The proof comes last" in page
    told = section(see(client, f"/jobs/{job}/won?{WEIGHTS}").text, "preference-title")
    assert "#trial-" in told, "what was measured so far can be picked from"
    ended = keep(database, proved(), state=JobState.CANCELLED)
    assert "The job ended before its proof" in see(client, f"/jobs/{ended}/won").text
