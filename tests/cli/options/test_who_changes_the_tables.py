"""A server is shared: its tables are changed only when the user asks. A file is the user's own."""

from collections.abc import Callable
from pathlib import Path

import pytest
from sqlalchemy import Engine

from db.connection.engine import make_engine, writing
from db.connection.migrate import HEAD, current, upgrade_tables
from db.jobs.job_store import JobStore
from jobs.archive import write_archive
from tests.support.db.revisions import RELEASED as BEFORE
from tests.support.db.revisions import as_released

Here = Callable[..., int]
Capture = pytest.CaptureFixture[str]


@pytest.fixture
def old(database: Engine) -> Engine:
    """A database of the version before, with one job."""
    JobStore(database).create_job({}, "d")
    as_released(database)
    return database


@pytest.fixture(params=["tune", "batch", "restore"])
def changing(request: pytest.FixtureRequest, tmp_path: Path) -> tuple[object, ...]:
    """A command that writes to a database; after opening it, it fails for a reason of its own."""
    out = ("--out", tmp_path / "out")
    if request.param == "tune":
        return ("tune", "--db-bench", tmp_path / "none", *out)
    if request.param == "batch":
        file = tmp_path / "nightly.toml"
        text = f'name = "n"\nworkloads = ["load-quick"]\ndb_bench = "{tmp_path / "none"}"\n'
        file.write_text(text)
        return ("batch", file, *out)
    (tmp_path / "no.gz").write_text("not an archive")
    return ("db", "restore", tmp_path / "no.gz")


def url_of(engine: Engine) -> str:
    return engine.url.render_as_string(hide_password=False)


def is_server(engine: Engine) -> bool:
    return engine.dialect.name == "postgresql"


def test_an_old_server_is_refused_and_left_as_it_is(
    old: Engine, here: Here, capsys: Capture, changing: tuple[object, ...]
):
    if not is_server(old):
        pytest.skip("a file is brought up to date by itself")
    assert here(*changing, "--db", url_of(old)) == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert f"has tables of revision {BEFORE}; this Rocktune needs {HEAD}" in line
    assert "run `rocktune db upgrade`, or add --migrate; then update all services" in line
    assert current(old) == BEFORE


def test_with_migrate_a_server_is_brought_up_to_date(
    old: Engine, here: Here, changing: tuple[object, ...]
):
    assert here(*changing, "--db", url_of(old), "--migrate") == 2
    assert current(old) == HEAD
    assert JobStore(old).job(1).id == 1


def test_a_server_without_any_table_is_filled_unasked(
    empty_database: Engine, here: Here, changing: tuple[object, ...]
):
    assert here(*changing, "--db", url_of(empty_database)) == 2
    assert current(empty_database) == HEAD


def test_tables_of_others_are_joined_only_when_asked(
    empty_database: Engine, here: Here, capsys: Capture, changing: tuple[object, ...]
):
    if not is_server(empty_database):
        pytest.skip("a file is brought up to date by itself")
    with writing(empty_database) as connection:
        connection.exec_driver_sql("CREATE TABLE theirs (a INTEGER)")
    assert here(*changing, "--db", url_of(empty_database)) == 2
    assert "has no Rocktune tables; run `rocktune db upgrade`" in capsys.readouterr().err
    assert current(empty_database) is None


def test_an_old_file_is_copied_and_then_brought_up_to_date(
    tmp_path: Path, here: Here, capsys: Capture
):
    path = tmp_path / "mine.db"
    engine = make_engine(path)
    upgrade_tables(engine)
    JobStore(engine).create_job({"name": "kept"}, "d")
    as_released(engine)
    path.chmod(0o640)
    copy = tmp_path / f"mine.db.revision-{BEFORE}.bak"
    for again in (copy, tmp_path / f"mine.db.revision-{BEFORE}-1.bak"):
        assert here("db", "restore", tmp_path / "none.gz", "--db", path) == 2
        told = capsys.readouterr().err.splitlines()
        assert told[0] == f"rocktune: backup of the database before this update: {again}"
        assert current(engine) == HEAD
        as_released(engine)
    engine.dispose()
    assert copy.stat().st_mode & 0o777 == 0o640
    assert sorted(each.name for each in tmp_path.iterdir() if each.suffix == ".part") == []
    kept = make_engine(copy)
    assert current(kept) == BEFORE
    upgrade_tables(kept)
    assert JobStore(kept).job(1).specification == {"name": "kept"}
    kept.dispose()


def test_a_file_that_is_new_or_up_to_date_is_not_copied(tmp_path: Path):
    engine = make_engine(tmp_path / "new.db")
    assert upgrade_tables(engine) is None
    assert upgrade_tables(engine) is None
    engine.dispose()
    assert [each.name for each in tmp_path.iterdir() if "revision" in each.name] == []


def test_a_step_that_fails_leaves_no_copy(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    def stumble(*_: object, **__: object) -> None:
        raise RuntimeError("stumbled")

    engine = make_engine(tmp_path / "mine.db")
    upgrade_tables(engine)
    as_released(engine)
    monkeypatch.setattr("alembic.command.upgrade", stumble)
    with pytest.raises(RuntimeError, match="stumbled"):
        upgrade_tables(engine)
    assert current(engine) == BEFORE
    engine.dispose()
    assert [each.name for each in tmp_path.iterdir() if "revision" in each.name] == []


def test_archives_of_an_old_server_are_refused_too(
    old: Engine, here: Here, capsys: Capture, tmp_path: Path
):
    file = tmp_path / "job.gz"
    status = here("db", "archive", 1, file, "--db", url_of(old))
    if is_server(old):
        assert status == 2
        said = capsys.readouterr().err
        assert "run `rocktune db upgrade`; then update all services" in said
        assert current(old) == BEFORE
    else:
        assert status == 0
        write_archive(old, 1, tmp_path / "same.gz")
