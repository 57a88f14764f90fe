"""Page weight and time to first view of jobs of 12, 1,000 and 100,000 trials.

Run with ``make prove-pages ARGS="--trials 12,1000,100000 --visits 5"``, alone on the machine. A
real server process on SQLite answers a headless Chromium on the same machine.
"""

from __future__ import annotations

import argparse
import tempfile
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path

from playwright.sync_api import sync_playwright

from benchmarks.page_views.long_job import job_of
from benchmarks.page_views.views import View, view
from benchmarks.serve_load import served
from db.connection.engine import make_engine
from db.connection.migrate import upgrade_tables
from sampler.machine.machine import fingerprint
from studies.study import counts, make_command

_PROGRAM = "/usr/bin/chromium"
_FLAGS = ["--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage"]
_PAGES = {
    "jobs": "/",
    "a job, live": "/jobs/{job}",
    "importance": "/jobs/{job}/matters",
    "result": "/jobs/{job}/won",
    "trials": "/jobs/{job}/trials",
}
_HEAD = (
    "| page | trials of the job | page, KiB | first visit, KiB | requests | again, KiB "
    "| server, ms | first view, ms | all drawn, ms | at the very first, ms |\n"
    "|---|--:|--:|--:|--:|--:|--:|--:|--:|--:|"
)


def main(arguments: Sequence[str] | None = None) -> None:
    """Measures, and writes the page."""
    given = _parser().parse_args(arguments)
    rows = []
    with tempfile.TemporaryDirectory(prefix="rocktune-pages-") as folder:
        url = f"sqlite:///{folder}/pages.db"
        engine = make_engine(url)
        upgrade_tables(engine)
        jobs = {trials: job_of(engine, trials) for trials in given.trials}
        engine.dispose()
        with served(url) as (port, token), sync_playwright() as playwright:
            browser = playwright.chromium.launch(executable_path=_PROGRAM, args=_FLAGS)
            version = browser.version
            for name, path in ((name, _PAGES[name]) for name in given.pages):
                for trials, job in jobs.items():
                    address = f"http://127.0.0.1:{port}{path.format(job=job)}"
                    seen = view(browser, address, token=token, visits=given.visits)
                    rows.append(_row(name, trials, seen))
                    print(rows[-1], flush=True)
            browser.close()
    command = make_command("prove-pages", arguments)
    given.out.write_text(_page(command, version, given.visits, rows), encoding="utf-8")


def _row(name: str, trials: int, seen: View) -> str:
    kib = [f"{each / 1024:,.0f}" for each in (seen.html, seen.first)]
    times = [f"{each:,.0f}" for each in (seen.server, seen.seen, seen.drawn, seen.cold)]
    cells = [
        name,
        f"{trials:,}",
        *kib,
        f"{seen.requests:.0f}",
        f"{seen.again / 1024:,.0f}",
        *times,
    ]
    return f"| {' | '.join(cells)} |"


def _page(command: str, chromium: str, visits: int, rows: Sequence[str]) -> str:
    machine = fingerprint(Path())
    return "\n".join(
        [
            "# Weight of the pages, and time to first view",
            "",
            f"`{command}`, {datetime.now(UTC):%Y-%m-%d}, {machine['cpu']}, {machine['cores']} "
            f"cores, {machine['system']}, SQLite, Chromium {chromium} on the same machine. "
            f"Medians of {visits} visits, each of a browser that knows nothing of the server "
            "(first), and once more (again): style, scripts and Plotly are then its own. First "
            "view is the first contentful paint. All drawn is when the last plot stood, by a look "
            "at the page every tenth of a second or so; the last column is that of the very "
            "first visit: of a job that has ended the server makes its plots once. Trials "
            "beyond 1,000 repeat the earlier ones with other figures.",
            "",
            _HEAD,
            *rows,
            "",
        ]
    )


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(description="Times the dashboard's pages in a browser.")
    parser.add_argument("--trials", type=counts, default=(12, 1000, 100_000))
    parser.add_argument("--visits", type=int, default=5)
    parser.add_argument("--pages", nargs="+", choices=_PAGES, default=list(_PAGES))
    parser.add_argument("--out", type=Path, default=Path("docs/results/page_views.md"))
    return parser


if __name__ == "__main__":
    main()
