"""The pages of jobs as they are served: the table, the form, the buttons, a job."""

import re
from html import unescape

import pytest
from fastapi.testclient import TestClient
from sqlalchemy import Engine

from db.access.tokens import Role
from tests.support.api.browser import SEES, act, form_token, log_in, see, send_form, token_in
from tests.support.api.callers import EXTERNAL, QUEUED, submit
from tests.support.api.fake_runner import ask, drive, measure, tell
from tests.support.api.sent_workload import SENT

pytestmark = pytest.mark.one_database


def numbers(html: str) -> list[int]:
    """The jobs of a table, in order."""
    return [int(found) for found in re.findall(r'<th scope="row"><a href="/jobs/(\d+)">', html)]


def test_the_table_is_filtered_searched_and_sorted(client: TestClient) -> None:
    first, second = submit(client), submit(client, EXTERNAL)
    third = submit(client, {**QUEUED, "workload": "load", "space": "paper"})
    assert numbers(see(client, "/").text) == [third, second, first]
    assert numbers(see(client, "/?state=running").text) == [second]
    assert numbers(see(client, "/?state=&search=load").text) == [third, first]
    assert numbers(see(client, "/?sort=workload").text) == [second, third, first]
    sorted_by = see(client, "/?sort=workload&search=load").text
    assert numbers(sorted_by) == [third, first]
    assert 'aria-sort="ascending"><a href="/?search=load&amp;sort=-workload">' in sorted_by
    nothing = see(client, "/?search=nobody").text
    assert numbers(nothing) == [] and "No job matches" in nothing
    wrong = see(client, "/?state=asleep")
    assert wrong.status_code == 422 and "<h1>" in wrong.text


@pytest.mark.slow
def test_the_table_goes_on_page_by_page(client: TestClient) -> None:
    assert "No job yet" in see(client, "/").text
    made = [submit(client, EXTERNAL) for _ in range(52)]
    page = see(client, "/?sort=workload").text
    (onward,) = re.findall(r'<a rel="next" href="([^"]+)"', page)
    rest = see(client, onward.replace("&amp;", "&")).text
    assert numbers(page) + numbers(rest) == made
    assert 'rel="next"' not in rest and "First page" in rest


def test_a_form_submits_what_the_interface_would_take(client: TestClient) -> None:
    page = see(client, "/jobs/new").text
    for name in ("load-quick", "overwrite", "default", "paper", "waf", "guided"):
        assert f'<option value="{name}"' in page
    sent = {"workload": "load-quick", "trials": "30", "space": "", "limits": "waf <= 3\r\n\r\n",
            "memory": "256MiB", "cutoff": "0", "stop_early": "yes", "priority": "-2"}  # fmt: skip
    answer = act(client, "/jobs/new", **sent)
    assert (answer.status_code, answer.headers["location"]) == (303, "/jobs/1")
    made = client.get("/v1/jobs/1").json()
    assert (made["total"], made["priority"], made["space"]) == (30, -2, "default")
    asked = made["specification"]
    assert asked["memory"] == 256 * 2**20 and asked["objective"]["limit"]
    assert (asked["search"]["cutoff"], asked["search"]["stop_early"]) == (0, True)


def test_what_is_wrong_stands_beside_its_field_and_nothing_is_lost(client: TestClient) -> None:
    given = {"workload": "lod", "trials": "three", "minutes": "1e999", "limits": "waf < ?",
             "memory": "much", "seed": "7", "detect": "<b>"}  # fmt: skip
    answer = act(client, "/jobs/new", **given)
    assert answer.status_code == 422
    page = answer.text
    body = {**given, "limits": ["waf < ?"], "seed": 7}
    told = client.post("/v1/jobs", json={**body, "minutes": 5}).json()["errors"]
    assert {each["field"] for each in told} >= {"workload", "trials", "limits", "memory"}
    for each in told:
        assert f'id="problem-{each["field"]}"' in page
        beside = page.split(f'id="problem-{each["field"]}">')[1].split("</p>")[0]
        assert unescape(beside) == each["problem"]
        assert f'<a href="#{each["field"]}">' in page
    assert 'id="problem-minutes"' in page and 'id="problem-seed"' not in page
    assert page.count('aria-invalid="true"') == page.count('id="problem-')
    assert 'value="three"' in page and 'value="7"' in page and "waf &lt; ?</textarea>" in page
    assert '<option value="lod" selected>' in page and '<b>"' not in page
    assert "<details open>" in page, "what is wrong or filled in is not hidden"
    assert see(client, "/").text.count("<tr>") == 0


OWN_SPACE = """
name = "mine"
[[parameter]]
name = "write_buffer_size"
low = "8MiB"
high = "64MiB"
"""
OWN_OBJECTIVE = """
name = "stored"
[[metric]]
name = "sa"
direction = "min"
"""


def test_a_space_and_an_objective_of_one_s_own_are_taken(client: TestClient) -> None:
    own = {"own_space": OWN_SPACE, "own_objective": OWN_OBJECTIVE, "space": "paper"}
    assert act(client, "/jobs/new", workload="load-quick", **own).status_code == 303
    made = client.get("/v1/jobs/1").json()
    assert (made["space"], made["objective"]) == ("mine", "stored")
    names = [each["name"] for each in made["specification"]["space"]["parameter"]]
    assert names == ["write_buffer_size"]
    assert act(client, "/jobs/1/clone", own_objective="", own_space=OWN_SPACE).status_code == 303


def test_a_wrong_space_is_told_beside_its_text(client: TestClient) -> None:
    for text, problem in (
        ("[[parameter", "is not TOML"),
        (OWN_SPACE.replace("8MiB", "80MiB"), "low"),
        (OWN_SPACE.replace('"8MiB"', "2026-11-22"), "write_buffer_size"),
        (OWN_SPACE.replace('"mine"', "2026-11-22"), "name"),
        (OWN_SPACE.replace("write_buffer_size", "no_such"), "no_such"),
        ("name = 'empty'", "parameter"),
    ):
        answer = act(client, "/jobs/new", workload="load-quick", own_space=text)
        assert answer.status_code == 422
        beside = unescape(answer.text.split('id="problem-own_space">')[1].split("</p>")[0])
        assert problem in beside, beside
        assert 'id="problem-space"' not in answer.text
        assert '<textarea id="own_space"' in answer.text and text.strip() in unescape(answer.text)


def test_a_clone_changes_what_is_filled_in(client: TestClient) -> None:
    submit(client, {**QUEUED, "seed": 3, "limits": ["waf <= 3"], "priority": 5})
    page = see(client, "/jobs/1/clone").text
    for told in ("as in job 1: load-quick", "as in job 1: 20", "as in job 1: 3", "waf &lt;= 3"):
        assert told in page
    assert act(client, "/jobs/1/clone", trials="12x").status_code == 422
    answer = act(client, "/jobs/1/clone", seed="4", workload="")
    assert answer.headers["location"] == "/jobs/2"
    first, clone = (client.get(f"/v1/jobs/{n}").json() for n in (1, 2))
    assert clone["specification"] == {**first["specification"], "seed": 4}
    assert clone["priority"] == 5


def test_buttons_cancel_and_resume(client: TestClient) -> None:
    submit(client, EXTERNAL)
    assert 'action="/jobs/1/cancel"' in see(client, "/jobs/1").text
    answer = act(client, "/jobs/1/cancel")
    assert (answer.status_code, answer.headers["location"]) == (303, "/jobs/1")
    page = see(client, "/jobs/1").text
    assert 'action="/jobs/1/cancel"' not in page and 'action="/jobs/1/resume"' in page
    assert act(client, "/jobs/1/resume").status_code == 303
    assert client.get("/v1/jobs/1").json()["state"] == "running"
    assert act(client, "/jobs/1/resume").status_code == 409
    assert act(client, "/jobs/9/cancel").status_code == 404


@pytest.mark.parametrize(
    "path",
    ["/jobs/new", "/jobs/1/clone", "/jobs/1/cancel", "/jobs/1/resume", "/jobs/1/delete"],
)
def test_without_the_form_s_token_nothing_is_done(
    client: TestClient, logged_in: TestClient, path: str
) -> None:
    submit(client)
    token = form_token(logged_in, "/jobs/new")
    fields = {"workload": "load-quick"}
    for wrong in ({}, {"form_token": ""}, {"form_token": "0" * 64}):
        assert send_form(logged_in, path, {**fields, **wrong}).status_code == 403
    foreign = send_form(
        logged_in, path, {**fields, "form_token": token}, Origin="http://evil.example"
    )
    assert foreign.status_code == 403
    as_json = logged_in.post(path, json=fields, headers=SEES)
    assert as_json.status_code == 415
    logged_in.cookies.clear()
    answer = send_form(logged_in, path, {**fields, "form_token": token})
    assert (answer.status_code, answer.headers["location"]) == (303, "/login?next=/")
    assert len(client.get("/v1/jobs").json()["jobs"]) == 1
    assert client.get("/v1/jobs/1").json()["state"] == "queued"


def test_an_ended_job_is_deleted_after_a_second_button(
    client: TestClient, tokens: dict[Role, str]
) -> None:
    submit(client, EXTERNAL)
    assert 'action="/jobs/1/delete"' not in see(client, "/jobs/1").text, "it has not ended"
    assert act(client, "/jobs/1/delete").status_code == 409
    act(client, "/jobs/1/cancel")
    page = see(client, "/jobs/1").text
    hidden = page.partition('<details class="confirm">')[2].partition("</details>")[0]
    assert "<summary>Delete</summary>" in hidden and "cannot be undone" in hidden
    assert 'action="/jobs/1/delete"' in hidden and "Delete job 1</button>" in hidden
    assert "/delete" not in see(client, "/").text
    answer = act(client, "/jobs/1/delete")
    assert (answer.status_code, answer.headers["location"]) == (303, "/")
    assert see(client, "/jobs/1").status_code == 404
    submit(client, EXTERNAL)
    client.post("/v1/jobs/2/cancel")
    del client.headers["Authorization"]
    log_in(client, tokens[Role.SUBMIT])
    assert "/delete" not in see(client, "/jobs/2").text
    assert act(client, "/jobs/2/delete").status_code == 403
    assert see(client, "/jobs/2").status_code == 200


def test_jobs_are_sorted_by_fitness(client: TestClient) -> None:
    asked = {**EXTERNAL, "trials": 14, "strategy": "random"}
    better, worse, none = (submit(client, asked) for _ in range(3))
    for number, gain in ((worse, 1), (better, 10)):
        for _ in range(4):
            for each in ask(client, number, count=2)["suggestions"]:
                rate = 1000.0 + gain * each["configuration"]["batch"]
                tell(client, number, {"number": each["number"], "metrics": {"rate": rate}})
    order = [better, worse, none]
    page = see(client, "/?sort=-best")
    assert numbers(page.text) == order
    assert 'aria-sort="descending"><a href="/?sort=best">Best fitness</a>' in page.text
    assert numbers(see(client, "/?sort=best").text) == order[::-1]
    listed = client.get("/v1/jobs?sort=-best").json()["jobs"]
    assert [each["id"] for each in listed] == order


def test_a_job_leads_to_what_its_workload_stands_for(client: TestClient) -> None:
    submit(client)
    page = see(client, "/jobs/1").text
    assert '<a href="/workloads/load-quick">load-quick</a>' in page and "profiled" not in page
    client.post("/v1/workloads", json=SENT)
    submit(client, {**QUEUED, "workload": "my-db"})
    assert '<a href="/workloads/my-db#profile">a profiled database' in see(client, "/jobs/2").text
    assert '<h2 id="profile">' in see(client, "/workloads/my-db").text
    client.delete("/v1/workloads/my-db")
    assert "/workloads/my-db" not in see(client, "/jobs/2").text, "it has no page any more"


def test_who_may_only_read_is_shown_no_button(client: TestClient, tokens: dict[Role, str]) -> None:
    submit(client, EXTERNAL)
    del client.headers["Authorization"]
    log_in(client, tokens[Role.READ])
    token = ""
    for path in ("/", "/jobs/1"):
        page = see(client, path).text
        assert "/jobs/new" not in page and "/clone" not in page and "/cancel" not in page
        token = token_in(page)
    assert token
    assert see(client, "/jobs/new").status_code == 403
    refused = send_form(client, "/jobs/1/cancel", {"form_token": token})
    assert refused.status_code == 403 and "submit" in refused.text


def test_a_job_is_readable_without_a_script(client: TestClient) -> None:
    submit(client, {**EXTERNAL, "trials": 14, "strategy": "random"})
    empty = see(client, "/jobs/1").text
    assert "has not been measured yet" in empty and "No trial has ended yet" in empty
    for _ in range(4):
        for suggestion in ask(client, 1, count=2)["suggestions"]:
            broke = {"state": "failed", "failure": "<script>alert(1)</script>\nat line 3"}
            fails = suggestion["number"] == 4
            tell(client, 1, {"number": 4, **broke} if fails else measure(suggestion))
    page = see(client, "/jobs/1").text
    progress = client.get("/v1/jobs/1").json()
    assert f"fitness of trial {progress['best']['trial']}" in page
    assert f"{progress['done'] + progress['failed']} of 14" in page
    assert progress["why"] in page and "phase sample" in page
    assert "<td>&lt;script&gt;" not in page
    assert '<td class="word">&lt;script&gt;alert(1)&lt;/script&gt;</td>' in page
    assert "better is" in page and "ops/s" in page
    assert page.count('<th scope="row" class="n">') == progress["done"] + progress["failed"]


def test_a_job_that_is_done_tells_what_was_won(client: TestClient) -> None:
    submit(client, {**EXTERNAL, "trials": 16, "strategy": "random"})
    drive([client], 1, at_once=1)
    page = see(client, "/jobs/1").text
    result = client.get("/v1/jobs/1/result").json()
    assert result["best"] is not None
    assert f"Proof: trial {result['best']['trial']}, fitness " in page
    assert 'href="/v1/jobs/1/options"' in page and "data-live" not in page
    assert client.get("/v1/jobs/1/options").status_code == 200


def test_what_there_is_not_is_said_in_a_page(client: TestClient, database: Engine) -> None:
    for path in ("/jobs/7", "/jobs/0", "/jobs/x", "/nowhere", "/static/0/plotly.js"):
        answer = see(client, path)
        assert answer.status_code in (404, 422)
        assert ("<h1>" in answer.text) == (not path.startswith("/static"))
    assert client.get("/nowhere").headers["content-type"] == "application/problem+json"
    database.dispose()
