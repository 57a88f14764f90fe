"""Waiting for what processes do: by pipes and process descriptors, never by sleeping."""

import os
import select
from pathlib import Path

PATIENCE = 30_000  # milliseconds; only reached by a test that fails


def gone(pid: int) -> bool:
    """Whether a process ends, or has ended; a zombie has."""
    try:
        descriptor = os.pidfd_open(pid)
    except ProcessLookupError:
        return True
    try:
        poll = select.poll()
        poll.register(descriptor, select.POLLIN)
        return bool(poll.poll(PATIENCE))
    finally:
        os.close(descriptor)


def read_line(descriptor: int) -> str:
    """The next line that comes through a pipe."""
    line = b""
    poll = select.poll()
    poll.register(descriptor, select.POLLIN)
    while not line.endswith(b"\n") and poll.poll(PATIENCE):
        piece = os.read(descriptor, 1)
        if not piece:
            break
        line += piece
    return line.decode().strip()


def make_fifo(path: Path) -> int:
    """A named pipe that this process keeps open for reading and writing."""
    os.mkfifo(path)
    return os.open(path, os.O_RDWR)


def open_to_others(folder: Path) -> list[str]:
    """The files and folders in a folder, and it, that other users have any right to."""
    places = [folder, *folder.rglob("*")]
    return sorted(str(each) for each in places if each.lstat().st_mode & 0o077)
