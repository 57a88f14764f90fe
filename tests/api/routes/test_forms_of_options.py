"""A job's configuration in the forms that people paste, over HTTP and on its page."""

import json
import re
from html import unescape

import pytest
from fastapi.testclient import TestClient
from sqlalchemy import Engine

from sampler.rocksdb.forms import FORMS
from sampler.rocksdb.options_file import CF, parse_options
from tests.support.api.browser import see
from tests.support.api.callers import require_problem
from tests.support.api.stored_job import keep, proved, unproven

pytestmark = pytest.mark.one_database

TRIGGER = "level0_file_num_compaction_trigger"


@pytest.fixture
def job(database: Engine) -> int:
    return keep(database, proved())


def best(name: str) -> str:
    """The winner's value."""
    return str(proved().result["best"]["configuration"][name])


@pytest.mark.slow
def test_each_form_is_a_file_of_its_own_kind(client: TestClient, job: int) -> None:
    names = set()
    for form in FORMS:
        answer = client.get(f"/v1/jobs/{job}/options", params={"format": form})
        assert answer.status_code == 200, form
        kind = "application/json" if form == "json" else "text/plain; charset=utf-8"
        assert answer.headers["content-type"] == kind, form
        names.add(answer.headers["content-disposition"].partition('filename="')[2].rstrip('"'))
        assert best(TRIGGER) in answer.text and TRIGGER in answer.text, form
    assert names == {
        "OPTIONS.ini", "OPTIONS.string.txt", "OPTIONS.ceph.txt", "OPTIONS.flags.txt",
        "OPTIONS.json", "OPTIONS.setoptions.txt", "OPTIONS.md",
    }  # fmt: skip


def test_without_a_form_it_is_the_file_as_before(client: TestClient, job: int) -> None:
    path = f"/v1/jobs/{job}/options"
    assert client.get(path).text == client.get(path, params={"format": "ini"}).text
    assert client.get(path).text == proved().options


def test_an_unknown_form_is_refused_with_the_list(client: TestClient, job: int) -> None:
    answer = client.get(f"/v1/jobs/{job}/options", params={"format": "yaml"})
    assert answer.status_code == 422
    (error,) = require_problem(answer)["errors"]
    assert error["field"] == "format"
    assert all(form in error["problem"] for form in FORMS)


def test_where_there_is_no_file_there_is_no_form(client: TestClient, database: Engine) -> None:
    job = keep(database, unproven(proved()))
    answer = client.get(f"/v1/jobs/{job}/options", params={"format": "string"})
    assert answer.status_code == 404
    assert "nothing better" in require_problem(answer)["detail"]


def test_calls_and_json_tell_what_changes(client: TestClient, job: int) -> None:
    calls, found = (
        client.get(f"/v1/jobs/{job}/options", params={"format": form})
        for form in ("setoptions", "json")
    )
    assert f'{{"{TRIGGER}", "{best(TRIGGER)}"}}' in calls.text
    document = found.json()
    changes = {each["key"]: each for each in document["changes"]}
    assert changes[TRIGGER]["after"] == best(TRIGGER) != changes[TRIGGER]["before"]
    assert changes[TRIGGER]["apply"]["call"] == "SetOptions"
    assert proved().options is not None
    written = parse_options(proved().options or "")
    assert document["sections"][CF][TRIGGER] == written.get(CF, TRIGGER)
    told = {key for key, each in changes.items() if each["apply"] and each["apply"]["call"]}
    for key in told:
        assert json.dumps(key.partition(".")[0]) in calls.text or key in calls.text


def test_each_change_of_the_result_says_how_it_is_applied(client: TestClient, job: int) -> None:
    for row in client.get(f"/v1/jobs/{job}/result").json()["best"]["changes"]:
        assert row.keys() >= {"name", "baseline", "value", "reason", "rule", "gain"}
        assert row["apply"].keys() == {"call", "since", "acts"}
        assert (row["apply"]["call"] is None) or row["apply"]["since"]


def test_the_page_says_how_to_apply_it_and_links_the_forms(client: TestClient, job: int) -> None:
    page = see(client, f"/jobs/{job}/won").text
    part = unescape(page.partition('<section aria-labelledby="apply-title">')[2])
    part = part.partition("</section>")[0]
    calls = client.get(f"/v1/jobs/{job}/options", params={"format": "setoptions"}).text
    for line in calls.splitlines():
        assert line.removeprefix("// ") in part
    linked = set(re.findall(r"options\?format=(\w+)", part))
    assert linked == {*FORMS} - {"ini"}
    row = page.partition(f'<tr id="option-{TRIGGER}">')[2].partition("</tr>")[0]
    assert "SetOptions" in row and "immediately" in row
