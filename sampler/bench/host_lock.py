"""One trial at a time on a host, whoever runs it."""

import contextlib
import errno
import fcntl
import hashlib
import json
import os
import socket
import stat
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from sampler.common.errors import InputError
from sampler.machine.machine import is_alive, kill_marked, own_process

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

    Whoever waits holds the lock of a second file, ``PATH.queue``, until it has the first. So who
    has just ended a trial waits behind those who wait already, and no controller keeps others out
    with trial after trial.

    A file that somebody removes is made anew by the next controller, and two would hold a lock
    each. So a lock counts only while its path leads to the file that is locked, and the holder
    also has an abstract socket of the path's name, which nobody can remove.

    All users may lock the files, and nothing is read from them. Who holds the lock is told by the
    kernel. What a user's controller runs stands in a file of that user's beside it, which no other
    user may write: else anyone could name a running trial as one to be ended.

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
    with contextlib.ExitStack() as held:

        def rest() -> None:
            if not _end_orphans(_own_signature(path)):
                pid = _holder(path)
                waiting("another process" if pid is None else f"process {pid}")
            pause(_POLL_SECONDS)

        with contextlib.ExitStack() as turn:
            queue = path.with_name(f"{path.name}.queue")
            if _can_open(queue):  # not beside a lock file that another user made: then no queue
                _taken(queue, turn, rest)
            descriptor = _taken(path, held, rest)
            while not (name := _taken_name(path)):
                rest()
            held.enter_context(name)
        with contextlib.suppress(OSError):  # without it, orphans end by themselves
            _sign(path, token)
        yield descriptor


def _taken(path: Path, held: contextlib.ExitStack, rest: Callable[[], None]) -> int:
    """A descriptor with the lock of the file that is at a path now, closed with ``held``."""
    while True:
        descriptor = _open(path)
        with contextlib.ExitStack() as mine:
            mine.callback(os.close, descriptor)
            while not _try(descriptor):
                rest()
            with contextlib.suppress(FileNotFoundError):
                if os.path.samestat(os.fstat(descriptor), path.lstat()):
                    held.push(mine.pop_all())
                    return descriptor


def _can_open(path: Path) -> bool:
    try:
        os.close(_open(path))
    except InputError:
        return False
    return True


def _taken_name(path: Path) -> contextlib.ExitStack | None:
    """What closes the socket whose name says that the lock of a path is held.

    An abstract name (unix(7)) is no file: it goes with the process alone.

    Returns:
        None where another process has it. Without such sockets there is nothing to close.
    """
    name = hashlib.sha256(os.fsencode(os.path.realpath(path))).hexdigest()[:32]
    with contextlib.ExitStack() as held:
        try:
            guard = held.enter_context(socket.socket(socket.AF_UNIX))
            guard.bind(f"\0rocktune-host-lock-{name}")
        except OSError as error:
            if error.errno == errno.EADDRINUSE:
                return None
        return held.pop_all()


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


def _holder(path: Path) -> int | None:
    """The process that took the lock of a file, as the kernel says; None where it does not.

    A line of ``/proc/locks`` is ``1: FLOCK  ADVISORY  WRITE 4711 fe:01:1234 0 EOF``: the process,
    and the device (in hexadecimal) and inode of the file.
    """
    try:
        about = path.lstat()
    except OSError:
        return None
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
