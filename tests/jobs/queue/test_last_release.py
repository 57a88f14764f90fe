"""A database of the last release, whose queue was DBOS: opened, shown, gone on with, compared."""

import gzip
import json
import sqlite3
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import psycopg
import pytest
from alembic.autogenerate import compare_metadata
from alembic.migration import MigrationContext
from sqlalchemy import Engine
from sqlalchemy.exc import DBAPIError

from cli.main import main
from db.access.tokens import list_tokens
from db.connection import migrate
from db.connection.engine import make_engine, reading
from db.connection.migrate import HEAD, current, require_current, upgrade_tables
from db.jobs.job_store import JobStore
from db.leases import take_lead
from db.nightly.nights import nights_of_batch
from db.schema.job_row import JobState
from db.schema.tables import metadata
from jobs import worker
from jobs.regression.detection import detect_regressions
from sampler.bench.outcome import TrialState
from sampler.bench.settings import Settings
from sampler.common.errors import InputError
from tests.support.jobs.worker_scene import Scene, at_work

DATA = Path(__file__).parents[2] / "data" / "last_release"
LAST = "0005"
FINISHED, NIGHTS, INTERRUPTED, QUEUED = 1, (2, 3), 4, 5
ELSEWHERE = "elsewhere:another-boot:1:4711:99"


@pytest.fixture
def url(empty_database_url: str) -> Iterator[str]:
    on_file = empty_database_url.startswith("sqlite")
    name = "sqlite" if on_file else "postgresql"
    text = gzip.decompress((DATA / f"{name}.sql.gz").read_bytes()).decode()
    if on_file:
        connection = sqlite3.connect(empty_database_url.removeprefix("sqlite:///"))
        connection.executescript(text)
        connection.close()
        yield empty_database_url
        return
    with psycopg.connect(empty_database_url, autocommit=True) as connection:
        connection.execute(text.encode())
    yield empty_database_url
    with psycopg.connect(empty_database_url, autocommit=True) as connection:
        connection.execute("DROP SCHEMA dbos CASCADE")


@pytest.fixture
def engine(url: str) -> Iterator[Engine]:
    made = make_engine(url)
    yield made
    made.dispose()


@pytest.fixture
def scene(engine: Engine, url: str, tmp_path: Path, settings: Settings) -> Scene:
    upgrade_tables(engine)
    return Scene(engine, url, tmp_path, settings)


def said(capsys: pytest.CaptureFixture[str], *arguments: object) -> str:
    assert main([str(each) for each in arguments]) == 0
    return capsys.readouterr().out


def left_by_dbos(engine: Engine) -> list[Any]:
    schema = "" if engine.dialect.name == "sqlite" else "dbos."
    with engine.connect() as connection:
        return list(
            connection.exec_driver_sql(
                f"SELECT workflow_uuid, status FROM {schema}workflow_status ORDER BY 1"
            )
        )


def test_its_tables_become_those_that_the_code_knows(scene: Scene):
    """The library of its queue kept tables of its own, which are left as they are."""

    def ours(_: object, name: str | None, kind: str, _reflected: bool, _other: object) -> bool:
        return kind != "table" or name in metadata.tables

    opts = {"compare_type": True, "compare_server_default": True, "include_object": ours}
    with reading(scene.engine) as connection:
        context = MigrationContext.configure(connection, opts=opts)
        assert compare_metadata(context, metadata) == []


@pytest.mark.slow
def test_its_jobs_are_shown(scene: Scene, capsys: pytest.CaptureFixture[str]):
    listed = json.loads(said(capsys, "jobs", "--json", "--db", scene.url))["jobs"]
    assert {each["id"]: each["state"] for each in listed} == {
        FINISHED: "done", NIGHTS[0]: "done", NIGHTS[1]: "done", INTERRUPTED: "running",
        QUEUED: "queued",
    }  # fmt: skip
    shown = json.loads(said(capsys, "show", FINISHED, "--json", "--db", scene.url))
    assert (shown["state"], shown["done"]) == ("done", 40)
    ranked = json.loads(said(capsys, "parameters", FINISHED, "--json", "--db", scene.url))
    assert ranked["parameters"][0]["name"] == "write_buffer_size"
    assert {(each.name, each.revoked_at is None) for each in list_tokens(scene.engine)} == {
        ("ci", True), ("gone", False),
    }  # fmt: skip


def test_the_options_file_of_the_finished_one_is_exported(
    scene: Scene, capsys: pytest.CaptureFixture[str]
):
    text = said(capsys, "options", FINISHED, "--db", scene.url)
    result = scene.store.result(FINISHED)
    size = result["best"]["configuration"]["write_buffer_size"]
    assert f"write_buffer_size={size}" in text


def test_its_nights_are_compared(scene: Scene, capsys: pytest.CaptureFixture[str]):
    kept = nights_of_batch(scene.engine, "every-night")
    assert [night.items["quick"].job_id for night in kept] == list(NIGHTS)
    document = detect_regressions(kept).document()
    text = said(capsys, "nights", "every-night", "--db", scene.url)
    assert [night["batch"] for night in document["nights"]] == [1, 2]
    assert document["series"] == 3
    assert not document["worsened"]
    assert "2 nights" in text


def test_its_nights_are_triaged_and_its_hosts_are_shown(
    scene: Scene, capsys: pytest.CaptureFixture[str]
):
    text = said(capsys, "nights", "every-night", "--triage", "--db", scene.url)
    assert text == "every-night: no change of level found\n"
    (host,) = json.loads(said(capsys, "hosts", "--json", "--db", scene.url))
    assert host["environment"]["cores"] == 2 and host["excluded"] is None
    waf = next(each for each in host["series"] if each["metric"] == "waf")
    assert [each["job"] for each in waf["values"]]


@pytest.mark.slow
def test_what_was_queued_or_running_is_taken_up_once(scene: Scene):
    kept = left_by_dbos(scene.engine)
    assert [name for name, status in kept if status in ("PENDING", "ENQUEUED")] == [
        f"job-{INTERRUPTED}-1", f"job-{QUEUED}-1",
    ]  # fmt: skip
    before = {each.number: each for each in scene.store.trials(INTERRUPTED)}
    ended = [each for each in before.values() if each.has_outcome]
    (in_flight,) = [each for each in before.values() if not each.has_outcome]
    assert in_flight.state is TrialState.RUNNING
    with at_work(scene):
        scene.await_state(INTERRUPTED, JobState.DONE, seconds=60)
        scene.await_state(QUEUED, JobState.DONE, seconds=60)
    scene.check_done(INTERRUPTED, 20)
    scene.check_done(QUEUED, 14)
    trials = scene.store.trials(INTERRUPTED)
    assert [each for each in trials if each.number in {e.number for e in ended}] == ended
    again = {each.number: each.attempt for each in trials if each.attempt > 1}
    assert again == {in_flight.number: 2}
    assert {each.attempt for each in scene.store.trials(QUEUED)} == {1}
    assert [scene.row(job).run for job in (INTERRUPTED, QUEUED)] == [1, 1]
    assert left_by_dbos(scene.engine) == kept


def test_a_worker_of_the_last_release_finds_no_turn(scene: Scene):
    """It asks so before it begins a job and every five seconds while it runs one."""
    asked = (
        "UPDATE turn SET expires_at = expires_at WHERE name = 'bench'",
        "SELECT owner, epoch, expires_at FROM turn WHERE name = 'bench'",
        "INSERT INTO turn (name, owner, epoch, expires_at) VALUES ('bench', '', 1, '2030-01-01') "
        "ON CONFLICT DO NOTHING",
    )
    for statement in asked:
        with pytest.raises(DBAPIError, match="turn"):
            scene.execute(statement)


def test_the_last_release_refuses_to_start(scene: Scene, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(migrate, "HEAD", LAST)
    with pytest.raises(InputError, match=f"has tables of revision {HEAD}; this Rocktune needs"):
        require_current(scene.engine)


def test_a_worker_waits_for_the_lease_of_one_that_still_ends_its_trial(engine: Engine):
    assert current(engine) == LAST
    soon = datetime.now(UTC) + timedelta(seconds=15)
    shown = soon.replace(tzinfo=None) if engine.dialect.name == "sqlite" else soon
    with engine.begin() as connection:
        connection.exec_driver_sql(
            f"UPDATE turn SET owner = '{ELSEWHERE}', expires_at = '{shown}' WHERE name = 'bench'"
        )
    upgrade_tables(engine)
    assert take_lead(engine, worker.BENCH, "another") == ELSEWHERE
    assert JobStore(engine).job(INTERRUPTED).state is JobState.RUNNING
