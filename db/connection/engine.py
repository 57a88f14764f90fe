"""Opening the database that ``--db`` names: a URL of it, and words of it without secrets."""

import errno
import os
import re
import shutil
import sqlite3
from contextlib import suppress
from pathlib import Path

from platformdirs import user_data_path
from pydantic_core import from_json  # three times as fast as json.loads, and as exact
from sqlalchemy import Engine, create_engine
from sqlalchemy.engine import URL, make_url
from sqlalchemy.exc import ArgumentError, SQLAlchemyError

from db.connection.transactions import BUSY_SECONDS, arrange_sqlite, writing
from sampler.common.errors import InputError

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
