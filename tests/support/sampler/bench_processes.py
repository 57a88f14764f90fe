"""The benchmark's processes of several hosts of this machine, told apart by their folders."""

import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class BenchChild:
    """A process that a trial has started, or a child of it.

    Attributes:
        token: The trial's mark.
    """

    host: str
    pid: int
    token: str


def bench_children(benches: Mapping[str, Path]) -> list[BenchChild]:
    """All that are alive; zombies, which run nothing and hold nothing, are not.

    Args:
        benches: The bench folder of each host.
    """
    of_folder = {f"ROCKTUNE_BENCH_DIR={path}".encode(): host for host, path in benches.items()}
    found = []
    for folder in Path("/proc").iterdir():
        if not folder.name.isdecimal() or int(folder.name) == os.getpid():
            continue
        try:
            environment = (folder / "environ").read_bytes().split(b"\0")
        except OSError:
            continue
        token = next((each for each in environment if each.startswith(b"ROCKTUNE_TRIAL=")), None)
        host = next((of_folder[each] for each in environment if each in of_folder), None)
        if token is not None and host is not None:
            mark = token.partition(b"=")[2].decode()
            found.append(BenchChild(host, int(folder.name), mark))
    return found
