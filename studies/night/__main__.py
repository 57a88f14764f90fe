"""A night from cron to chat, with real parts: `make prove-night`. Half an hour, alone, as root.

Two bench hosts in network namespaces measure over TLS for a service on PostgreSQL, whose schedule
begins a batch every minute. After some nights the hosts get a newer RocksDB, in a wrapper that
stops it for half of the time. Then the regression must reach a chat, the pages and the triage, a
CI (`rocktune check` over a copy of the database), and the command that the triage gives must find
it, too. What came of it is kept beside the page; ``--page`` only writes the page again.
"""

from __future__ import annotations

import argparse
import json
import shlex
import sys
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from playwright.sync_api import sync_playwright

from sampler.bench.settings import load_settings
from sampler.machine.machine import fingerprint
from studies.night.page import write_page, wrong
from studies.night.scene import BATCH, Scene, scene, slowed
from studies.pictures.dashboard import take
from tests.support import ROOT
from tests.support.api.seen_page import FLAGS, PROGRAM, seen_page
from tests.support.cluster.netns_hosts import why_impossible
from tests.support.jobs.junit import read_junit

OUT = ROOT / "docs" / "results" / "night"
OLD = Path("/usr/bin/db_bench")
NEW = load_settings().build_dir.expanduser() / "9.10.0" / "db_bench"
FOUND, GONE = "regression_found", "regression_gone"
SETTINGS: dict[str, Any] = {"workloads": ["load-quick"], "spaces": ["default"], "trials": 16}
_MOST = 8  # nights in which it must be found


def main(arguments: Sequence[str] | None = None) -> None:
    """Measures, and writes the page."""
    given = _parser().parse_args(arguments)
    kept = OUT / "night.json"
    if not given.page:
        if reason := why_impossible():
            sys.exit(reason)
        OUT.mkdir(parents=True, exist_ok=True)
        kept.write_text(json.dumps(_proven(given), indent=1, sort_keys=True) + "\n")
    found = json.loads(kept.read_text())
    print(write_page(OUT.with_suffix(".md"), found))
    if problems := wrong(found):
        sys.exit("\n".join(problems))


def _proven(given: argparse.Namespace) -> dict[str, Any]:
    """What came of all steps, each as the product itself told it."""
    began = datetime.now(UTC)
    with tempfile.TemporaryDirectory(prefix="night-") as temporary:
        folder = Path(temporary)
        with scene(folder, given.old) as made:
            asked = {"url": made.receiver.url, "events": [FOUND, GONE]}
            made.call("POST", "/v1/webhooks", json=asked)
            made.every_minute(SETTINGS)
            made.await_nights(given.before)
            made.no_more()
            before = made.nights()[-1]
            copy = made.copied("ci")
            new = slowed(given.new, folder)
            made.measure_with(new)
            made.every_minute(SETTINGS)
            message, triage = _await_findings(made)
            made.no_more()
            nights = made.nights()
            _take(made, triage["night"]["batch"])
            made.worker.stop(seconds=60)
            found = {
                "at": began.isoformat(),
                "machine": _machine(),
                "settings": SETTINGS,
                "last_before": before["id"],
                "first_after": next(n["id"] for n in nights if n["id"] > before["id"]),
                "nights": [{name: night[name] for name in ("id", "created_at", "ended_at")}
                           for night in nights],
                "message": message,
                "triage": triage,
                "check": _checked(made, copy),
                "again": _measured_again(made, triage["items"][0]["command"]),
            }  # fmt: skip
            # Where the parts stood for an hour is nobody's business.
            plain: dict[str, Any] = json.loads(json.dumps(found).replace(temporary, "FOLDER"))
            return plain


def _machine() -> Mapping[str, Any]:
    found = fingerprint(Path(tempfile.gettempdir()))
    return {name: found[name] for name in ("cpu", "cores", "system", "python")}


def _await_findings(made: Scene) -> tuple[dict[str, Any], dict[str, Any]]:
    """What the chat is told first, and the triage of the night in which TIME was found, too.

    Write amplification scatters less, and is found some nights earlier.
    """
    first, triage = len(made.nights()) + 1, None
    for count in range(first, first + _MOST):
        made.await_nights(count)
        told = [each for each in made.receiver.messages if each["event"] == FOUND]
        if told:
            triage = made.call("GET", f"/v1/nights/{BATCH}/triage")
            if "time" in {each["metric"] for each in triage["moved"]}:
                break
    if triage is None:
        raise AssertionError(f"the chat was told of no regression in {_MOST} nights")
    return told[0], triage


def _take(made: Scene, night: int) -> None:
    """Pictures of the nights and the triage, each light, dark and narrow."""
    pages = {"nights": "/nights", "batch": f"/nights/{BATCH}",
             "triage": f"/nights/{BATCH}/triage?night={night}"}  # fmt: skip
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=PROGRAM, args=FLAGS)
        with seen_page(browser, bypass_csp=True) as page:
            page.log_in(made.url, made.token)
            take(page, made.url, OUT, pages, tallest=4000)
        browser.close()


def _checked(made: Scene, db: str) -> list[dict[str, Any]]:
    """Nights of `rocktune check` over a copy of the database, until one ends with 3."""
    file = made.folder / "nightly.toml"
    lines = [f"{name} = {json.dumps(value)}" for name, value in SETTINGS.items()]
    file.write_text("\n".join([f'name = "{BATCH}"', *lines, ""]))
    junit, summary = made.folder / "junit.xml", made.folder / "summary.md"
    reports = ("--junit", junit, "--markdown", summary, "--out", made.folder / "found")
    found: list[dict[str, Any]] = []
    while not found or (found[-1]["status"] != 3 and len(found) < _MOST):
        done = made.run("check", file, "--db", db, *made.cluster.joining, *reports)
        if done.returncode not in (0, 3):
            raise AssertionError(f"check ended with {done.returncode}: {done.stderr[-2000:]}")
        suites = {
            suite: {name: asdict(case) for name, case in cases.items()}
            for suite, cases in read_junit(junit.read_text()).items()
        }
        told = {"status": done.returncode, "junit": suites, "summary": summary.read_text()}
        found.append(told)
        print(f"check ended with {done.returncode}", flush=True)
    return found


def _measured_again(made: Scene, command: str) -> dict[str, Any]:
    """The triage's own command, run as it stands."""
    program, *arguments = shlex.split(command)
    if program != "rocktune":
        raise AssertionError(f"the triage gives no command of ours: {command}")
    done = made.run(*arguments)
    said = done.stdout[-6000:] + (done.stderr[-2000:] if done.returncode not in (0, 3) else "")
    return {"command": command, "status": done.returncode, "said": said}


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(description="A night from cron to chat.")
    parser.add_argument("--old", type=Path, default=OLD, help="the first build")
    parser.add_argument("--new", type=Path, default=NEW, help="the build that is slowed down")
    parser.add_argument("--before", type=int, default=8, help="nights before the new build")
    parser.add_argument("--page", action="store_true", help="measure nothing, write the page")
    return parser


if __name__ == "__main__":
    main()
