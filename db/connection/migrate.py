"""Bringing a database's tables up to date."""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING

from sqlalchemy import Connection, Engine, inspect
from sqlalchemy.exc import OperationalError, ProgrammingError

from db.connection.engine import FIELD, reading, shown_url
from db.schema.tables import metadata
from sampler.common.errors import InputError

if TYPE_CHECKING:
    from alembic.config import Config

HEAD = "0010"  # a test compares it with the last file in db/migrations/versions
REVISION_TABLE = "rocktune_revision"  # not Alembic's own name: a server may be shared
_LOCK = 0x726F636B74756E65  # "rocktune": PostgreSQL's advisory locks are known by number


def current(engine: Engine) -> str | None:
    """The revision of the database's tables; None when it has none. One cheap query."""
    try:
        with reading(engine) as connection:
            return _revision(connection)
    except (OperationalError, ProgrammingError):
        with reading(engine) as connection:
            if inspect(connection).has_table(REVISION_TABLE):
                raise
        return None


def is_current(engine: Engine) -> bool:
    """Whether the tables are those that this Rocktune knows."""
    return current(engine) == HEAD


def is_empty(engine: Engine) -> bool:
    """Whether the database has no table at all, of whomever."""
    with reading(engine) as connection:
        return not inspect(connection).get_table_names()


def count_others(engine: Engine) -> int:
    """How many connections other processes of Rocktune have to a server's database; 0 of a file.

    A service or a worker keeps at least one open.
    """
    if engine.dialect.name != "postgresql":
        return 0
    with reading(engine) as connection:
        count = connection.exec_driver_sql(
            "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() "
            "AND application_name = 'rocktune' AND pid <> pg_backend_pid()"
        )
        return int(count.scalar_one())


def upgrade_tables(engine: Engine) -> Path | None:
    """Makes or changes the tables as needed, in one transaction, one process at a time.

    Returns:
        The copy of a SQLite file as it was before its tables were changed, beside it; None where
        nothing was changed, the file was new, or the database is a server's.

    Raises:
        InputError: The tables are those of a newer Rocktune, of one older than the last release,
            or of something else; or the file cannot be copied.
    """
    if is_current(engine):
        return None
    # Alembic takes longer to load than a whole trial takes to write.
    from alembic import command
    from alembic.script import ScriptDirectory

    with _alone(engine) as connection:
        present = inspect(connection)
        found = _revision(connection) if present.has_table(REVISION_TABLE) else None
        if found == HEAD:
            return None  # another process was faster
        config = _config(connection)
        steps = ScriptDirectory.from_config(config).walk_revisions()
        if found is not None and found not in {step.revision for step in steps}:
            age, fix = "a newer", "update Rocktune"
            if found < HEAD:  # its steps are no longer there
                age, fix = "too old a", "upgrade it with an earlier release first"
            problem = f"{shown_url(engine.url)} was written by {age} Rocktune (revision {found})"
            raise InputError(FIELD, f"{problem}; {fix}, or name another database")
        taken = sorted(set(metadata.tables).intersection(present.get_table_names()))
        if found is None and taken:
            problem = f"{shown_url(engine.url)} has another program's tables: {', '.join(taken)}"
            raise InputError(FIELD, f"{problem}; name another database")
        copy = None
        if found is not None and engine.dialect.name == "sqlite":
            copy = copy_file(Path(str(engine.url.database)), found)
        try:
            if found is None:
                metadata.create_all(connection)
                command.stamp(config, "head")
            else:
                command.upgrade(config, "head")
        except BaseException:
            if copy is not None:  # the file is as it was
                with suppress(OSError):
                    copy.unlink()
            raise
        return copy


def copy_file(path: Path, revision: str) -> Path:
    """Copies what is committed in a SQLite file to a new file beside it, by SQLite's own backup.

    The caller keeps other writers out. The copy has the mode of the file, and its name tells the
    revision; an earlier copy is never replaced. It has its name only once it is whole.

    Raises:
        InputError: It cannot be written.
    """
    part = path.with_name(f"{path.name}.revision-{revision}.part")
    try:
        part.unlink(missing_ok=True)
        descriptor = os.open(part, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, 0o600)
        try:
            with closing(sqlite3.connect(path)) as source, closing(sqlite3.connect(part)) as copy:
                source.backup(copy)
            os.fchmod(descriptor, path.stat().st_mode & 0o777)
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
        names = (f"-{number}" if number else "" for number in count())
        free = (path.with_name(f"{path.name}.revision-{revision}{each}.bak") for each in names)
        return part.rename(next(each for each in free if not os.path.lexists(each)))
    except (OSError, sqlite3.Error) as error:
        with suppress(OSError):
            part.unlink(missing_ok=True)
        reason = getattr(error, "strerror", None) or error
        problem = f"cannot back up {path} before the upgrade ({reason})"
        raise InputError(FIELD, f"{problem}; free space in its folder, or move it") from None


def require_current(engine: Engine, *, can_migrate: bool = False) -> None:
    """Refuses a database whose tables are not of this version.

    ``can_migrate``: whether the command has the option ``--migrate``, which is then named.

    Raises:
        InputError: They are missing, older or newer; the message tells the mend.
    """
    found = current(engine)
    if found != HEAD:
        problem = f"has tables of revision {found}; this Rocktune needs {HEAD}"
        mend = "run `rocktune db upgrade`" + (", or add --migrate" if can_migrate else "")
        if found is None:
            problem = "has no Rocktune tables"
        elif found > HEAD:
            mend = "update Rocktune"
        else:
            mend += "; then update all services that use it to this version, too"
        raise InputError(FIELD, f"{shown_url(engine.url)} {problem}; {mend}")


def _revision(connection: Connection) -> str | None:
    question = f"SELECT version_num FROM {REVISION_TABLE}"  # nosec B608
    found = connection.exec_driver_sql(question).scalar()
    return None if found is None else str(found)


def _config(connection: Connection) -> Config:
    from alembic.config import Config

    config = Config()
    config.set_main_option("script_location", "db:migrations")
    config.set_main_option("path_separator", "newline")
    config.attributes["connection"] = connection
    return config


@contextmanager
def _alone(engine: Engine) -> Iterator[Connection]:
    """A transaction that no other upgrade runs beside."""
    with engine.connect() as connection:
        if engine.dialect.name == "postgresql":
            with connection.begin():
                # Changing a table of a million trials takes longer than any page may.
                connection.exec_driver_sql("SET LOCAL statement_timeout = 0")
                # Whoever comes while another process changes it waits until it is done; but for
                # a table no longer than any other, or all the pages would wait behind it.
                connection.exec_driver_sql("SET LOCAL lock_timeout = 0")
                connection.exec_driver_sql(f"SELECT pg_advisory_xact_lock({_LOCK})")
                connection.exec_driver_sql("SET LOCAL lock_timeout TO DEFAULT")
                yield connection
            return
        # A step that copies a table drops the old one, and with foreign keys enforced the rows
        # that refer to it would go too. The switch works only outside a transaction.
        driver = connection.connection.cursor()
        driver.execute("PRAGMA foreign_keys = OFF")
        try:
            with connection.begin():  # BEGIN IMMEDIATE
                yield connection
        finally:
            driver.execute("PRAGMA foreign_keys = ON")
            driver.close()
