"""Naming a process so that another can tell, later, whether it still lives.

A number alone does not do: numbers are used again. Together with the boot, the PID namespace and
the time at which it started, a process is named once and for all.
"""

from __future__ import annotations

import os
import socket
from pathlib import Path

_UNKNOWN = "-"


def this_process() -> str:
    """This process's name: ``host:boot:namespace:pid:start``."""
    started, _ = _stat(os.getpid())
    return ":".join((_host(), _boot(), _namespace(), str(os.getpid()), started))


def is_dead(name: str) -> bool:
    """Whether the named process certainly runs no more.

    False where that cannot be known from here: on another machine, in another container, after a
    reboot (then the lease soon runs out by itself).
    """
    try:
        host, boot, namespace, number, started = name.split(":")
        pid = int(number)
    except ValueError:
        return False
    if (boot, namespace) != (_boot(), _namespace()):
        return False
    if boot == _UNKNOWN:
        return host == _host() and not _exists(pid)
    now_started, state = _stat(pid)
    # A zombie is dead: it only waits for its parent to read its exit status.
    return now_started != started or state in "ZX"


def spoken(name: str) -> str:
    """The name as a message says it."""
    parts = name.split(":")
    return f"process {parts[3]} on {parts[0]}" if len(parts) == 5 else name


def _host() -> str:
    return socket.gethostname().replace(":", "_") or _UNKNOWN


def _boot() -> str:
    try:
        return Path("/proc/sys/kernel/random/boot_id").read_text().strip()
    except OSError:
        return _UNKNOWN


def _namespace() -> str:
    try:
        return str(Path("/proc/self/ns/pid").stat().st_ino)
    except OSError:
        return _UNKNOWN


def _stat(pid: int) -> tuple[str, str]:
    """When a process started, in ticks since the boot, and its state; unknown when it is gone."""
    try:
        text = Path(f"/proc/{pid}/stat").read_text(errors="replace")
    except OSError:
        return _UNKNOWN, "X"
    # The second field is the command in parentheses, which may itself hold anything.
    fields = text.rpartition(")")[2].split()
    return fields[19], fields[0]


def _exists(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except OSError:
        return True  # it is another user's
    return True
