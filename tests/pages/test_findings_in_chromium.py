"""What a job has found, in a real browser: read the rank, set a preference, keep the file."""

import re
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from playwright.sync_api import Locator, expect

from api.app import make_app
from db.access.tokens import Role, make_token
from db.connection.engine import make_engine
from db.connection.migrate import upgrade_tables
from db.leases import see_host
from db.schema.job_row import JobState
from jobs.results.outcome import JobOutcome
from sampler.workload.metric_table import READS
from tests.support.api.callers import admin
from tests.support.api.real_server import serving
from tests.support.api.seen_page import SeenPage
from tests.support.api.sent_workload import SENT
from tests.support.api.stored_job import keep, proved, unproven
from tests.support.api.watched_nights import kept_nights, nights_that_turn_worse
from tests.support.jobs.host_jobs import host_baselines, keep_host_jobs, keep_set_aside
from tests.support.jobs.recorded_nights import Planted, recorded_nights

pytestmark = pytest.mark.slow

PATHS = (
    "/jobs/1/matters", "/jobs/1/won", "/jobs/1/trials", "/jobs/2/won", "/compare", "/hosts",
    "/compare?jobs=1,2", "/schedules", "/nights/nightly", "/nights/nightly?parameter=block_size",
    "/workloads", "/workloads/my-db", "/jobs/1", "/batches", "/batches?name=nightly",
    "/nights", "/nights/nightly/triage", "/webhooks",
)  # fmt: skip
SCHEDULE = {
    "name": "nightly", "cron": "30 2 * * *", "time_zone": "UTC",
    "batch": {"workloads": ["load-quick"], "spaces": ["default"]},
}  # fmt: skip


def with_reads(finished: JobOutcome) -> JobOutcome:
    """The same job, whose proof has measured all that one can."""
    names = (*READS, "memory", "peak_rss")
    levels = dict.fromkeys(names, 52_340.0)
    change = {"percent": -12.3, "low": -34.5, "high": 23.4, "p": 0.4}
    changes = dict.fromkeys(names, change)
    verdict, baseline = finished.result["verdict"], finished.result["baseline"]
    measured = {
        "metrics": {**verdict["metrics"], **levels}, "change": {**verdict["change"], **changes},
    }  # fmt: skip
    level = {**baseline, "metrics": {**baseline["metrics"], **levels}}
    told = {"verdict": {**verdict, **measured}, "baseline": level}
    return replace(finished, result={**finished.result, **told})


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[str, str]]:
    """A server's URL and a token.

    Job 1 has proven something better, job 2 has not, job 3 is job 1 with reads and memory; the
    others are of the nights of a batch.
    """
    engine = make_engine(tmp_path_factory.mktemp("found") / "rocktune.db")
    upgrade_tables(engine)
    finished = proved()
    keep(engine, finished)
    keep(engine, unproven(finished, why="the interval holds 0", low=-40.0, high=64.0))
    keep(engine, with_reads(finished))
    see_host(engine, finished.result["hosts"][0]["name"], {"cpu": "one", "cores": 2}, None)
    app = make_app(engine)
    with admin(app) as client:
        client.post("/v1/workloads", json=SENT)
        client.post("/v1/schedules", json=SCHEDULE)
        client.post("/v1/schedules/nightly/run")
        client.post("/v1/webhooks", json={"url": "https://chat.example.com/hooks/abc"})
        client.post("/v1/webhooks/1/test")
    _, runs = recorded_nights(Planted(counters={"compact.write.bytes": 2.0}))
    kept_nights(engine, nights_that_turn_worse(), runs)
    slower = Planted(since=14, metrics={"machine_speed": 0.8})
    keep_host_jobs(engine, host_baselines(slower))
    keep_set_aside(engine, "its baseline's time jumped by +80%", state=JobState.RUNNING)
    token = make_token(engine, "reader", Role.ADMIN)
    with serving(app) as url:
        yield url, token
    engine.dispose()


@pytest.fixture
def found(page: SeenPage, server: tuple[str, str]) -> str:
    """The URL; the page is logged in there."""
    page.log_in(*server)
    return server[0]


def seen(page: SeenPage, url: str) -> None:
    """Opens a page and waits until all of it is there."""
    page.open(url)
    expect(page.page.locator("[aria-busy]")).to_have_count(0)


def test_pages_fit_a_phone_and_hinder_no_reader(page: SeenPage, found: str) -> None:
    page.without_plots()
    for path in PATHS:
        page.size(360, 740)
        seen(page, found + path)
        assert not page.overflows(), path
        page.size(1100)
        assert page.hindrances_in_any_light() == [], path


def test_from_the_rank_to_the_file(page: SeenPage, found: str) -> None:
    page.open(f"{found}/jobs/1")
    tabs = page.page.get_by_role("navigation", name="Pages of this job")
    tabs.get_by_role("link", name="Importance").click()
    expect(page.page.get_by_role("heading", name="The strongest pairs")).to_be_visible()
    first = proved().result["parameters"][0]["name"]
    assert page.page.locator("tr[id^=parameter-] th").first.inner_text().startswith(first)
    tabs.get_by_role("link", name="Result").click()
    changed = page.page.locator("#option-level0_file_num_compaction_trigger")
    changed.get_by_role("link").click()
    expect(page.page.locator("#parameter-level0_file_num_compaction_trigger")).to_be_in_viewport()
    page.page.go_back()
    with page.page.expect_download() as file:
        page.page.get_by_role("link", name="Download OPTIONS.ini").first.click()
    assert file.value.suggested_filename == "OPTIONS.ini"
    assert file.value.path().read_text() == proved().options


def test_the_first_screen_holds_the_verdict_the_trade_the_changes_and_the_file(
    page: SeenPage, found: str
) -> None:
    def bottom(place: Locator) -> float:
        box = place.bounding_box()
        return box["y"] + box["height"]

    for path in ("/jobs/1", "/jobs/1/won", "/jobs/3"):
        page.size(1280, 800)
        seen(page, found + path)
        first = page.page.get_by_role("region", name="Result", exact=True)
        download = first.get_by_role("link", name="Download OPTIONS.ini")
        parts = [first.locator(".verdict"), download, first.locator("tbody tr").last,
                 first.locator(".changed").first.locator("li").last]  # fmt: skip
        assert [bottom(part) for part in parts if bottom(part) > 800] == [], path
        page.size(390, 844)
        assert bottom(first.locator(".verdict")) < 844 and bottom(download) < 844, path


def test_a_slider_is_moved_by_keyboard_and_picks_anew(page: SeenPage, found: str) -> None:
    page.open(f"{found}/jobs/1/won")
    shown = page.page.locator("#picked")
    expect(shown).to_be_hidden()
    for metric in ("sa", "time", "rate"):
        page.page.get_by_label(metric, exact=True).focus()
        page.page.keyboard.press("Home")
    expect(page.page.locator("#picked-command")).to_have_text("rocktune pick 1 --weights waf=1")
    expect(shown).to_be_visible()
    expect(page.page.get_by_role("status")).to_contain_text("is the best of")
    picked = shown.locator("tbody th a").all_inner_texts()
    page.page.get_by_role("button", name="Show").click()
    page.page.goto(f"{found}/jobs/1/won?weight-waf=1")
    assert shown.locator("tbody th a").all_inner_texts() == picked, "the same without the script"
    page.page.get_by_label("waf", exact=True).press("Home")
    expect(page.page.get_by_role("status")).to_contain_text("Every weight is 0")
    with page.page.expect_download() as file:
        page.page.goto(f"{found}/jobs/1/won?weight-waf=1")
        page.page.get_by_role("button", name="Download the OPTIONS file").click()
    assert "explored, not proven" in file.value.path().read_text().lower()


def test_a_workload_is_sent_out_of_files_and_tuned(
    page: SeenPage, found: str, tmp_path: Path
) -> None:
    (tmp_path / "mine.toml").write_text('name = "of-a-file"\nnum = 100_000\n[flags]\ndb = "x"\n')
    page.open(f"{found}/workloads")
    field = page.page.get_by_label("Workload: its TOML", exact=True)
    chosen = page.page.get_by_label("Workload: its TOML, from a file")
    chosen.set_input_files(tmp_path / "mine.toml")
    expect(field).to_have_value(re.compile("of-a-file"))
    page.page.get_by_role("button", name="Upload").click()
    expect(page.page.get_by_role("alert")).to_contain_text("workload.flags.db: may name a file")
    expect(field).to_have_attribute("aria-invalid", "true")
    assert page.hindrances() == []
    page.wrong.clear()  # the status of the refused form
    field.fill('name = "of-a-file"\nnum = 100_000\n')
    page.page.get_by_role("button", name="Upload").click()
    expect(page.page.locator("h1")).to_have_text("Workload of-a-file")
    page.page.get_by_role("link", name="Tune this").click()
    expect(page.page.get_by_label("Workload", exact=True)).to_have_value("of-a-file")
    page.open(f"{found}/workloads/of-a-file")
    page.page.get_by_role("button", name="Delete").click()
    expect(page.page.locator("h1")).to_have_text("Workloads")
    expect(page.page.get_by_role("link", name="of-a-file")).to_have_count(0)
