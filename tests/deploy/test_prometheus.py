"""The files of ``deploy/prometheus``, with Debian's Prometheus and its promtool."""

import re
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import httpx2
import pytest
import yaml
from prometheus_client import generate_latest
from sqlalchemy import update

from api.routes.health import REQUEST_SECONDS, REQUESTS, registry_of
from db.connection.engine import make_engine, writing
from db.connection.migrate import upgrade_tables
from db.leases import see_host
from db.nightly.batches import add_schedule, read_batches
from db.schema.tables import batch, job
from jobs.regression.detection import regressions_of_batch
from tests.support import ROOT, unused_port
from tests.support.api.real_server import real_server
from tests.support.api.watched_nights import (
    keep_watch,
    kept_nights,
    nights_that_turn_worse,
    nights_up_to_the_finding,
)
from tests.support.cluster.command_lines import DEPLOY
from tests.support.jobs.service_desk import wait_until

ALERTS = DEPLOY / "prometheus/alerts.yml"
CONFIGURATION = DEPLOY / "prometheus/prometheus.yml"
UNIT_TESTS = ROOT / "tests/data/prometheus/alerts_test.yml"
INSTALLED = "/etc/prometheus/rocktune-alerts.yml"
TOKEN = "/etc/prometheus/rocktune-token"
RULES = yaml.safe_load(ALERTS.read_text())["groups"][0]["rules"]
prometheus = pytest.mark.prometheus


def promtool(*words: object, given: bytes = b"") -> str:
    """What it says, where it finds nothing wrong."""
    ran = subprocess.run(
        ["promtool", *map(str, words)], input=given, stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT, check=False,
    )  # fmt: skip
    said = ran.stdout.decode()
    assert ran.returncode == 0, said
    return said


@pytest.fixture(scope="module")
def exposed(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """What a service tells, each metric with a value at least: promtool looks at no other."""
    engine = make_engine(tmp_path_factory.mktemp("exposed") / "rocktune.db")
    upgrade_tables(engine)
    kept_nights(engine, nights_that_turn_worse()[:2])
    (newest,) = read_batches(engine, limit=1)
    keep_watch(engine, newest.id, {"worsened": False})
    see_host(engine, "bench-1", {}, None)
    at = datetime(2026, 11, 1, tzinfo=UTC)
    add_schedule(engine, name="nightly", cron="30 2 * * *", time_zone="UTC", missed="late",
                 document={}, next_at=at)  # fmt: skip
    runs = {"state": "running",
            "standing": {"counts": {}, "bench_seconds": 9.0, "between_seconds": 0.1}}  # fmt: skip
    with writing(engine) as connection:
        connection.execute(update(job).where(job.c.batch_id == newest.id).values(runs))
    REQUESTS.labels("GET", "/v1/jobs", "200").inc()
    REQUEST_SECONDS.labels("/v1/jobs").observe(0.01)
    yield generate_latest(registry_of(engine)).decode()
    engine.dispose()


@prometheus
def test_metrics_are_named_as_the_conventions_say(exposed: str) -> None:
    assert promtool("check", "metrics", given=exposed.encode()) == ""
    spoilt = exposed.replace("rocktune_bench_seconds", "rocktune_bench_milliseconds_total")
    with pytest.raises(AssertionError, match="rocktune_bench_milliseconds_total"):
        promtool("check", "metrics", given=spoilt.encode())


def test_an_alert_asks_for_what_there_is(exposed: str) -> None:
    asked = set(re.findall(r"\brocktune_\w+", " ".join(rule["expr"] for rule in RULES)))
    there = set(re.findall(r"^# TYPE (\w+) ", exposed, re.MULTILINE))
    assert asked <= there and len(asked) > 7


def test_the_page_lists_every_metric_and_every_alert(exposed: str) -> None:
    page = (ROOT / "docs/how-to/deploy.md").read_text().partition("\n## Prometheus\n")[2]
    tables = re.findall(r"^\| (`.*?) \|", page.partition("\n## ")[0], re.MULTILINE)
    listed = {name for row in tables for name in re.findall(r"`(\w+)`", row)}
    told = {name for name in re.findall(r"^# TYPE (\w+) ", exposed, re.MULTILINE)
            if not name.endswith("_created")}  # fmt: skip
    valued = set(re.findall(r"^(\w+?)(?:_bucket|_sum|_count)?[ {]", exposed, re.MULTILINE))
    assert told <= valued
    assert listed == told | {rule["alert"] for rule in RULES}


@prometheus
def test_alerts_fire_where_they_must_and_nowhere_else() -> None:
    assert f"{len(RULES)} rules found" in promtool("check", "rules", ALERTS)
    assert "SUCCESS" in promtool("test", "rules", UNIT_TESTS)


def test_each_alert_is_tried_where_it_fires_and_where_it_does_not() -> None:
    tried = [
        each for test in yaml.safe_load(UNIT_TESTS.read_text())["tests"]
        for each in test["alert_rule_test"]
    ]  # fmt: skip
    names = {rule["alert"] for rule in RULES}
    assert {each["alertname"] for each in tried if each.get("exp_alerts")} == names
    assert {each["alertname"] for each in tried if not each.get("exp_alerts")} == names


@contextmanager
def running_prometheus(url: str, folder: Path) -> Iterator[str]:
    """The shipped configuration, run as it is but for places and for how often it looks."""
    text = CONFIGURATION.read_text()
    for shown, here in {
        INSTALLED: str(ALERTS),
        TOKEN: str(folder / "token"),
        "127.0.0.1:8080": url.removeprefix("http://"),
        "15s": "1s",
    }.items():
        assert shown in text, shown
        text = text.replace(shown, here)
    (folder / "prometheus.yml").write_text(text)
    promtool("check", "config", folder / "prometheus.yml")
    address = f"127.0.0.1:{unused_port()}"
    command = [
        "prometheus", f"--config.file={folder / 'prometheus.yml'}",
        f"--storage.tsdb.path={folder / 'data'}", f"--web.listen-address={address}",
    ]  # fmt: skip
    with (folder / "prometheus.log").open("w") as log:
        process = subprocess.Popen(command, cwd=folder, stdout=log, stderr=log)
    try:
        yield f"http://{address}"
    finally:
        process.terminate()
        process.wait(30)


def asked(url: str, path: str) -> Any:
    """What Prometheus answers, or nothing as long as it does not listen."""
    try:
        answer = httpx2.get(f"{url}/api/v1/{path}", timeout=60)
    except httpx2.ConnectError:
        return None
    return answer.json()["data"] if answer.status_code == 200 else None


@prometheus
@pytest.mark.slow
def test_prometheus_asks_a_service_and_tells_of_a_regression(tmp_path: Path) -> None:
    database = tmp_path / "rocktune.db"
    engine = make_engine(database)
    upgrade_tables(engine)
    kept_nights(engine, nights_up_to_the_finding())
    watch = regressions_of_batch(engine, "nightly")
    assert watch is not None and watch.worsened
    newest = watch.nights[-1].batch_id
    keep_watch(engine, newest, watch.document())
    with writing(engine) as connection:
        just_now = update(batch).where(batch.c.id == newest).values(ended_at=datetime.now(UTC))
        connection.execute(just_now)
    engine.dispose()
    with real_server(database, tmp_path) as url, running_prometheus(url, tmp_path) as at:

        def target() -> dict[str, Any] | None:
            (each,) = (asked(at, "targets") or {}).get("activeTargets") or [{}]
            return each if each.get("health", "unknown") != "unknown" else None

        assert wait_until(target, seconds=30, what="the service is asked")["lastError"] == ""

        def fires() -> list[dict[str, Any]] | None:
            alerts = (asked(at, "alerts") or {}).get("alerts")
            return [each for each in alerts or () if each["state"] == "firing"] or None

        (alert,) = wait_until(fires, seconds=30, what="an alert fires")
    assert alert["labels"] == {
        "alertname": "RocktuneRegression", "batch": "nightly", "severity": "critical",
    }  # fmt: skip
    assert "batch nightly shows a regression" in alert["annotations"]["summary"]
