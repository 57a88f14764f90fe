"""Pages over many jobs: side by side, hosts, schedules, and the nights of a batch."""

import re
from html import unescape

import pytest
from fastapi.testclient import TestClient
from sqlalchemy import Engine

from db.leases import see_host
from db.schema.job_row import JobState
from tests.support.api.browser import see
from tests.support.api.callers import EXTERNAL, submit
from tests.support.api.stored_job import keep, proved, unproven
from tests.support.api.watched_nights import kept_nights, nights_that_turn_worse
from tests.support.jobs.host_jobs import host_baselines, keep_host_jobs, keep_set_aside
from tests.support.jobs.recorded_nights import Planted, recorded_nights

pytestmark = pytest.mark.one_database

BATCH = {"workloads": ["load-quick"], "spaces": ["default"]}


@pytest.mark.slow
def test_jobs_are_compared_column_by_column(client: TestClient, database: Engine) -> None:
    one, other = keep(database, proved()), keep(database, unproven(proved(), low=-1.0, high=2.0))
    page = see(client, f"/compare?jobs={one},{other}")
    assert page.status_code == 200
    text = unescape(page.text)
    change = proved().result["verdict"]["change"]["waf"]
    assert text.count(f"{change['percent']:+.1f}%") >= 2
    assert re.search(r"fitness proven</th><td[^>]*><b>\d+</b></td><td[^>]*><b>nothing", text)
    assert "The jobs differ in" not in text
    first = proved().result["parameters"][0]["name"]
    assert f"/jobs/{other}/matters#parameter-{first}" in text
    external = submit(client, EXTERNAL)
    told = see(client, f"/compare?jobs=%23{one},+{external}").text
    assert "The jobs differ in workload, space, objective" in told and "not yet" in told
    choice = see(client, "/compare").text
    assert f'href="/compare?jobs={other},{one}"' in choice


def test_a_wrong_comparison_is_told(client: TestClient) -> None:
    for asked, problem in (
        ("1", "name 2 to 6 jobs"), ("1,2,3,4,5,6,7", "2 to 6 jobs"),
        ("1;2", "separated by commas"), ("1,x", "separated by commas"),
        ("-1,2", "separated by commas"), ("9" * 30 + ",1", "separated by commas"),
        ("7,8", "there is no job 7"), ("7&jobs=8", "there is no job 7"),
        ("7&jobs=x", "separated by commas"),
    ):  # fmt: skip
        page = see(client, f"/compare?jobs={asked}")
        assert page.status_code == 422 and problem in unescape(page.text)


def test_hosts_are_told_with_their_noise(client: TestClient, database: Engine) -> None:
    assert "No host yet" in see(client, "/hosts").text
    name = proved().result["hosts"][0]["name"]
    environment = {"cpu": "a <fast> one", "memory_bytes": 2**34, "governor": "performance",
                   "warnings": ["swaps"]}  # fmt: skip
    see_host(database, name, environment, None)
    see_host(database, "other", {}, 7)
    job_id = keep(database, proved())
    page = see(client, "/hosts").text
    row = page.partition(f'<tr id="host-{name}">')[2].partition("</tr>")[0]
    spread = proved().result["hosts"][0]["baseline"]["spread"]["waf"]
    assert f"waf {100 * spread:.1f}%" in row and f'href="/jobs/{job_id}"' in row
    assert "16 GiB" in row and "a &lt;fast&gt; one" in row
    assert "governor: performance" in row and "swaps" in row and "alive" in row
    assert 'href="/jobs/7"' in page.partition('<tr id="host-other">')[2]


def test_hosts_that_drift_and_that_are_excluded_are_told(
    client: TestClient, database: Engine
) -> None:
    planted = Planted(since=14, metrics={"machine_speed": 0.8})
    keep_host_jobs(database, host_baselines(planted), host="<b>odd</b>")
    see_host(database, "bench-1", {}, None)
    job_id = keep_set_aside(database, "it <jumped>", state=JobState.RUNNING)
    page = see(client, "/hosts").text
    assert "<b>odd" not in page and "it &lt;jumped&gt;" in page
    assert f'Excluded from <a href="/jobs/{job_id}">job {job_id}</a> since' in page
    assert re.search(r'class="warn">machine: machine_speed worse since .* -(19|2\d)', page)
    assert page.count("<svg") >= 6 and 'class="worse"' in page and " style=" not in page


def test_schedules_lead_to_their_nights(client: TestClient) -> None:
    assert "No schedule yet" in see(client, "/schedules").text
    asked = {"name": "nightly", "cron": "30 2 * * *", "time_zone": "UTC", "batch": BATCH}
    assert client.post("/v1/schedules", json=asked).status_code == 201
    page = see(client, "/schedules").text
    row = page.partition('<tr id="schedule-nightly">')[2].partition("</tr>")[0]
    assert "30 2 * * *" in row and "none yet" in row and "load-quick" in row
    assert 'href="/nights/nightly"' in row
    assert client.post("/v1/schedules/nightly/run").status_code == 201
    page = see(client, "/schedules").text
    assert "Newest batches" in page
    assert "No night has ended yet" in see(client, "/nights/nightly").text
    assert see(client, "/nights/weekly").status_code == 404


def test_the_nights_of_a_batch_are_watched(client: TestClient, database: Engine) -> None:
    kept_nights(database, nights_that_turn_worse())
    page = see(client, "/nights/nightly").text
    assert "since 2026-11-17" in page and "WAF of the default" in page and "worse" in page
    assert page.count('class="plot"') >= 2 and " style=" not in page
    shown = see(client, "/nights/nightly?item=load/default&parameter=block_size").text
    history = shown.partition("The value is from")[2]
    assert len(re.findall(r"[12] of 1</td>", history)) == 24
    assert history.count(">16384 (16 KiB)</td>") == history.count(">4096 (4 KiB)</td>") == 1
    assert history.count("nothing proven") == 23 and "25.0%" in history
    unknown = see(client, "/nights/nightly?parameter=luck").text
    assert unknown.count('<td class="n">-</td>') >= 24


def test_all_nights_are_a_row_a_series_with_the_way_to_the_triage(
    client: TestClient, database: Engine
) -> None:
    assert "No night has ended yet" in see(client, "/nights").text
    planted = Planted(metrics={"waf": 1.4}, counters={"compact.write.bytes": 2.0},
                      environment={"kernel": "6.<6>"})  # fmt: skip
    kept_nights(database, *recorded_nights(planted))
    page = see(client, "/nights").text
    rows = re.findall(r"<tr><th scope=\"row\".*?</tr>", page, re.DOTALL)
    assert len(rows) == page.count("<svg") == 4
    (worse,) = [row for row in rows if 'class="state worse"' in row]
    assert "WAF of the default" in worse
    assert re.search(r"since 2026-11-17: \+(3[789]|4\d)", worse)
    assert 'href="/nights/nightly/triage?night=17"' in worse
    assert "no change in 24 nights" in page and 'class="state better"' not in page
    assert 'href="/nights/nightly/triage"' in see(client, "/nights/nightly").text
    triage = see(client, "/nights/nightly/triage?night=17").text
    assert triage == see(client, "/nights/nightly/triage").text
    assert (
        "6.&lt;6&gt;" in triage and "the same build" in triage and "does not show that" in triage
    )
    assert re.search(r"compact.write.bytes</th>.*?\+\d+\.\d%</td><td>apart", triage)
    assert 'href="/jobs/17"' in triage and " style=" not in triage
    assert see(client, "/nights/nightly/triage?night=3").status_code == 422
    assert see(client, "/nights/weekly/triage").status_code == 404


def test_a_batch_without_a_change_has_an_empty_triage(client: TestClient) -> None:
    client.post("/v1/schedules", json={"name": "nightly", "cron": "30 2 * * *", "batch": BATCH})
    client.post("/v1/schedules/nightly/run")
    assert "No change of level so far" in see(client, "/nights/nightly/triage").text
