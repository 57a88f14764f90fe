import re
import subprocess
from pathlib import Path

import pytest
from alembic import command
from alembic.autogenerate import compare_metadata
from alembic.config import Config
from alembic.migration import MigrationContext
from alembic.script import ScriptDirectory
from sqlalchemy import Engine, event, inspect

from db.connection.engine import reading, writing
from db.connection.migrate import HEAD, REVISION_TABLE, _alone, current, is_current, upgrade_tables
from db.jobs.job_queue import enqueue_job, queue_again
from db.jobs.job_store import JobStore
from db.schema.job_row import JobKind, JobState
from db.schema.tables import metadata
from sampler.common.errors import InputError
from tests.support.cli.launched import ROCKTUNE
from tests.support.db.revisions import move
from tests.support.db.writing_process import started


def config() -> Config:
    made = Config()
    made.set_main_option("script_location", "db:migrations")
    made.set_main_option("path_separator", "newline")
    return made


def table_names(engine: Engine) -> set[str]:
    with reading(engine) as connection:
        return set(inspect(connection).get_table_names())


def test_the_head_is_the_last_step():
    assert ScriptDirectory.from_config(config()).get_current_head() == HEAD


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


def test_the_migrations_make_the_tables_that_the_code_knows(database: Engine):
    with reading(database) as connection:
        context = MigrationContext.configure(
            connection,
            opts={
                "version_table": REVISION_TABLE,
                "compare_type": True,
                "compare_server_default": True,
            },
        )
        assert compare_metadata(context, metadata) == []


def test_a_step_can_be_undone(database: Engine):
    with writing(database) as connection:
        back = config()
        back.attributes["connection"] = connection
        command.downgrade(back, "base")
    assert table_names(database) == {REVISION_TABLE}
    upgrade_tables(database)
    assert is_current(database)


def test_jobs_of_before_tune_and_go_on(empty_database: Engine):
    move(empty_database, "0008")
    with writing(empty_database) as connection:
        connection.exec_driver_sql(
            "INSERT INTO job (created_at, updated_at, state, why, specification, "
            "specification_digest, lease_epoch) VALUES ('2026-01-01 00:00:00', "
            "'2026-01-01 00:00:00', 'cancelled', '', '{}', 'd', 0)"
        )
    upgrade_tables(empty_database)
    row = JobStore(empty_database).job(1)
    assert (row.kind, row.state) == (JobKind.TUNE, JobState.CANCELLED)
    assert queue_again(empty_database, 1, expected=[JobState.CANCELLED], why="")
    enqueue_job(empty_database, {}, "d", why="", kind=JobKind.COMPARE)
    move(empty_database, "0008")
    with reading(empty_database) as connection:  # an earlier version knows none of the others
        assert connection.exec_driver_sql("SELECT id FROM job").scalars().all() == [1]


def test_foreign_keys_are_enforced_after_an_upgrade(tmp_path: Path):
    from db.connection.engine import make_engine

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

    monkeypatch.setattr("alembic.op.create_index", stumble)
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


@pytest.mark.slow
def test_two_processes_may_upgrade_at_once(empty_database_url: str):
    with (
        started("upgrade", empty_database_url) as one,
        started("upgrade", empty_database_url) as two,
    ):
        for process in (one, two):
            assert process.stdout is not None
            assert process.stdout.readline() == "ready\n"
        for process in (one, two):
            assert process.stdin is not None
            process.stdin.write("go\n")
            process.stdin.flush()
        assert [one.wait(), two.wait()] == [0, 0]


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
    move(database, "0009")
    refused = subprocess.run([*asked, "--wait", "0"], capture_output=True, text=True)
    assert refused.returncode == 2
    assert re.fullmatch(
        r"rocktune: --wait: other services of Rocktune use the database \(\d connections\); "
        r"stop them, then run the command again; nothing was changed\n",
        refused.stderr,
    )
    assert current(database) == "0009"
    database.dispose()
    upgraded = subprocess.run([*asked, "--wait", "60"], capture_output=True, text=True)
    assert (upgraded.returncode, upgraded.stdout) == (0, "from 0009 to 0010\n"), upgraded.stderr
    assert current(database) == HEAD
