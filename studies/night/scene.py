"""Two bench hosts, a scheduler, a service on PostgreSQL and a chat: each a real part."""

from __future__ import annotations

import shlex
import subprocess
import time
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import httpx2

from jobs.cluster.certificates import make_set
from tests.support import inherited
from tests.support.cli.launched import ROCKTUNE, executed
from tests.support.cluster.bench_cluster import BenchCluster
from tests.support.cluster.netns_hosts import host_network
from tests.support.db.private_server import PrivateServer, private_server
from tests.support.jobs.receiver import Receiver, receiving
from tests.support.jobs.service_desk import ServiceProcess, wait_until

HOSTS = ("bench-1", "bench-2")
BATCH = "nightly"
_ALLOWS = {"ROCKTUNE_WEBHOOK_ALLOW": "127.0.0.1"}
ENDS_WITHIN = 900.0  # seconds that a night may take
# The real program, stopped for half of the time: what it does is the same, it takes twice as long.
_SLOWED = """\
#!/bin/sh
{program} "$@" &
pid=$!
trap 'kill -CONT $pid; kill -TERM $pid' INT TERM
while read -r stat < /proc/$pid/stat; do
    case "$stat" in *") Z "*) break ;; esac
    kill -STOP $pid
    sleep 0.02
    kill -CONT $pid
    sleep 0.02
done 2> /dev/null
wait $pid
"""


def slowed(program: Path, folder: Path) -> Path:
    """A program that does what another one does, at about half of its speed."""
    path = folder / "db_bench"
    path.write_text(_SLOWED.format(program=shlex.quote(str(program))))
    path.chmod(0o755)
    return path


class NightCluster(BenchCluster):
    """Its worker tells a chat on loopback, with links to the dashboard."""

    def serve(self, db: str, token: Path) -> ServiceProcess:
        """`rocktune serve` without a worker of its own."""
        command = [str(ROCKTUNE), "serve", "--no-worker", "--migrate", "--port=0", "--db", db]
        return self._start("serve", command, {"ROCKTUNE_TOKEN_FILE": str(token), **_ALLOWS})

    def tells(self, db: str, link: str) -> ServiceProcess:
        """`rocktune worker` over the cluster."""
        command = [str(ROCKTUNE), "worker", "--db", db, *self.joining]
        return self._start("worker", command, {"ROCKTUNE_PUBLIC_URL": link, **_ALLOWS})


@dataclass
class Scene:
    """All of it, running.

    Attributes:
        url: The service's address.
        token: That of its administrator.
        worker: The process that leads.
    """

    folder: Path
    cluster: NightCluster
    server: PrivateServer
    receiver: Receiver
    url: str
    token: str
    worker: ServiceProcess

    def call(self, method: str, path: str, **given: Any) -> Any:
        """An answer of the service; None where it has no body."""
        named = {"Authorization": f"Bearer {self.token}"}
        with httpx2.Client(base_url=self.url, headers=named, timeout=60) as client:
            answer = client.request(method, path, **given).raise_for_status()
            return answer.json() if answer.content else None

    def nights(self) -> list[dict[str, Any]]:
        """The batches that have run and ended, the oldest first."""
        found = self.call("GET", "/v1/batches", params={"name": BATCH, "limit": 200})["batches"]
        ran = [each for each in reversed(found) if each["state"] != "skipped"]
        return [each for each in ran if each["ended_at"]]

    def await_nights(self, count: int) -> None:
        """Waits until so many have ended."""
        for wanted in range(len(self.nights()) + 1, count + 1):
            wait_until(partial(self._reached, wanted), seconds=ENDS_WITHIN, what="a night")
            night = self.nights()[-1]
            print(f"night {wanted}: batch {night['id']} {night['state']}", flush=True)
            if night["state"] != "done":
                raise AssertionError(f"batch {night['id']}: {night}")

    def _reached(self, wanted: int) -> bool:
        time.sleep(1)
        return len(self.nights()) >= wanted

    def every_minute(self, batch: Mapping[str, Any]) -> None:
        """Begins a schedule: a night is a minute long, or as long as its batch takes."""
        asked = {"name": BATCH, "cron": "* * * * *", "time_zone": "UTC", "batch": dict(batch)}
        self.call("POST", "/v1/schedules", json=asked)

    def no_more(self) -> None:
        """Ends the schedule, and waits for the batch that runs."""
        self.call("DELETE", f"/v1/schedules/{BATCH}")

        def ended() -> bool:
            time.sleep(1)
            known = self.call("GET", "/v1/batches", params={"name": BATCH})["batches"]
            return all(each["ended_at"] for each in known)

        wait_until(ended, seconds=ENDS_WITHIN, what="the last night has ended")

    def measure_with(self, program: Path) -> None:
        """Gives the hosts another build; they join anew."""
        for name in HOSTS:
            self.cluster.hosts[name].stop(seconds=60)
            self.cluster.start_host(name, ROCKTUNE_DB_BENCH=str(program))
        self.cluster.await_hosts()

    def copied(self, name: str) -> str:
        """A copy of the database as it is now, for another program; its URL."""
        port = ["--host=127.0.0.1", f"--port={self.server.port}", "--username=postgres"]
        subprocess.run(["createdb", *port, name], check=True)
        dumped = subprocess.run(
            ["pg_dump", *port, "postgres"], check=True, stdout=subprocess.PIPE
        ).stdout
        quiet = ["--quiet", "--set=ON_ERROR_STOP=1", f"--dbname={name}"]
        subprocess.run(
            ["psql", *port, *quiet], input=dumped, check=True, stdout=subprocess.DEVNULL
        )
        return self.server.url.rpartition("/")[0] + f"/{name}"

    def run(self, *arguments: object) -> subprocess.CompletedProcess[str]:
        """`rocktune` in a terminal, to its end."""
        (self.folder / "terminal").mkdir(exist_ok=True)
        return subprocess.run(
            [str(ROCKTUNE), *map(str, arguments)], capture_output=True, text=True,
            stdin=subprocess.DEVNULL, cwd=self.folder, check=False,
            env=inherited() | self.cluster.variables("terminal"),
        )  # fmt: skip


@contextmanager
def scene(folder: Path, program: Path) -> Iterator[Scene]:
    """Everything running, the hosts with a build; nothing of it is left behind."""
    with ExitStack() as closing:
        network = closing.enter_context(host_network(*HOSTS))
        server = closing.enter_context(private_server())
        receiver = closing.enter_context(receiving())
        certificates = folder / "certificates"
        make_set(certificates, [network.address])
        cluster = NightCluster(
            folder, ttl=10.0, listen=network.address, certificates=certificates,
            inside=network.inside, launch=executed,
        )  # fmt: skip
        closing.callback(cluster.close)
        cluster.start_scheduler()
        for name in HOSTS:
            cluster.start_host(name, ROCKTUNE_DB_BENCH=str(program))
        cluster.await_hosts()
        token = folder / "token"
        url = cluster.serve(server.url, token).address()
        worker = cluster.tells(server.url, url)
        worker.await_said("worker is ready")
        yield Scene(folder, cluster, server, receiver, url, token.read_text().strip(), worker)
