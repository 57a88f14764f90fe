"""One trial at a time on a host, whoever runs it."""

from __future__ import annotations

import contextlib
import errno
import fcntl
import json
import os
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from sampler.common.errors import InputError
from sampler.machine.process_identity import is_alive, kill_marked, own_process

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
    dead controller ends what that one left running.

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
            holder = _holder(descriptor)
            if not _end_orphans(holder):
                waiting(f"process {holder['pid']}" if "pid" in holder else "another process")
            pause(_POLL_SECONDS)
        pid, started = own_process()
        with contextlib.suppress(OSError):
            os.ftruncate(descriptor, 0)
            signature = {"pid": pid, "started": started, "token": token}
            os.pwrite(descriptor, json.dumps(signature).encode(), 0)
        yield descriptor
    finally:
        os.close(descriptor)


def _open(path: Path) -> int:
    try:
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW, 0o666)
        with contextlib.suppress(OSError):  # another user's file: it is open to all already
            os.fchmod(descriptor, 0o666)  # nosec B103
    except PermissionError:
        with contextlib.suppress(OSError):
            return os.open(path, os.O_RDONLY | os.O_NOFOLLOW)  # a lock needs no right to write
        raise InputError("ROCKTUNE_LOCK", f"may not open the host's lock {path}") from None
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


def _holder(descriptor: int) -> dict[str, Any]:
    try:
        holder = json.loads(os.pread(descriptor, 400, 0))
    except (ValueError, OSError):
        return {}
    return holder if isinstance(holder, dict) else {}


def _end_orphans(holder: dict[str, Any]) -> bool:
    """Kills the benchmark of a controller that is dead; whether there was one."""
    try:
        dead = not is_alive(int(holder["pid"]), int(holder["started"]))
        return dead and kill_marked(MARK, str(holder["token"])) > 0
    except (KeyError, ValueError, TypeError, OverflowError):
        return False
