"""Naming a process so that another can tell, later, whether it still lives.

A number alone does not do: numbers are used again. Together with the boot, the PID namespace and
the time at which it started, a process is named once and for all.
"""

import socket
from pathlib import Path

import psutil

from sampler.machine.processes import own_process, start_time

_UNKNOWN = "-"


def this_process_name() -> str:
    """This process's name: ``host:boot:namespace:pid:start``."""
    pid, started = own_process()
    return ":".join((_host(), _boot(), _namespace(), str(pid), str(started)))


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
        return host == _host() and not psutil.pid_exists(pid)
    return str(start_time(pid)) != started


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
