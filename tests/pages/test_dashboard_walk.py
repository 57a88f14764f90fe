"""The dashboard as a person uses it: a real server with its worker, db_bench and Chromium."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import expect

from tests.support.api.processes import Running, environment, rocktune
from tests.support.api.seen_page import SeenPage

pytestmark = pytest.mark.slow

# So small that a trial takes half a second.
WORKLOAD = """
name = "small"
help = "a moment of writing"
num = 10000
scale = 128
settle = "none"
timeout_seconds = 60
"""
# Half of its draws compress what the baseline stores as it is: that cannot but be proven.
SPACE = """
name = "codec"
[[parameter]]
name = "write_buffer_size"
low = "8MiB"
high = "32MiB"
[[parameter]]
name = "compression_type"
choices = ["none", "snappy"]
"""
BASELINE = """
[Version]
  rocksdb_version=7.8.3
  options_file_version=1.1
[DBOptions]
[CFOptions "default"]
  write_buffer_size=16777216
  compression=kNoCompression
[TableOptions/BlockBasedTable "default"]
"""


@pytest.fixture
def server(tmp_path: Path) -> Iterator[Running]:
    workloads = tmp_path / "workloads"
    workloads.mkdir()
    (workloads / "small.toml").write_text(WORKLOAD)
    env = environment(tmp_path, ROCKTUNE_WORKLOADS_DIR=str(workloads))
    database = f"--db={tmp_path / 'rocktune.db'}"
    with rocktune("serve", "--port=0", database, env=env, until="worker is ready") as server:
        yield server


@pytest.mark.db_bench
def test_submit_watch_to_the_end_read_the_rank_keep_the_file_and_clone(
    page: SeenPage, server: Running
) -> None:
    see, service = page.page, server.url
    page.open(f"{service}/login?token={server.token}")
    see.wait_for_url(f"{service}/")
    see.get_by_role("link", name="Submit one").click()
    see.get_by_label("Workload").select_option("small")
    see.get_by_label("Objective", exact=True).select_option("sa")
    see.get_by_label("Trials").fill("12")
    see.get_by_text("More settings").click()
    see.get_by_label("Strategy").select_option("random")
    see.get_by_label("Skip the reads after the proof").check()
    see.get_by_label("Baseline: the text of an OPTIONS file").fill(BASELINE)
    see.get_by_label("Your own parameter space").fill(SPACE)
    see.get_by_role("button", name="Submit").click()
    see.wait_for_url(f"{service}/jobs/1")

    # Without another touch the page follows: first figures, then plots, then what came of it.
    expect(see.locator("#latest tbody tr").first).to_be_visible()
    expect(see.locator("#metrics tbody tr")).not_to_have_count(0)
    page.await_plots()
    expect(see.locator("#chart-convergence .main-svg").first).to_be_visible()
    expect(see.locator("#standing .verdict")).to_be_visible(timeout=4 * 60_000)
    expect(see.locator("#standing")).to_contain_text("12 of 12")
    expect(see.locator("#environment")).to_contain_text("rocksdb")

    tabs = see.get_by_role("navigation", name="Pages of this job")
    tabs.get_by_role("link", name="Importance").click()
    ranked = see.locator("tr[id^=parameter-] th")
    expect(ranked.filter(has_text="compression_type")).to_be_visible()
    expect(ranked).to_have_count(2)
    tabs.get_by_role("link", name="Result").click()
    expect(see.locator("#option-compression")).to_contain_text("kSnappyCompression")
    with see.expect_download() as file:
        see.get_by_role("link", name="Download OPTIONS.ini").first.click()
    assert "compression=kSnappyCompression" in file.value.path().read_text()

    page.open(f"{service}/jobs/1")
    see.get_by_role("link", name="Clone job 1").click()
    see.get_by_label("Trials").fill("500")
    see.get_by_role("button", name="Submit the clone").click()
    see.wait_for_url(f"{service}/jobs/2")
    expect(see.locator("#standing")).to_contain_text("running")
    see.get_by_role("button", name="Cancel job 2").click()
    expect(see.locator("#standing")).to_contain_text("cancelled")
    expect(see.get_by_role("button", name="Resume job 2")).to_be_visible()
    see.get_by_role("link", name="Jobs", exact=True).click()
    expect(see.locator("tbody tr")).to_have_count(2)
    expect(see.locator("tbody")).to_contain_text("cancelled")
    expect(see.locator("tbody")).to_contain_text("done")
