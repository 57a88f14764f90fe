import os
import socket
import traceback
from pathlib import Path

import psycopg
import pytest
from sqlalchemy import Engine, func, literal, select
from sqlalchemy.engine import make_url

from db.connection.engine import make_engine, moment_of, reading, writing
from db.connection.migrate import upgrade_tables
from db.jobs.job_store import JobStore
from sampler.common.errors import InputError
from tests.support.db.threads import at_once


def refusal(given: str | Path) -> str:
    with pytest.raises(InputError) as refused:
        make_engine(given)
    assert refused.value.field == "db"
    assert "\n" not in str(refused.value)
    # What a log would show, causes included, holds no password either.
    assert "secret" not in "".join(traceback.format_exception(refused.value))
    return str(refused.value)


class TestFiles:
    def test_a_file_is_made_with_its_folder(self, tmp_path: Path):
        path = tmp_path / "new" / "folder" / "100% mine.db"
        engine = make_engine(path)
        upgrade_tables(engine)
        assert JobStore(engine).create_job({}, "d") == 1
        engine.dispose()
        assert path.is_file()

    @pytest.mark.parametrize("umask", [0o000, 0o022, 0o777])
    def test_a_new_file_and_what_stands_beside_it_are_its_owners_alone(
        self, tmp_path: Path, umask: int
    ):
        before = os.umask(umask)
        try:
            engine = make_engine(tmp_path / "a.db")
            upgrade_tables(engine)
        finally:
            os.umask(before)
        with writing(engine) as connection:
            connection.exec_driver_sql("DELETE FROM job")
            modes = {each.name: each.stat().st_mode & 0o777 for each in tmp_path.iterdir()}
        engine.dispose()
        assert modes == {"a.db": 0o600, "a.db-wal": 0o600, "a.db-shm": 0o600}

    def test_a_file_that_is_there_keeps_its_mode(self, tmp_path: Path):
        path = tmp_path / "a.db"
        path.touch()
        path.chmod(0o640)
        engine = make_engine(path)
        upgrade_tables(engine)
        engine.dispose()
        assert path.stat().st_mode & 0o777 == 0o640

    def test_the_connection_is_safe_to_share(self, tmp_path: Path):
        engine = make_engine(tmp_path / "a.db")
        with reading(engine) as connection:
            found = {
                name: connection.exec_driver_sql(f"PRAGMA {name}").scalar_one()
                for name in ("journal_mode", "synchronous", "foreign_keys", "busy_timeout")
            }
        engine.dispose()
        assert found == {
            "journal_mode": "wal",
            "synchronous": 1,
            "foreign_keys": 1,
            "busy_timeout": 30_000,
        }

    def test_a_new_file_may_be_opened_by_many_at_once(self, tmp_path: Path):
        for number in range(10):
            opened = at_once(
                lambda path: make_engine(path).dispose(), [tmp_path / f"{number}.db"] * 8
            )
            assert opened == [None] * 8

    def test_a_file_that_is_no_database(self, tmp_path: Path):
        path = tmp_path / "notes.txt"
        path.write_text("these are notes, not a database" * 100)
        before = path.read_bytes()
        assert "file is not a database" in refusal(path)
        assert path.read_bytes() == before

    def test_a_folder(self, tmp_path: Path):
        assert "is a folder" in refusal(tmp_path)

    def test_a_folder_that_cannot_be_made(self, tmp_path: Path):
        (tmp_path / "file").write_text("")
        folder = tmp_path / "file" / "under"
        assert f"cannot create the folder {folder} (Not a directory)" in refusal(folder / "x.db")

    def test_a_folder_that_cannot_be_written(self):
        assert "unable to open database file" in refusal("/proc/rocktune.db")

    def test_a_file_that_another_program_holds(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ):
        monkeypatch.setattr("db.connection.engine.BUSY_SECONDS", 0)
        engine = make_engine(tmp_path / "a.db")
        with writing(engine):
            assert "another program has locked it" in refusal(tmp_path / "a.db")
        engine.dispose()


class TestServers:
    def test_one_that_does_not_answer(self):
        message = refusal("postgresql://ann:secret@127.0.0.1:1/tuning?sslpassword=secret")
        assert "postgresql://ann@127.0.0.1:1/tuning" in message
        assert "refused" in message

    def test_one_whose_name_is_unknown(self):
        assert "cannot use" in refusal("postgresql://ann:secret@nowhere.invalid/tuning")

    @pytest.mark.parametrize("empty_database_url", ["postgresql"], indirect=True)
    def test_one_that_refuses_the_user(self, empty_database_url: str):
        url = make_url(empty_database_url).set(username="nobody-known", password="secret")
        assert "authentication failed" in refusal(url.render_as_string(False))

    @pytest.mark.parametrize("empty_database_url", ["postgresql"], indirect=True)
    @pytest.mark.parametrize("asked", [None, 7_000], ids=["ours", "the user's own"])
    def test_silence_has_a_limit_though_what_was_sent_is_not_acknowledged(
        self, asked: int | None, empty_database_url: str
    ):
        url = make_url(empty_database_url)
        if asked is not None:
            url = url.update_query_dict({"tcp_user_timeout": str(asked)})
        engine = make_engine(url.render_as_string(False))
        with engine.connect() as connection:
            driver = connection.connection.dbapi_connection
            assert isinstance(driver, psycopg.Connection)
            with socket.socket(fileno=os.dup(driver.fileno())) as used:
                limit = used.getsockopt(socket.IPPROTO_TCP, socket.TCP_USER_TIMEOUT)
        engine.dispose()
        assert limit == (asked or 25_000)

    @pytest.mark.parametrize("empty_database_url", ["postgresql"], indirect=True)
    def test_one_that_stores_another_encoding(self, empty_database_url: str):
        engine = make_engine(empty_database_url)
        with engine.connect().execution_options(isolation_level="AUTOCOMMIT") as connection:
            connection.exec_driver_sql(
                "CREATE DATABASE latin ENCODING 'LATIN1' LC_COLLATE 'C' LC_CTYPE 'C' "
                "TEMPLATE template0"
            )
        url = make_url(empty_database_url).set(database="latin")
        try:
            assert "encoded in LATIN1" in refusal(url.render_as_string(False))
        finally:
            with engine.connect().execution_options(isolation_level="AUTOCOMMIT") as connection:
                connection.exec_driver_sql("DROP DATABASE latin")
            engine.dispose()


class TestTransactions:
    def test_a_reader_sees_one_moment_and_holds_up_no_writer(self, database: Engine):
        store = JobStore(database)
        with reading(database) as connection:
            count = "SELECT count(*) FROM job"
            before = connection.exec_driver_sql(count).scalar_one()
            store.create_job({}, "d")
            after = connection.exec_driver_sql(count).scalar_one()
        assert before == 0
        # PostgreSQL gives each statement its own moment; the rows of one statement agree.
        assert after == (0 if database.dialect.name == "sqlite" else 1)

    def test_an_exception_undoes_everything(self, database: Engine):
        def half() -> None:
            with writing(database) as connection:
                connection.exec_driver_sql("DELETE FROM job")
                raise RuntimeError("halfway")

        JobStore(database).create_job({}, "d")
        with pytest.raises(RuntimeError, match="halfway"):
            half()
        assert len(JobStore(database).jobs()) == 1

    def test_however_often_its_moment_stands_in_a_statement_it_is_one(self, database: Engine):
        rows = select(literal(1).label("number")).cte("rows", recursive=True)
        rows = rows.union_all(select(rows.c.number + 1).where(rows.c.number < 20_000))
        times = select(
            func.count(func.distinct(moment_of(database))), func.count(rows.c.number)
        ).select_from(rows)
        with reading(database) as connection:
            assert connection.execute(times).one() == (1, 20_000)
