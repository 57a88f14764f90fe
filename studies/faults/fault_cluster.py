"""Four bench hosts, each a machine of its own as far as faults go, and all that they need.

Each host has a network namespace, a disk and a lock of its own; scheduler and worker are beside
them, and speak TLS with them; the database is a PostgreSQL server that can be restarted.
"""

from __future__ import annotations

import shutil
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from jobs.cluster.certificates import make_set
from tests.support.cli.launched import ROCKTUNE, Launch, executed
from tests.support.cluster.bench_cluster import BenchCluster
from tests.support.cluster.fault_bench import FaultBench
from tests.support.cluster.netns_hosts import HostNetwork, host_network
from tests.support.db.private_server import PrivateServer, private_server
from tests.support.jobs.service_desk import ServiceProcess
from tests.support.sampler.bench_processes import BenchChild, bench_children
from tests.support.sampler.small_disk import SmallDisk, remove_left_disks, small_disk

HOSTS = ("a", "b", "c", "d")
TTL_SECONDS = 10.0  # the shortest that users may ask for


@dataclass(kw_only=True)
class FaultCluster(BenchCluster):
    """All of it, running."""

    network: HostNetwork
    server: PrivateServer
    disks: Mapping[str, SmallDisk]
    bench: FaultBench
    launch: Launch = executed
    workers: list[ServiceProcess] = field(default_factory=list)

    def scheduling(self) -> list[str]:
        """The real command."""
        own = ["--host", self.listen, "--port", str(self.port), "--ttl", str(self.ttl)]
        keys = ["--certificates", str(self.certificates)]
        return [str(ROCKTUNE), "cluster", "scheduler", *own, *keys]

    def start_controller(self) -> ServiceProcess:
        """A worker; it need not be ready yet."""
        self.workers.append(self.worker(self.server.url))
        return self.workers[-1]

    @property
    def controller(self) -> ServiceProcess:
        """The newest."""
        return self.workers[-1]

    def begun_again(self) -> list[str]:
        """Why runs were given up, in the controllers' own words."""
        events = [event for worker in self.workers for event in worker.events()]
        return [
            f"trial {event['trial']}: {event['failure']}".replace(f"{self.folder}/", "")
            for event in events
            if event.get("event") == "trial ended" and event.get("state") == "lost"
        ]

    def benches(self) -> dict[str, Path]:
        """The bench folder of each host."""
        return {name: disk.folder / "bench" for name, disk in self.disks.items()}

    def variables(self, name: str) -> dict[str, str]:
        """A bench on the host's own disk."""
        return super().variables(name) | {"ROCKTUNE_BENCH_DIR": str(self.benches()[name])}

    def children(self) -> list[BenchChild]:
        """What benchmarks run on all hosts."""
        return bench_children(self.benches())

    def folders(self) -> list[Path]:
        """What trials have left on the disks; ``host`` is Dask's own."""
        disks = [path for path in self.benches().values() if path.exists()]
        return [each for path in disks for each in path.iterdir() if each.name != "host"]

    def _start(
        self, name: str, command: list[str], variables: Mapping[str, str]
    ) -> ServiceProcess:
        # Should the proof itself be killed, nothing of it goes on.
        return super()._start(name, ["setpriv", "--pdeathsig", "KILL", "--", *command], variables)


@contextmanager
def fault_cluster(folder: Path, *, disk_bytes: int) -> Iterator[FaultCluster]:
    """Everything running, and the worker ready; nothing of it is left behind.

    Args:
        folder: For files of all parts.
        disk_bytes: The size of each host's disk.
    """
    with ExitStack() as closing:
        network = closing.enter_context(host_network(*HOSTS))
        remove_left_disks()
        disks = {
            name: closing.enter_context(small_disk(folder / name / "disk", disk_bytes))
            for name in HOSTS
        }
        server = closing.enter_context(private_server())
        certificates = folder / "certificates"
        make_set(certificates, [network.address])
        bench = FaultBench(folder)
        cluster = FaultCluster(
            folder, ttl=TTL_SECONDS, listen=network.address, certificates=certificates,
            inside=network.inside, network=network, server=server, disks=disks, bench=bench,
        )  # fmt: skip
        closing.callback(cluster.close)
        cluster.start_scheduler()
        for name in HOSTS:
            cluster.start_host(name)
        cluster.await_hosts()
        cluster.start_controller().await_said("worker is ready")
        yield cluster


def require_programs() -> None:
    """Says what is missing.

    Raises:
        RuntimeError: Something is.
    """
    for program, package in (("setpriv", "util-linux"), ("mount", "mount"), ("od", "coreutils")):
        if not shutil.which(program):
            raise RuntimeError(f"{program} is missing: install Debian's {package}")
