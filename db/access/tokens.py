"""Bearer tokens: who may do what; and sessions of browsers. Only hashes are kept.

A token is ``rt_ID_SECRET``. The id is stored openly and finds the row; of the secret, 256 random
bits, the row has the SHA-256. A slow hash would add nothing: no dictionary holds such secrets.

A session stands for a token, for a while. The cookie holds 256 random bits, the row their SHA-256:
who reads the database cannot log in with it. A row rather than a signed cookie: so a log-out ends
the session wherever the cookie went, and several servers on one database share no key. When it
ends the database's clock says, for theirs may differ.

``rocktune serve`` keeps its own token in a file, which the terminal commands of the same user
read. It is written beside its place, 0600 from the start: nobody finds half a token, or one that
others read.
"""

from __future__ import annotations

import hashlib
import os
import re
import secrets
import socket
import stat
from collections.abc import Collection
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum
from hmac import compare_digest
from itertools import count
from pathlib import Path
from tempfile import NamedTemporaryFile
from typing import Any

from platformdirs import user_data_path
from sqlalchemy import Connection, Engine, Insert, delete, insert, select, update
from sqlalchemy.exc import IntegrityError

from db.connection.engine import (
    Counted,
    change,
    moment_of,
    now,
    read_all,
    read_first,
    take_turn,
    writing,
)
from db.schema.tables import browser_session, token
from sampler.common.atomic_write import atomic_write
from sampler.common.errors import InputError


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


_COLUMNS = [token.c[name] for name in TokenRow.__dataclass_fields__]


def _token(row: Any) -> TokenRow:
    return TokenRow(row.id, row.name, Role(row.role), row.created_at, row.revoked_at)


def make_token(engine: Engine, name: str, role: Role) -> str:
    """Makes a token and returns it; it cannot be read again.

    Raises:
        InputError: The name is empty, or a token that is valid has it.
    """
    # A name that looks like an id could revoke another token.
    if not re.fullmatch(r"[\w.@-]{1,64}", name) or re.fullmatch(r"[0-9a-f]{12}", name):
        raise InputError(
            "name", "write 1 to 64 letters, digits or ._@-, not 12 hexadecimal digits"
        )
    made = new_token()
    valid = select(token.c.id).where(token.c.name == name, token.c.revoked_at.is_(None))
    with writing(engine) as connection:
        take_turn(connection, Counted.TOKEN_NAMES)
        if connection.execute(valid).first():
            raise InputError("name", f"token {name!r} exists; revoke it or choose another name")
        connection.execute(_row_of(made, name, role, now(connection)))
    return made


def admit_token(engine: Engine, given: str, name: str) -> bool:
    """Lets in whoever bears a token that the operator holds, as an administrator: if it is valid.

    A token that this database knows stays what it is here: a revoked one stays revoked. ``name``
    is what lists call it; where a valid token is called so, a number is added.
    """
    parts = parts_of(given)
    if parts is None:
        return False
    known = select(token.c.id).where(token.c.id == parts[0])
    names = select(token.c.name).where(token.c.revoked_at.is_(None))
    with suppress(IntegrityError), writing(engine) as connection:
        # Where another server on this database is first, its row stays.
        take_turn(connection, Counted.TOKEN_NAMES)
        if connection.execute(known).first() is None:
            taken = set(connection.execute(names).scalars())
            free = (f"{name}.{number}" for number in count(2))
            called = name if name not in taken else next(n for n in free if n not in taken)
            connection.execute(_row_of(given, called, Role.ADMIN, now(connection)))
    return find_token(engine, given) is not None


def _row_of(text: str, name: str, role: Role, moment: datetime) -> Insert:
    parts = parts_of(text)
    assert parts is not None
    about = {"name": name, "role": role, "created_at": moment}
    return insert(token).values(id=parts[0], secret_hash=hash_of(parts[1]), **about)


def list_tokens(engine: Engine) -> list[TokenRow]:
    """All tokens, revoked ones included, the oldest first."""
    by_age = select(*_COLUMNS).order_by(token.c.created_at, token.c.id)
    return [_token(row) for row in read_all(engine, by_age)]


def revoke_token(engine: Engine, name: str) -> None:
    """Makes a token invalid, by name or by id, from this moment on.

    Raises:
        InputError: No valid token is called so.
    """
    named = (token.c.name == name) | (token.c.id == name)
    valid = update(token).where(named, token.c.revoked_at.is_(None))
    if not change(engine, valid.values(revoked_at=moment_of(engine))):
        raise InputError("name", f"there is no valid token {name!r}; see `rocktune token list`")


def find_token(engine: Engine, given: str) -> TokenRow | None:
    """The valid token that a request bears; None when it is none."""
    parts = parts_of(given)
    if parts is None:
        return None
    which = select(*_COLUMNS, token.c.secret_hash).where(token.c.id == parts[0])
    found = read_first(engine, which)
    if found is None or found.revoked_at is not None:
        return None
    right = compare_digest(found.secret_hash, hash_of(parts[1]))
    return _token(found) if right else None


def valid_tokens(engine: Engine, ids: Collection[str]) -> set[str]:
    """Those of some tokens, by id, that are not revoked."""
    which = select(token.c.id).where(token.c.id.in_(ids), token.c.revoked_at.is_(None))
    return {row.id for row in read_all(engine, which)} if ids else set()


def may_submit(connection: Connection, name: str) -> bool:
    """Whether a valid token of this name may submit jobs."""
    valid = select(token.c.role).where(token.c.name == name, token.c.revoked_at.is_(None))
    roles = connection.execute(valid).scalars()
    return any(Role(role).may(Role.SUBMIT) for role in roles)


def any_valid_token(engine: Engine) -> bool:
    """Whether somebody could get in."""
    which = select(token.c.id).where(token.c.revoked_at.is_(None)).limit(1)
    return read_first(engine, which) is not None


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
        select(*_COLUMNS)
        .join(browser_session, browser_session.c.token_id == token.c.id)
        .where(
            browser_session.c.secret_hash == hash_of(secret),
            browser_session.c.expires_at > moment_of(engine),
            token.c.revoked_at.is_(None),
        )
    )
    found = read_first(engine, which)
    return None if found is None else _token(found)


def open_sessions(engine: Engine, hashes: Collection[str]) -> set[str]:
    """Those of some sessions, by the hash of their secret, that have not ended."""
    which = select(browser_session.c.secret_hash).where(
        browser_session.c.secret_hash.in_(hashes),
        browser_session.c.expires_at > moment_of(engine),
    )
    return {row.secret_hash for row in read_all(engine, which)} if hashes else set()


def close_session(engine: Engine, secret: str) -> None:
    """Logs out; to end what has ended changes nothing."""
    change(engine, delete(browser_session).where(browser_session.c.secret_hash == hash_of(secret)))


def hash_of(secret: str) -> str:
    """What is kept of a secret."""
    return hashlib.sha256(secret.encode()).hexdigest()


@dataclass(frozen=True)
class ServerToken:
    """A token that the database knows."""

    text: str
    is_new: bool  # whether it was made just now


def server_token(engine: Engine, path: Path) -> ServerToken:
    """The token of a file, made where there is none, and replaced where it was revoked.

    Several servers of one user share the file, whatever their databases: each lets its token in.
    So do several processes on one database that start at once: one makes the file, all use it.

    The folder of the file is made where there is none.

    Raises:
        InputError: The file holds something else, could be read by others, or cannot be written.
    """
    name = f"serve@{re.sub(r'[^A-Za-z0-9.-]', '-', socket.gethostname())[:50]}"
    make_private_folder(path)
    is_new = False
    while True:
        found = read_token(path)
        if found is None:
            is_new = keep_token(path, new_token()) or is_new
        elif admit_token(engine, found, name):
            return ServerToken(found, is_new)
        else:
            replace_token(path, new_token())
            is_new = True


FIELD = "token_file"
VARIABLE = "ROCKTUNE_TOKEN_FILE"
_FORM = re.compile(r"rt_([0-9a-f]{12})_([A-Za-z0-9_-]{43})", re.ASCII)
_MOST_BYTES = 200
_ROOT = 0


def new_token() -> str:
    """``rt_ID_SECRET``, of 48 and 256 random bits."""
    return f"rt_{secrets.token_hex(6)}_{secrets.token_urlsafe(32)}"


def parts_of(token: str) -> tuple[str, str] | None:
    """The id and the secret of a token; None where the text is none."""
    matched = _FORM.fullmatch(token)
    return None if matched is None else (matched[1], matched[2])


def place_of_token(given: str | Path | None = None) -> Path:
    """The file: as given, else ROCKTUNE_TOKEN_FILE, else in the user's data folder."""
    named = given or os.environ.get(VARIABLE)
    if named:
        return Path(named).expanduser().absolute()
    return user_data_path("rocktune", appauthor=False) / "token"


def make_private_folder(path: Path) -> None:
    """Makes the folder of a file, 0700; one that is there stays as it is.

    Raises:
        InputError: It cannot be made.
    """
    try:
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    except OSError as error:
        raise _refused(f"cannot create the folder {path.parent}", error) from None


def read_token(path: Path) -> str | None:
    """The token of a file; None where there is no file.

    Raises:
        InputError: It holds no token, cannot be read, or could be read or written by others.
    """
    try:
        # Not to wait where somebody put a pipe.
        with os.fdopen(os.open(path, os.O_RDONLY | os.O_NONBLOCK), "rb") as file:
            _require_private(path, os.fstat(file.fileno()))
            text = file.read(_MOST_BYTES).decode("ascii", "replace").strip()
    except FileNotFoundError:
        return None
    except OSError as error:
        raise _refused(f"cannot read {path}", error) from None
    if parts_of(text) is None:
        raise InputError(FIELD, f"{path} does not hold a Rocktune token; name another file")
    return text


def keep_token(path: Path, token: str) -> bool:
    """Writes a file that is not there, 0600.

    Returns:
        False where another process was first: its file stays.

    Raises:
        InputError: It cannot be written.
    """
    try:
        # Complete before it has its name.
        with NamedTemporaryFile("w", prefix=f".{path.name}.", dir=path.parent) as draft:
            draft.write(f"{token}\n")
            draft.flush()
            os.fsync(draft.fileno())
            os.link(draft.name, path)
    except FileExistsError:
        return False
    except OSError as error:
        raise _refused(f"cannot write a token to {path}", error) from None
    return True


def replace_token(path: Path, token: str) -> None:
    """Writes a file in place of the private one that is there.

    Raises:
        InputError: It cannot be written.
    """
    try:
        atomic_write(path, f"{token}\n")
    except OSError as error:
        raise _refused(f"cannot replace the token in {path}", error) from None


def _require_private(path: Path, found: os.stat_result) -> None:
    """Refuses a file that others may know, or may have put there.

    A file of root's may be read by a group, as Kubernetes and systemd hand secrets out.
    """
    if not stat.S_ISREG(found.st_mode):
        raise InputError(FIELD, f"{path} is not a regular file; name another file")
    me = os.geteuid()
    if found.st_uid not in (me, _ROOT) and me != _ROOT:
        raise InputError(FIELD, f"{path} belongs to another user; name a file of your own")
    of_root = found.st_uid == _ROOT != me
    mode = stat.S_IMODE(found.st_mode)
    if mode & (0o027 if of_root else 0o077):
        raise InputError(
            FIELD,
            f"other users can access {path} (mode {mode:04o}); delete it, and the next "
            "`rocktune serve` creates a new one, or run `chmod 600` if nobody has read it",
        )


def _refused(what: str, error: OSError) -> InputError:
    return InputError(FIELD, f"{what}: {error.strerror or error}; name another file")
