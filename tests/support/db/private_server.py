"""A PostgreSQL server of a test's own, which it may stop and start again."""

import os
import shutil
import signal
import subprocess
import tempfile
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from tests.support import unused_port

# A server does not run as root.
_AS_OTHER = ["setpriv", "--reuid=postgres", "--regid=postgres", "--init-groups", "--"]
_SETTINGS = "-c fsync=off -c listen_addresses=127.0.0.1 -c shared_buffers=16MB"
_ESTABLISHED = "01"  # net/tcp_states.h


@dataclass(frozen=True)
class PrivateServer:
    folder: Path
    port: int

    @property
    def url(self) -> str:
        return f"postgresql://postgres@127.0.0.1:{self.port}/postgres"

    def start(self) -> None:
        options = f"{_SETTINGS} -p {self.port} -k {self.folder}"
        self._run("pg_ctl", "-w", "-l", str(self.folder / "log"), "-o", options, "start")

    def stop(self) -> None:
        """At once, as a power cut would."""
        self._run("pg_ctl", "-w", "-m", "immediate", "stop")

    @contextmanager
    def stopped(self) -> Iterator[None]:
        """With every process of it stopped (SIGSTOP): its kernel goes on to acknowledge."""
        first = (self.folder / "data" / "postmaster.pid").read_text().split()[0]
        os.kill(int(first), signal.SIGSTOP)  # before the others, so that it starts no more
        others = Path(f"/proc/{first}/task/{first}/children").read_text().split()
        try:
            _signal(others, signal.SIGSTOP)
            yield
        finally:
            _signal([*others, first], signal.SIGCONT)

    def unread(self) -> int:
        """Bytes that its kernel has taken, and no process of it has read, of all connections."""
        found = 0
        for line in Path("/proc/net/tcp").read_text().splitlines()[1:]:
            _, local, _, state, queues, *_ = line.split()
            if int(local.rpartition(":")[2], 16) == self.port and state == _ESTABLISHED:
                found += int(queues.partition(":")[2], 16)
        return found

    def make(self) -> None:
        self._run("initdb", "-U", "postgres", "--auth=trust", "--no-sync", "-E", "UTF8")

    def _run(self, program: str, *arguments: str) -> None:
        path = max(Path("/usr/lib/postgresql").glob(f"*/bin/{program}"), key=_version)
        command = [str(path), "-D", str(self.folder / "data"), *arguments]
        subprocess.run(
            [*(_AS_OTHER if os.geteuid() == 0 else []), *command],
            check=True,
            cwd=self.folder,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            timeout=60,
        )


def _signal(pids: Iterable[str], number: signal.Signals) -> None:
    for pid in pids:
        with suppress(ProcessLookupError):  # a session that ended meanwhile
            os.kill(int(pid), number)


def _version(path: Path) -> float:
    return float(path.parts[-3])


@contextmanager
def private_server() -> Iterator[PrivateServer]:
    """A server that runs; at the end it is stopped and removed."""
    folder = Path(tempfile.mkdtemp(prefix="rocktune-server-"))
    if os.geteuid() == 0:
        shutil.chown(folder, "postgres", "postgres")
    server = PrivateServer(folder, unused_port())
    try:
        server.make()
        server.start()
        yield server
    finally:
        if (folder / "data" / "postmaster.pid").exists():
            server.stop()
        shutil.rmtree(folder)
