"""Sessions of browsers: a log-in stands for a token, for a while.

The cookie holds 256 random bits, the row their SHA-256: who reads the database cannot log in with
it. A row rather than a signed cookie: so a log-out ends the session wherever the cookie went, and
several servers on one database share no key. When it ends the database's clock says, for theirs
may differ.
"""

import secrets
from datetime import timedelta

from sqlalchemy import Engine, delete, insert, select

from db.access.tokens import TokenRow, hash_of, token_columns, token_from_row
from db.connection.transactions import moment_of, now, reading, writing
from db.schema.tables import browser_session, token


def open_session(engine: Engine, token_id: str, *, lives: timedelta) -> str:
    """Logs a token in; what is returned goes into the cookie and is kept nowhere.

    Sessions that have run out are cleared away.
    """
    secret = secrets.token_urlsafe(32)
    with writing(engine) as connection:
        moment = now(connection)
        connection.execute(delete(browser_session).where(browser_session.c.expires_at <= moment))
        new = insert(browser_session).values(
            secret_hash=hash_of(secret), token_id=token_id, expires_at=moment + lives
        )
        connection.execute(new)
    return secret


def token_of_session(engine: Engine, secret: str) -> TokenRow | None:
    """The token that is logged in; None where the session has ended or the token was revoked."""
    which = (
        select(*token_columns)
        .join(browser_session, browser_session.c.token_id == token.c.id)
        .where(
            browser_session.c.secret_hash == hash_of(secret),
            browser_session.c.expires_at > moment_of(engine),
            token.c.revoked_at.is_(None),
        )
    )
    with reading(engine) as connection:
        found = connection.execute(which).first()
    return None if found is None else token_from_row(found)


def close_session(engine: Engine, secret: str) -> None:
    """Logs out; to end what has ended changes nothing."""
    which = browser_session.c.secret_hash == hash_of(secret)
    with writing(engine) as connection:
        connection.execute(delete(browser_session).where(which))
