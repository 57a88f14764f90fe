"""A scheduler and a bench host, by the real commands, each a process of its own."""

import subprocess
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit

from tests.support import inherited
from tests.support.cli.launched import ROCKTUNE
from tests.support.jobs.service_desk import ServiceProcess


@dataclass(frozen=True)
class SmallCluster:
    scheduler: ServiceProcess
    scheduler_address: str
    host: ServiceProcess
    host_address: str


@contextmanager
def started(folder: Path, *arguments: str) -> Iterator[ServiceProcess]:
    """A real command that goes on, killed at the end if it still does."""
    log = folder / f"log-{len(list(folder.glob('log-*')))}"
    with log.open("wb") as out:
        process = subprocess.Popen(
            [str(ROCKTUNE), *arguments],
            cwd=folder,
            env=environment(folder),
            stdin=subprocess.DEVNULL,
            stdout=out,
            stderr=out,
        )
    running = ServiceProcess(process, log)
    try:
        yield running
    finally:
        running.kill()


def scheduler(folder: Path, *arguments: str) -> AbstractContextManager[ServiceProcess]:
    """`rocktune cluster scheduler` on a free port."""
    return started(folder, "cluster", "scheduler", "--port", "0", *arguments)


@contextmanager
def small_cluster(
    folder: Path, *, listen: str = "127.0.0.1", certificates: Path | None = None
) -> Iterator[SmallCluster]:
    """Both, listening at an address; the host has joined."""
    folder.mkdir()
    more = ["--certificates", str(certificates)] if certificates else []
    with scheduler(folder, "--host", listen, *more) as meeting:
        here = f"127.0.0.1:{urlsplit(meeting.address()).port}"
        host = started(folder, "host", "--scheduler", here, "--listen", listen, *more)
        with host as measuring:
            joined = meeting.await_said("host joined")
            yield SmallCluster(meeting, here, measuring, str(joined["address"]))


def environment(folder: Path) -> dict[str, str]:
    """A bench and a lock of one's own, and nothing of the user's."""
    own = {"ROCKTUNE_BENCH_DIR": str(folder / "bench"), "ROCKTUNE_LOCK": str(folder / "lock")}
    return inherited() | own
