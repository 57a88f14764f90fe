"""Pictures of the dashboard over real jobs: each page light, dark and narrow.

    make dashboard-pictures

Jobs 1 and 2 are those of docs/results/limits, put back from their archives; job 3 is the first
again, cut off after a hundred trials and gone on with by the server's own worker while its picture
is taken. The nights of the batch are made up, for nobody has measured 24 nights: they are
``tests/support/api/watched_nights.py``. db_bench, Chromium and pngquant must be installed.
"""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import httpx2
from playwright.sync_api import expect, sync_playwright
from sqlalchemy import Engine

from db.access.tokens import Role, make_token
from db.connection.engine import make_engine
from db.connection.migrate import upgrade_tables
from db.jobs.job_store import JobStore
from jobs.archive import read_archive, restore_archive, restore_archived
from jobs.execution.assembly import assemble
from jobs.execution.run_job import run_job
from jobs.results.outcome import JobOutcome
from jobs.specification.specification import specification_from_document
from optimizer.run.ports import Unwatched
from sampler.bench.settings import Settings
from studies.pictures.report import smaller
from tests.support import ROOT
from tests.support.api.processes import environment, rocktune
from tests.support.api.seen_page import FLAGS, PROGRAM, SeenPage, seen_page
from tests.support.api.watched_nights import kept_nights, nights_that_turn_worse

ARCHIVES = ROOT / "docs" / "results" / "limits"
_CUT = 100
_HEIGHT = 1800  # a picture shows no more of a page
_PAGES = {
    "jobs": "/",
    "new-job": "/jobs/new",
    "live": "/jobs/3",
    "job": "/jobs/1",
    "matters": "/jobs/1/matters",
    "won": "/jobs/1/won",
    "trials": "/jobs/1/trials",
    "compare": "/compare?jobs=1,2",
    "hosts": "/hosts",
    "schedules": "/schedules",
    "interface": "/docs",
}
_LOG_IN = {"log-in": "/login"}
_NIGHTS = {"nights": "/nights/nightly", "batches": "/batches"}
_LOOKS = {"light": (1100, False), "dark": (1100, True), "narrow": (390, False)}
_SCHEDULE = {
    "name": "nightly", "cron": "30 2 * * *", "time_zone": "Europe/Berlin",
    "batch": {"workloads": ["load-quick", "mixed-quick"], "spaces": ["default"]},
}  # fmt: skip


def concluded(engine: Engine, archive: Path, folder: Path) -> JobOutcome:
    """Puts a job back into a database and concludes it; nothing is measured."""
    settings = Settings(bench_dir=folder / "bench", lock=folder / "lock", free_bytes=0)
    job_id = restore_archive(engine, archive).job_id
    specification = specification_from_document(JobStore(engine).job(job_id).specification)
    assembly = assemble(specification, settings)
    return run_job(engine, job_id, specification, assembly, settings, progress=Unwatched())


def stock(engine: Engine, folder: Path) -> None:
    """Puts the jobs into a database; the first two are concluded."""
    for name in ("load-quick", "mixed-quick"):
        concluded(engine, ARCHIVES / f"{name}.jsonl.gz", folder)
    whole = read_archive(ARCHIVES / "load-quick.jsonl.gz")
    restore_archived(engine, replace(whole, trials=whole.trials[:_CUT]))


def take(
    page: SeenPage, url: str, folder: Path, pages: Mapping[str, str], *, tallest: int = _HEIGHT
) -> None:
    """Writes a file for each page and look, of its first ``tallest`` pixels."""
    for name, path in pages.items():
        for look, (width, dark) in _LOOKS.items():
            page.size(width, 900, dark=dark)
            page.open(url + path)
            expect(page.page.locator("[aria-busy]")).to_have_count(0)
            if name == "live":
                page.await_plots()
            expect(page.page.locator("figure .plot:not(.js-plotly-plot)")).to_have_count(0)
            assert page.hindrances() == []
            assert not page.overflows()
            tall = page.page.evaluate("document.documentElement.scrollHeight")
            clip = {"x": 0, "y": 0, "width": width, "height": min(tall, tallest)}
            picture = page.page.screenshot(full_page=True, clip=clip)  # type: ignore[arg-type]
            (folder / f"{name}-{look}.png").write_bytes(smaller(picture))


def main(folder: str) -> None:
    """Writes them."""
    out = Path(folder)
    out.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as made:
        own = Path(made)
        database = own / "rocktune.db"
        engine = make_engine(database)
        upgrade_tables(engine)
        stock(engine, own)
        token = make_token(engine, "somebody", Role.ADMIN)
        named = {"Authorization": f"Bearer {token}"}
        env = environment(own)
        with (
            rocktune("serve", "--port=0", f"--db={database}", env=env, until="worker is ready")
            as server,
            httpx2.Client(base_url=server.url, headers=named) as client,
            sync_playwright() as playwright,
        ):  # fmt: skip
            client.post("/v1/schedules", json=_SCHEDULE).raise_for_status()
            client.post("/v1/jobs/3/resume").raise_for_status()
            browser = playwright.chromium.launch(executable_path=PROGRAM, args=FLAGS)
            # To take a picture Playwright adds a style, which the pages' policy would refuse.
            with seen_page(browser, bypass_csp=True) as page:
                take(page, server.url, out, _LOG_IN)
                page.log_in(server.url, token)
                take(page, server.url, out, _PAGES)
                kept_nights(engine, nights_that_turn_worse())
                take(page, server.url, out, _NIGHTS)
            browser.close()
            client.post("/v1/jobs/3/cancel")
        engine.dispose()


if __name__ == "__main__":
    main(*sys.argv[1:])
