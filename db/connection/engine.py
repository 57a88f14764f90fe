"""The database that ``--db`` names: its URL, engine, and transactions on SQLite and PostgreSQL."""

from __future__ import annotations

import errno
import os
import re
import shutil
import sqlite3
import time
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, suppress
from datetime import UTC, datetime
from enum import IntEnum
from pathlib import Path
from typing import TYPE_CHECKING, Any

from platformdirs import user_data_path
from pydantic_core import from_json  # three times as fast as json.loads, and as exact
from sqlalchemy import (
    ColumnElement,
    Connection,
    Delete,
    Engine,
    Select,
    Table,
    Update,
    create_engine,
    event,
    func,
    literal,
    select,
)
from sqlalchemy.dialects import sqlite
from sqlalchemy.engine import URL, make_url
from sqlalchemy.exc import ArgumentError, SQLAlchemyError

from db.schema.types import UtcDateTime
from sampler.common.errors import InputError

if TYPE_CHECKING:  # a process on SQLite does without it
    from sqlalchemy.dialects import postgresql


FIELD = "db"
_FORMS = "give a file, sqlite:///FILE or postgresql://USER:PASSWORD@HOST/NAME"


def default_database() -> Path:
    """The database file in the user's data folder."""
    return user_data_path("rocktune", appauthor=False) / "rocktune.db"


def url_of_database(given: str | Path | None) -> URL:
    """Reads ``--db``: a file, ``sqlite:///FILE``, ``postgresql://...``, or None for the default.

    Raises:
        InputError: It is none of these.
    """
    if given is None:
        return _file(default_database())
    text = str(given).strip()
    if re.match(r"(sqlite|postgres(ql)?)(\+\w+)?:(?!//)", text):
        raise InputError(FIELD, f"two slashes are missing after the colon; {_FORMS}")
    if "://" not in text:
        if text in ("", ":memory:"):
            raise InputError(FIELD, f"{text!r} does not name a file; {_FORMS}")
        return _file(Path(text))
    kind = text.partition("://")[0].partition("+")[0].lower()
    if kind not in ("sqlite", "postgresql", "postgres"):
        raise InputError(FIELD, f"{kind}:// is not supported; {_FORMS}")
    try:
        url = make_url(text)
    except (ArgumentError, ValueError):
        # Neither the text nor the parser's words are repeated: they may hold the password.
        raise InputError(FIELD, f"the URL cannot be read; {_FORMS}") from None
    if kind == "sqlite":
        if not url.database or url.database == ":memory:" or url.host or url.query:
            raise InputError(FIELD, f"sqlite:// takes only the path of a file; {_FORMS}")
        return _file(Path(url.database))
    if url.host and "@" in url.host:
        raise InputError(FIELD, "write @ in the password as %40")
    return url.set(drivername="postgresql+psycopg")


def _file(path: Path) -> URL:
    return URL.create("sqlite", database=str(path.expanduser().absolute()))


def shown_url(url: URL) -> str:
    """Names the database for people: never a password, nor a setting that could hold one."""
    if url.get_backend_name() == "sqlite":
        return str(url.database)
    user = f"{url.username}@" if url.username else ""
    port = f":{url.port}" if url.port else ""
    return f"postgresql://{user}{url.host or ''}{port}/{url.database or ''}"


def redacted(message: str, url: URL) -> str:
    """The first line of a driver's message, with every secret of the URL blotted out."""
    line = next((line.strip() for line in message.splitlines() if line.strip()), "no reason given")
    secrets = [url.password, *(url.query.get(name) for name in ("password", "sslpassword"))]
    for secret in secrets:
        for part in (secret,) if isinstance(secret, str) else secret or ():
            line = line.replace(part, "***") if part else line
    return line


_DISK_FULL = "53100"  # PostgreSQL
_NO_ROOM = (errno.ENOSPC, errno.EDQUOT)


def full_disk(error: BaseException, url: URL) -> str | None:
    """Which disk an error says is full, and what to do; None where it says something else.

    SQLite's errors, PostgreSQL's, and those of files beside the database.
    """
    if isinstance(error, OSError):
        if error.errno not in _NO_ROOM:
            return None
        return f"the disk of {error.filename or 'a file'} is full; free space on it"
    orig = getattr(error, "orig", error)
    if getattr(orig, "sqlstate", None) == _DISK_FULL:
        return f"the disk of the database server is full ({shown_url(url)}); free space on it"
    code = getattr(orig, "sqlite_errorcode", 0) & 0xFF  # the primary one
    path = Path(str(url.database))
    # A write-ahead log that cannot grow is told as an error of reading and writing.
    if code == sqlite3.SQLITE_FULL or (code == sqlite3.SQLITE_IOERR and _is_full(path.parent)):
        return f"the disk of the database {path} is full; free space on it"
    return None


def _is_full(folder: Path) -> bool:
    with suppress(OSError):
        return shutil.disk_usage(folder).free < 2**20
    return False


_CONNECT_SECONDS = 5
# A network that drops everything in silence is noticed within half a minute: keepalives ask while
# nothing is under way, and none is sent while what was sent is not acknowledged, which the last
# (milliseconds) bounds. A server that is stopped is no such silence: its kernel acknowledges all,
# so it is waited for until it goes on.
_SILENCE = {
    "keepalives_idle": 10,
    "keepalives_interval": 5,
    "keepalives_count": 3,
    "tcp_user_timeout": 25_000,
}
_POOL = 10  # connections of a process: as many as a small server can work for at once
# No page may make others wait for long, and a killed client's transaction must not hold locks.
_TIMEOUTS = {
    "statement_timeout": 30_000,
    "lock_timeout": 20_000,
    "idle_in_transaction_session_timeout": 60_000,
}


def make_engine(given: str | Path | None = None) -> Engine:
    """Opens a database and proves that it can be used; its tables may still be missing.

    See ``url_of_database`` for what may be given; the folder of a file is made.

    Raises:
        InputError: It cannot be used, and why. No password is ever in the message.
    """
    url = url_of_database(given)
    engine = _open_file(url) if url.get_backend_name() == "sqlite" else _open_server(url)
    try:
        _prove(engine)
    except BaseException:
        engine.dispose()
        raise
    return engine


def _open_file(url: URL) -> Engine:
    path = Path(str(url.database))
    if path.is_dir():
        raise InputError(FIELD, f"{path} is a folder; name a file in it")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        problem = f"cannot create the folder {path.parent} ({error.strerror}); name another file"
        raise InputError(FIELD, problem) from None
    _make_private(path)
    connect = {"timeout": BUSY_SECONDS}
    return arrange_sqlite(create_engine(url, connect_args=connect, json_deserializer=from_json))


def _make_private(path: Path) -> None:
    """Makes a new file that its owner alone may read, whatever the umask: it holds command lines.

    SQLite gives its ``-wal`` and ``-shm`` the mode of the file. One that is there keeps its own.
    """
    with suppress(OSError):  # it is there, or cannot be made: SQLite says why
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o600)
        os.fchmod(descriptor, 0o600)
        os.close(descriptor)


def _open_server(url: URL) -> Engine:
    settings: dict[str, str | int] = {
        "client_encoding": "utf8",
        "connect_timeout": _CONNECT_SECONDS,
        **_SILENCE,
        "application_name": "rocktune",
        "options": " ".join(f"-c {name}={ms}" for name, ms in _TIMEOUTS.items()),
    }
    return create_engine(
        url,
        # What the address says itself comes before.
        connect_args={name: each for name, each in settings.items() if name not in url.query},
        json_deserializer=from_json,
        # A controller lives for days: connections that a restarted server dropped are replaced.
        pool_pre_ping=True,
        pool_size=_POOL,
        max_overflow=_POOL,
        pool_timeout=10,
    )


def _prove(engine: Engine) -> None:
    try:
        # On SQLite this takes the write lock, which a read-only file refuses.
        with writing(engine) as connection:
            if engine.dialect.name == "postgresql":
                encoding = connection.exec_driver_sql("SHOW server_encoding").scalar_one()
                if encoding not in ("UTF8", "SQL_ASCII"):
                    problem = f"is encoded in {encoding}; create one in UTF8"
                    raise InputError(FIELD, f"{shown_url(engine.url)} {problem}")
    except (SQLAlchemyError, sqlite3.Error) as error:
        # Without the cause: the driver's own text may hold what was blotted out.
        raise _refusal(engine.url, error) from None


def _refusal(url: URL, error: Exception) -> InputError:
    reason = redacted(str(getattr(error, "orig", None) or error), url)
    if url.get_backend_name() != "sqlite":
        mend = "check the address, the user name and the password, and that the server is running"
    elif full := full_disk(error, url):
        return InputError(FIELD, f"{full}, or name another file")
    elif "not a database" in reason:
        mend = "name another file, or one that does not exist yet"
    elif "locked" in reason:
        mend = "another program has locked it; stop that program or name another file"
    else:
        mend = "name a file in a folder that you can write to"
    return InputError(FIELD, f"cannot use {shown_url(url)} ({reason}); {mend}")


BUSY_SECONDS = 30
_READING = "rocktune_reading"


def writing(engine: Engine) -> AbstractContextManager[Connection]:
    """A transaction that writes: committed at the end, rolled back by an exception."""
    return engine.begin()


@contextmanager
def reading(engine: Engine) -> Iterator[Connection]:
    """A connection that only reads, one statement at a time, and makes no writer wait."""
    with engine.connect() as connection:
        options: dict[str, Any] = {_READING: True}
        if engine.dialect.name == "postgresql":
            # A transaction around one SELECT would double the trips to the server.
            options["isolation_level"] = "AUTOCOMMIT"
        yield connection.execution_options(**options)


def read_all(engine: Engine, which: Select[Any]) -> Sequence[Any]:
    """All rows of one statement."""
    with reading(engine) as connection:
        return connection.execute(which).all()


def read_first(engine: Engine, which: Select[Any]) -> Any:
    """The first row of one statement; None where it has none."""
    with reading(engine) as connection:
        return connection.execute(which).first()


def change(engine: Engine, statement: Delete | Update) -> int:
    """Commits one statement; the number of rows that it changed."""
    with writing(engine) as connection:
        return int(connection.execute(statement).rowcount)


def arrange_sqlite(engine: Engine) -> Engine:
    """Makes every connection of a SQLite engine safe to share between processes."""
    event.listen(engine, "connect", _prepare)
    event.listen(engine, "begin", _begin)
    return engine


def _prepare(connection: Any, _record: object) -> None:
    """Makes one connection wait for others and survive kill -9; transactions are begun by hand."""
    # The driver must not begin transactions by itself: it would do so with a plain BEGIN, and
    # only before the first write.
    connection.isolation_level = None
    connection.execute(f"PRAGMA busy_timeout = {BUSY_SECONDS * 1000}")
    # Readers and the writer do not lock each other out.
    _switch_to_wal(connection)
    # In WAL a commit is then in the system's hands without an fsync: it survives kill -9. A power
    # cut may take the last trials, which are run again, but leaves the file sound.
    connection.execute("PRAGMA synchronous = NORMAL")
    connection.execute("PRAGMA foreign_keys = ON")


def _switch_to_wal(connection: Any) -> None:
    # Two processes that open a new file at once would each wait for the other here, so SQLite
    # fails one of them at once, whatever the busy timeout. The other is done in a moment.
    deadline = time.monotonic() + BUSY_SECONDS
    while connection.execute("PRAGMA journal_mode").fetchone() != ("wal",):
        try:
            connection.execute("PRAGMA journal_mode = WAL")
        except sqlite3.OperationalError as error:
            if "locked" not in str(error) or time.monotonic() >= deadline:
                raise
            time.sleep(0.01)


def _begin(connection: Connection) -> None:
    # A deferred transaction that reads and then writes fails at once when another has written in
    # between, whatever the busy timeout. One that takes the write lock first only waits.
    reads = connection.get_execution_options().get(_READING, False)
    connection.exec_driver_sql("BEGIN" if reads else "BEGIN IMMEDIATE")


def now(connection: Connection) -> datetime:
    """The present in UTC; for SQLite, which is used on one machine alone, this machine's."""
    if connection.dialect.name == "postgresql":
        moment: datetime = connection.execute(select(func.clock_timestamp())).scalar_one()
        return moment.astimezone(UTC)
    return datetime.now(UTC)


def present(engine: Engine) -> datetime:
    """The same on a connection of its own: all processes of a database have one time."""
    with reading(engine) as connection:
        return now(connection)


def moment_of(engine: Engine) -> ColumnElement[datetime]:
    """The moment at which a statement begins, as a part of it, which saves a trip to the server.

    However often it stands in one statement, it is one moment.
    """
    if engine.dialect.name == "postgresql":
        return func.statement_timestamp(type_=UtcDateTime())
    return literal(datetime.now(UTC), UtcDateTime())


class Counted(IntEnum):
    """What is counted or looked for before a row is inserted, where no unique index decides."""

    QUEUE = 1
    TOKEN_NAMES = 2
    RESTORED_JOBS = 3
    WORKLOADS = 4


# "rock": the first half of a number of PostgreSQL's advisory locks, which a server may share.
_LOCKS = 0x726F636B


def take_turn(connection: Connection, counted: Counted) -> None:
    """Waits for the transactions that count and insert the same; they wait for this one's end.

    To be called before the counting. Writers of SQLite are alone anyway.
    """
    if connection.dialect.name == "postgresql":
        connection.execute(select(func.pg_advisory_xact_lock(_LOCKS, int(counted))))


def insert_into(engine: Engine, table: Table) -> sqlite.Insert | postgresql.Insert:
    """An insert that can say ``on_conflict_do_update`` or ``on_conflict_do_nothing``."""
    if engine.dialect.name == "sqlite":
        return sqlite.insert(table)
    from sqlalchemy.dialects import postgresql

    return postgresql.insert(table)
