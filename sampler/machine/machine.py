"""The machine that numbers come from: a number without it says little."""

import os
import platform
import re
import socket
from pathlib import Path
from typing import Any

from sampler.machine.cpu_state import governors, is_virtual
from sampler.machine.kernel_files import PROC, field_of, text_of

_ESCAPED = re.compile(r"\\([0-7]{3})")


def host_name() -> str:
    """This machine's name."""
    return socket.gethostname()


def cpu_threads() -> int:
    """Hardware threads that this process may use."""
    return len(os.sched_getaffinity(0))


def fingerprint(bench_dir: Path) -> dict[str, Any]:
    """CPU, memory, disk (of the bench folder), kernel and system, as far as they can be read."""
    device, kind = file_system(bench_dir)
    try:
        system = platform.freedesktop_os_release().get("PRETTY_NAME", platform.system())
    except OSError:
        system = platform.system()
    return {
        "host": host_name(),
        "cpu": field_of(PROC / "cpuinfo", "model name") or platform.machine(),
        "cores": cpu_threads(),
        "governor": ", ".join(governors()) or None,
        "virtual": is_virtual(),
        "memory_bytes": os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES"),
        "disk": device,
        "file_system": kind,
        "kernel": platform.release(),
        "system": system,
        "python": platform.python_version(),
    }


def file_system(folder: Path) -> tuple[str, str]:
    """The device and type of the file system that a folder is, or will be, on.

    Behind a symbolic link that is where the link leads. Both are ``unknown`` where the system
    does not tell.
    """
    # Unlike Path.resolve() this bears links that lead in a circle.
    place = Path(os.path.realpath(folder))
    best, found = -1, ("unknown", "unknown")
    for line in (text_of(PROC / "self/mounts") or "").splitlines():
        # A space within a field is ``\040`` (getmntent(3)).
        parts = (_ESCAPED.sub(lambda o: chr(int(o[1], 8)), field) for field in line.split(" "))
        device, mounted, kind, *_ = parts
        # The longest mount point that holds the folder; of equals the last one mounted.
        if place.is_relative_to(mounted) and len(mounted) >= best:
            best, found = len(mounted), (device, kind)
    return found
