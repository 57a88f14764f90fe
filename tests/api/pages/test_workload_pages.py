"""The pages of workloads as they are served: the table, one each, the form that sends one."""

import json
import tomllib
from html import unescape
from typing import Any

import pytest
from fastapi.testclient import TestClient

from sampler.common.documents import toml_text
from sampler.workload.workload_file import SHIPPED, load_workload, workload_document
from tests.support.api.browser import act, see
from tests.support.api.callers import send
from tests.support.api.sent_workload import BASELINE, PROFILE, SENT, WORKLOAD

pytestmark = pytest.mark.one_database

FORM = {
    "workload": toml_text(WORKLOAD),
    "profile": json.dumps(PROFILE),
    "baseline_options": BASELINE,
}


def words(page: Any) -> str:
    assert page.status_code == 200, page.text
    return unescape(page.text)


def test_what_the_form_holds_is_kept_and_has_a_page(client: TestClient) -> None:
    answer = act(client, "/workloads", **FORM)
    assert (answer.status_code, answer.headers["location"]) == (303, "/workloads/my-db")
    kept = client.get("/v1/workloads/my-db").json()
    client.delete("/v1/workloads/my-db")
    told = send(client, "/v1/workloads", SENT).json()
    assert {**kept, "uploaded_at": None} == {**told, "uploaded_at": None}
    assert '<a href="/workloads/my-db">my-db</a></th><td>uploaded</td><td>writing</td>' in words(
        see(client, "/workloads")
    )


def test_a_page_tells_the_figures_with_their_sources_and_what_is_not_known(
    client: TestClient,
) -> None:
    send(client, "/v1/workloads", SENT)
    page = see(client, "/workloads/my-db").text
    assert "<b>meta</b>" not in page and "&lt;b&gt;meta&lt;/b&gt;" in page
    for told in (
        '<th scope="row">key size</th><td>20 B</td><td class="word">LOG: 41 flushes '
        '<span class="dim">(counted)</span>',
        "<td>400.5 B, p50 380</td>",
        "<td>put 75%, get 25%</td>",
        '<th scope="row">puts that overwrite</th><td>50%</td>',
        "<td>1,234,567</td>",
        "<td>Snappy</td>",
        "L0 2 files 64 MiB",
        "RocksDB 7.8.3. Stalled: 1.5%.",
        "<li>the mix of reads: open it with statistics</li>",
        "ttl=86400",
    ):
        assert told in unescape(page), told
    assert "/home/me" not in page
    assert page.count('scope="row">gets that find a key') == 0, "what is not known has no row"


def test_the_file_of_each_is_its_document(client: TestClient) -> None:
    for name in SHIPPED:
        document = workload_document(load_workload(name))
        assert tomllib.loads(toml_text(document)) == document
        page = words(see(client, f"/workloads/{name}"))
        assert f'name = "{name}"' in page
        assert "Delete" not in page and f'href="/jobs/new?workload={name}"' in page


def test_tune_this_opens_the_form_with_it_chosen(client: TestClient) -> None:
    send(client, "/v1/workloads", SENT)
    assert 'href="/jobs/new?workload=my-db"' in see(client, "/workloads/my-db").text
    page = see(client, "/jobs/new?workload=my-db").text
    assert '<option value="my-db" selected>' in page
    assert '<option value="load-quick" selected>' in see(client, "/jobs/new").text


def test_what_is_wrong_stands_beside_its_field_and_nothing_is_lost(client: TestClient) -> None:
    for changed, name, said in (
        ({"workload": "name = "}, "workload", "is not TOML"),
        ({"workload": ""}, "workload", "is not a name"),
        ({"workload": 'name = "load"'}, "workload", "comes with the service"),
        ({"profile": "{"}, "profile", "is not valid JSON"),
        ({"profile": "[" * 100_000}, "profile", "is not valid JSON"),
        ({"profile": "{}"}, "profile", "write the families of the object"),
        ({"baseline_options": "none"}, "baseline_options", ""),
    ):
        sent = {**FORM, **changed}
        answer = act(client, "/workloads", **sent, replace="yes")
        assert answer.status_code in (409, 422)
        page = unescape(answer.text)
        beside = page.split(f'id="problem-{name}">')[1].split("</p>")[0]
        assert said in beside and f'<a href="#{name}">{beside.split("; ")[0]}' in page
        assert page.count('aria-invalid="true"') == 1 and "was not uploaded" in page
        assert f"{sent[name]}</textarea>" in page and 'value="yes" checked' in page
        assert "my-db" not in client.get("/v1/workloads").text


def test_another_of_the_name_is_taken_where_the_box_is_checked(client: TestClient) -> None:
    send(client, "/v1/workloads", SENT)
    other = toml_text({**WORKLOAD, "num": 200_000})
    refused = act(client, "/workloads", workload=other)
    assert refused.status_code == 409 and "is taken by another workload" in refused.text
    assert act(client, "/workloads", workload=other, replace="yes").status_code == 303
    assert client.get("/v1/workloads/my-db").json()["document"]["num"] == 200_000


def test_one_is_deleted_by_a_button(client: TestClient) -> None:
    send(client, "/v1/workloads", SENT)
    assert 'action="/workloads/my-db/delete"' in see(client, "/workloads/my-db").text
    answer = act(client, "/workloads/my-db/delete")
    assert (answer.status_code, answer.headers["location"]) == (303, "/workloads")
    for path in ("/workloads/my-db", "/workloads/nope"):
        gone = see(client, path)
        assert gone.status_code == 404 and "there is no workload" in gone.text
    assert act(client, "/workloads/load/delete").status_code == 409
