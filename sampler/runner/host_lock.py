"""One trial at a time on a host, whoever runs it."""

import contextlib
import errno
import fcntl
import json
import os
import stat
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from sampler.common.errors import InputError
from sampler.machine.processes import is_alive, kill_marked, own_process

MARK = "ROCKTUNE_TRIAL"
_POLL_SECONDS = 0.5


def default_lock_path() -> Path:
    """The lock that all users and projects of this host share."""
    return Path(tempfile.gettempdir()) / "rocktune-host.lock"


@contextlib.contextmanager
def host_lock(
    path: Path,
    token: str,
    *,
    waiting: Callable[[str], None] = lambda _: None,
    pause: Callable[[float], None],
) -> Iterator[int]:
    """Holds the host for the time of one trial.

    The lock is on the open file, which the benchmark's processes inherit: should the controller be
    killed, the host stays locked until the benchmark is gone. Whoever finds the lock held for a
    dead controller of the same user ends what that one left running.

    All users may lock the file, and nothing is read from it. Who holds it is told by the kernel.
    What a user's controller runs stands in a file of that user's beside it, which no other user
    may write: else anyone could name a running trial as one to be ended.

    Args:
        path: The lock file.
        token: Marks the benchmark's processes: they have ``ROCKTUNE_TRIAL=token`` in their
            environment.
        waiting: Told who holds the lock, each time that it is found held.
        pause: Waits for some seconds; may raise to stop waiting.

    Yields:
        The file descriptor to hand to the benchmark.

    Raises:
        InputError: The file cannot be opened.
    """
    descriptor = _open(path)
    try:
        while not _try(descriptor):
            if not _end_orphans(_own_signature(path)):
                pid = _holder(descriptor)
                waiting("another process" if pid is None else f"process {pid}")
            pause(_POLL_SECONDS)
        with contextlib.suppress(OSError):  # without it, orphans end by themselves
            _sign(path, token)
        yield descriptor
    finally:
        os.close(descriptor)


def _open(path: Path) -> int:
    try:
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW, 0o644)
        with contextlib.suppress(OSError):  # another user's file: it may be read already
            os.fchmod(descriptor, 0o644)  # to lock it, others need no more
    except PermissionError:
        with contextlib.suppress(OSError):
            return os.open(path, os.O_RDONLY | os.O_NOFOLLOW)  # a lock needs no right to write
        raise InputError("ROCKTUNE_LOCK", f"not allowed to open the host's lock {path}") from None
    except OSError as error:
        if error.errno == errno.ELOOP:
            # In a folder that all may write to, it could have us empty a file of somebody's.
            problem = f"the host's lock {path} is a symbolic link; remove it, or name its target"
        else:
            problem = f"cannot open the host's lock {path}: {error.strerror}"
        raise InputError("ROCKTUNE_LOCK", problem) from None
    return descriptor


def _try(descriptor: int) -> bool:
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def _holder(descriptor: int) -> int | None:
    """The process that took the lock, as the kernel says; None where it does not.

    A line of ``/proc/locks`` is ``1: FLOCK  ADVISORY  WRITE 4711 fe:01:1234 0 EOF``: the process,
    and the device (in hexadecimal) and inode of the file.
    """
    about = os.fstat(descriptor)
    device = f"{os.major(about.st_dev):02x}:{os.minor(about.st_dev):02x}"
    try:
        lines = Path("/proc/locks").read_text(encoding="ascii").splitlines()
    except (OSError, UnicodeDecodeError):
        return None
    for line in lines:
        words = line.split()
        if words[1:4] == ["FLOCK", "ADVISORY", "WRITE"] and words[5] == f"{device}:{about.st_ino}":
            return int(words[4])
    return None


def _signature_of(path: Path) -> Path:
    return path.with_name(f"{path.name}.{os.geteuid()}")


def _sign(path: Path, token: str) -> None:
    pid, started = own_process()
    signature = json.dumps({"pid": pid, "started": started, "token": token})
    own = _open_own(_signature_of(path), os.O_RDWR | os.O_CREAT)
    with os.fdopen(own, "r+b", buffering=0) as file:
        file.truncate(0)
        file.write(signature.encode())


def _own_signature(path: Path) -> dict[str, Any]:
    """What this user's last controller noted; empty where none did, or another user may have."""
    try:
        with os.fdopen(_open_own(_signature_of(path), os.O_RDONLY), "rb", 0) as file:
            holder = json.loads(file.read(400))
    except (ValueError, OSError):
        return {}
    return holder if isinstance(holder, dict) else {}


def _open_own(path: Path, flags: int) -> int:
    """Opens a file that belongs to this user, and that no other may write.

    Raises:
        OSError: It is another's, or there is none.
    """
    descriptor = os.open(path, flags | os.O_NOFOLLOW | os.O_NONBLOCK, 0o600)
    about = os.fstat(descriptor)
    regular = stat.S_ISREG(about.st_mode) and about.st_nlink == 1
    if not regular or about.st_uid != os.geteuid() or about.st_mode & 0o022:
        os.close(descriptor)
        raise PermissionError(errno.EPERM, "not owned by this user", str(path))
    return descriptor


def _end_orphans(holder: dict[str, Any]) -> bool:
    try:
        dead = not is_alive(int(holder["pid"]), int(holder["started"]))
        return dead and kill_marked(MARK, str(holder["token"])) > 0
    except (KeyError, ValueError, TypeError, OverflowError):
        return False
