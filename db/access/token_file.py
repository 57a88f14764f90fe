"""A token as text, and the file that a server keeps its own token in.

``rocktune serve`` makes the file, and the terminal commands of the same user read it. It is
written beside its place, 0600 from the start: nobody finds half a token, or one that others read.
"""

import os
import re
import secrets
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from platformdirs import user_data_path

from sampler.common.errors import InputError

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
        with _draft(path, token) as draft:
            os.link(draft, path)
    except FileExistsError:
        return False
    except OSError as error:
        raise _refused(f"cannot write a token to {path}", error) from None
    return True


def replace_token(path: Path, token: str) -> None:
    """Writes a file, 0600, in place of the one that is there.

    Raises:
        InputError: It cannot be written.
    """
    try:
        with _draft(path, token) as draft:
            draft.replace(path)
    except OSError as error:
        raise _refused(f"cannot replace the token in {path}", error) from None


@contextmanager
def _draft(path: Path, token: str) -> Iterator[Path]:
    """A complete file beside its place; gone at the end, where it was not moved."""
    draft = path.with_name(f".{path.name}.{secrets.token_hex(6)}")
    try:
        descriptor = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        with os.fdopen(descriptor, "w", encoding="ascii") as file:
            file.write(f"{token}\n")
            file.flush()
            os.fsync(file.fileno())
        yield draft
    finally:
        with suppress(OSError):
            draft.unlink()


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
