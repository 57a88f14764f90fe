import re
import subprocess
from pathlib import Path

import pytest
from alembic.script import ScriptDirectory
from sqlalchemy import Engine, event, inspect

from db.connection.engine import make_engine, reading, writing
from db.connection.migrate import HEAD, REVISION_TABLE, _alone, current, is_current, upgrade_tables
from db.jobs.job_queue import queue_again
from db.jobs.job_store import JobStore
from db.leases import acquire, this_process_name
from db.schema.job_row import JobKind, JobState
from db.schema.tables import metadata
from db.trials.trial_log import StoredTrialLog
from sampler.common.errors import InputError
from tests.support.cli.launched import ROCKTUNE
from tests.support.db.revisions import RELEASED, as_released
from tests.support.db.threads import at_once
from tests.support.db.writing_process import ended_trial, proposed_trial


def table_names(engine: Engine) -> set[str]:
    with reading(engine) as connection:
        return set(inspect(connection).get_table_names())


def test_the_head_is_the_last_step():
    assert ScriptDirectory("db/migrations").get_current_head() == HEAD


def test_an_empty_database_is_brought_up_to_date(empty_database: Engine):
    assert current(empty_database) is None
    assert not is_current(empty_database)
    upgrade_tables(empty_database)
    assert current(empty_database) == HEAD
    assert is_current(empty_database)
    assert table_names(empty_database) == {*metadata.tables, REVISION_TABLE}


def test_one_that_is_up_to_date_costs_one_query(database: Engine):
    statements: list[str] = []
    event.listen(database, "before_cursor_execute", lambda *seen: statements.append(seen[2]))
    upgrade_tables(database)
    assert [sql for sql in statements if sql != "BEGIN"] == [
        f"SELECT version_num FROM {REVISION_TABLE}"
    ]


def test_rows_of_the_last_release_stay_and_go_on(database: Engine):
    store = JobStore(database)
    job_id = store.create_job({"name": "kept"}, "d")
    log = StoredTrialLog(database, acquire(database, job_id, this_process_name()))
    log.propose(proposed_trial(1))
    log.finish(ended_trial(1))
    log.remember("ranking", {"a": 1e23})
    store.set_state(job_id, JobState.CANCELLED)
    as_released(database)
    database.dispose()
    upgrade_tables(database)
    row = store.job(job_id)
    assert (row.kind, row.state) == (JobKind.TUNE, JobState.CANCELLED)
    assert row.specification == {"name": "kept"}
    assert store.trials(job_id) == [ended_trial(1)]
    assert store.recall(job_id, "ranking") == {"a": 1e23}
    assert queue_again(database, job_id, expected=[JobState.CANCELLED], why="")
    assert store.create_job({}, "d") == job_id + 1  # numbers go on where they were


def test_foreign_keys_are_enforced_after_an_upgrade(tmp_path: Path):
    engine = make_engine(tmp_path / "a.db")
    upgrade_tables(engine)
    with reading(engine) as connection:
        assert connection.exec_driver_sql("PRAGMA foreign_keys").scalar_one() == 1
    engine.dispose()


def test_an_upgrade_that_fails_leaves_nothing(
    empty_database: Engine, monkeypatch: pytest.MonkeyPatch
):
    def stumble(*_: object, **__: object) -> None:
        raise RuntimeError("stumbled")

    monkeypatch.setattr("alembic.command.stamp", stumble)
    with pytest.raises(RuntimeError, match="stumbled"):
        upgrade_tables(empty_database)
    assert table_names(empty_database) == set()
    monkeypatch.undo()
    upgrade_tables(empty_database)
    assert is_current(empty_database)


def test_a_database_of_a_newer_rocktune_is_refused(database: Engine):
    with writing(database) as connection:
        connection.exec_driver_sql(f"UPDATE {REVISION_TABLE} SET version_num = '9999'")
    assert current(database) == "9999"
    assert not is_current(database)
    with pytest.raises(InputError, match=r"db: .* newer Rocktune \(revision 9999\); update"):
        upgrade_tables(database)
    assert current(database) == "9999"


def test_a_database_of_before_the_last_release_is_refused(database: Engine):
    with writing(database) as connection:
        connection.exec_driver_sql(f"UPDATE {REVISION_TABLE} SET version_num = '0004'")
    with pytest.raises(InputError, match=r"too old a Rocktune \(revision 0004\); upgrade it with"):
        upgrade_tables(database)
    assert current(database) == "0004"


def test_tables_of_something_else_are_left_alone(empty_database: Engine):
    with writing(empty_database) as connection:
        connection.exec_driver_sql("CREATE TABLE job (theirs INTEGER)")
    with pytest.raises(InputError, match="has another program's tables: job"):
        upgrade_tables(empty_database)
    assert table_names(empty_database) == {"job"}


def test_two_may_upgrade_at_once(empty_database_url: str):
    def upgrade(url: str) -> None:
        engine = make_engine(url)
        upgrade_tables(engine)
        engine.dispose()

    assert at_once(upgrade, [empty_database_url] * 2) == [None, None]


def test_an_upgrade_waits_for_another_however_long_that_takes(database: Engine):
    if database.dialect.name != "postgresql":
        pytest.skip("SQLite has no timeout of its own for a lock")
    statements: list[str] = []
    event.listen(database, "before_cursor_execute", lambda *seen: statements.append(seen[2]))
    with _alone(database) as connection:
        assert connection.exec_driver_sql("SHOW lock_timeout").scalar() == "20s"
        assert connection.exec_driver_sql("SHOW statement_timeout").scalar() == "0"
    lock = next(n for n, sql in enumerate(statements) if "pg_advisory_xact_lock" in sql)
    assert statements[lock - 1] == "SET LOCAL lock_timeout = 0"


@pytest.mark.slow
@pytest.mark.parametrize("database_url", ["postgresql"], indirect=True)
def test_an_upgrade_that_waits_leaves_the_tables_of_services_that_run(
    database_url: str, database: Engine
) -> None:
    """``db upgrade --wait``, as compose.yaml runs it, beside a connection of an old service."""
    asked = [ROCKTUNE, "db", "upgrade", "--db", database_url]
    now = subprocess.run([*asked, "--wait", "0"], capture_output=True, text=True)
    assert (now.returncode, now.stderr) == (0, ""), "nothing is to be changed"
    as_released(database)
    refused = subprocess.run([*asked, "--wait", "0"], capture_output=True, text=True)
    assert refused.returncode == 2
    assert re.fullmatch(
        r"rocktune: --wait: other services of Rocktune use the database \(\d connections\); "
        r"stop them, then run the command again; nothing was changed\n",
        refused.stderr,
    )
    assert current(database) == RELEASED
    database.dispose()
    upgraded = subprocess.run([*asked, "--wait", "60"], capture_output=True, text=True)
    assert (upgraded.returncode, upgraded.stdout) == (0, f"from {RELEASED} to {HEAD}\n"), (
        upgraded.stderr
    )
    assert current(database) == HEAD
