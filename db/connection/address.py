"""Where the database is: from what the user gave to a URL, and back to words without secrets."""

import re
from pathlib import Path

from platformdirs import user_data_path
from sqlalchemy.engine import URL, make_url
from sqlalchemy.exc import ArgumentError

from sampler.common.errors import InputError

FIELD = "--db"
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
            raise InputError(FIELD, f"{text!r} keeps nothing; {_FORMS}")
        return _file(Path(text))
    kind = text.partition("://")[0].partition("+")[0].lower()
    if kind not in ("sqlite", "postgresql", "postgres"):
        raise InputError(FIELD, f"{kind}:// is not known; {_FORMS}")
    try:
        url = make_url(text)
    except (ArgumentError, ValueError):
        # Neither the text nor the parser's words are repeated: they may hold the password.
        raise InputError(FIELD, f"the URL cannot be read; {_FORMS}") from None
    if kind == "sqlite":
        if not url.database or url.database == ":memory:" or url.host or url.query:
            raise InputError(FIELD, f"sqlite:// takes a file alone; {_FORMS}")
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
