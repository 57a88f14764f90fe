"""Which sockets a process listens on, read from the kernel."""

import socket
from contextlib import suppress
from pathlib import Path

import psutil

LISTENS = "0A"


def listening_at(pid: int) -> set[tuple[str, int]]:
    """Addresses and ports of a process and all that it started."""
    found = _of_one(pid)
    for child in psutil.Process(pid).children(recursive=True):
        with suppress(FileNotFoundError, ProcessLookupError):  # it has ended meanwhile
            found |= _of_one(child.pid)
    return found


def _of_one(pid: int) -> set[tuple[str, int]]:
    held, found = set(), set()
    for link in Path(f"/proc/{pid}/fd").iterdir():
        with suppress(FileNotFoundError):  # closed meanwhile
            held.add(link.readlink().name)
    for table, kind in (("tcp", socket.AF_INET), ("tcp6", socket.AF_INET6)):
        for line in Path(f"/proc/{pid}/net/{table}").read_text().splitlines()[1:]:
            _, local, _, state, *_, inode = line.split()[:10]
            if state == LISTENS and f"socket:[{inode}]" in held:
                address, port = local.split(":")
                found.add((_readable(address, kind), int(port, 16)))
    return found


def _readable(address: str, kind: socket.AddressFamily) -> str:
    """The kernel writes words of 32 bits in the machine's order."""
    words = [bytes.fromhex(address[at : at + 8])[::-1] for at in range(0, len(address), 8)]
    return socket.inet_ntop(kind, b"".join(words))
