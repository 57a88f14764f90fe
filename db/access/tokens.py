"""Bearer tokens: who may do what. Only hashes are kept.

A token is ``rt_ID_SECRET``. The id is stored openly and finds the row; of the secret, 256 random
bits, the row has the SHA-256. A slow hash would add nothing: no dictionary holds such secrets.
"""

from __future__ import annotations

import hashlib
import re
import secrets
from dataclasses import dataclass
from datetime import UTC, datetime
from enum import StrEnum
from hmac import compare_digest
from typing import Any

from sqlalchemy import Engine, insert, select, update

from db.connection.transactions import reading, writing
from db.schema.tables import token
from sampler.common.errors import InputError

_FORM = re.compile(r"rt_([0-9a-f]{12})_([A-Za-z0-9_-]{43})", re.ASCII)


class Role(StrEnum):
    """What a token may do; each role may also do what those before it may."""

    READ = "read"  # see everything
    SUBMIT = "submit"  # submit, cancel, resume and clone jobs, tell trials
    ADMIN = "admin"  # delete jobs

    def may(self, needed: Role) -> bool:
        """Whether this role includes another."""
        order = list(Role)
        return order.index(self) >= order.index(needed)


@dataclass(frozen=True)
class TokenRow:
    """A token without its secret."""

    id: str
    name: str
    role: Role
    created_at: datetime
    revoked_at: datetime | None


def make_token(engine: Engine, name: str, role: Role) -> str:
    """Makes a token and returns it; it cannot be read again.

    Raises:
        InputError: The name is empty, or a token that is valid has it.
    """
    # A name that looks like an id could revoke another token.
    if not re.fullmatch(r"[\w.@-]{1,64}", name) or re.fullmatch(r"[0-9a-f]{12}", name):
        raise InputError(
            "name", "give a name of up to 64 letters, digits and ._@-, that looks like no id"
        )
    open_part, secret = secrets.token_hex(6), secrets.token_urlsafe(32)
    valid = select(token.c.id).where(token.c.name == name, token.c.revoked_at.is_(None))
    with writing(engine) as connection:
        if connection.execute(valid).first():
            raise InputError("name", f"a token named {name!r} is valid; revoke it or name another")
        connection.execute(
            insert(token).values(
                id=open_part,
                name=name,
                role=role,
                secret_hash=_hash(secret),
                created_at=datetime.now(UTC),
            )
        )
    return f"rt_{open_part}_{secret}"


def list_tokens(engine: Engine) -> list[TokenRow]:
    """All tokens, revoked ones included, the oldest first."""
    with reading(engine) as connection:
        rows = connection.execute(select(*token_columns).order_by(*_order))
        return [token_from_row(row) for row in rows]


def revoke_token(engine: Engine, name: str) -> None:
    """Makes a token invalid, by name or by id, from this moment on.

    Raises:
        InputError: No valid token is called so.
    """
    named = (token.c.name == name) | (token.c.id == name)
    change = update(token).where(named, token.c.revoked_at.is_(None))
    with writing(engine) as connection:
        if not connection.execute(change.values(revoked_at=datetime.now(UTC))).rowcount:
            raise InputError(
                "name", f"no valid token is called {name!r}; see `rocktune token list`"
            )


def find_token(engine: Engine, given: str) -> TokenRow | None:
    """The valid token that a request bears; None when it is none."""
    matched = _FORM.fullmatch(given)
    if matched is None:
        return None
    which = select(*token_columns, token.c.secret_hash).where(token.c.id == matched[1])
    with reading(engine) as connection:
        found = connection.execute(which).first()
    if found is None or found.revoked_at is not None:
        return None
    right = compare_digest(found.secret_hash, _hash(matched[2]))
    return token_from_row(found) if right else None


def any_token(engine: Engine) -> bool:
    """Whether a token was ever made: from then on every request needs one."""
    with reading(engine) as connection:
        return connection.execute(select(token.c.id).limit(1)).first() is not None


def any_valid_token(engine: Engine) -> bool:
    """Whether somebody could get in."""
    which = select(token.c.id).where(token.c.revoked_at.is_(None)).limit(1)
    with reading(engine) as connection:
        return connection.execute(which).first() is not None


token_columns = [token.c[name] for name in TokenRow.__dataclass_fields__]
_order = (token.c.created_at, token.c.id)


def token_from_row(row: Any) -> TokenRow:
    """From a row of ``token_columns``."""
    return TokenRow(row.id, row.name, Role(row.role), row.created_at, row.revoked_at)


def _hash(secret: str) -> str:
    return hashlib.sha256(secret.encode()).hexdigest()
