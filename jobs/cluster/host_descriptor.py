"""What a host says of itself to whoever is connected: who it is, and whether it is fit."""

import shutil
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib.metadata import version
from typing import Any

from sampler.bench.builds import advertised
from sampler.machine.machine import fingerprint
from sampler.runner.bench_folder import nearest_folder
from sampler.runner.settings import Settings

DESCRIPTOR, FITNESS = "rocktune", "rocktune_fit"
"""The names under which Dask carries them: with the registration, and with each heartbeat."""

RESOURCE = "bench"
"""Of which every host has one and every trial takes one."""


@cache  # it is compared with every host's, again and again
def own_version() -> str:
    """Of this Rocktune."""
    return version("rocktune")


def descriptor_of(settings: Settings, kind: str) -> dict[str, Any]:
    """What does not change while the host is there."""
    return {
        "version": own_version(),
        "kind": kind,
        "environment": fingerprint(settings.bench_dir) | advertised(settings),
    }


def unfit(settings: Settings) -> str | None:
    """Why no trial can be measured just now; None when one can."""
    free = shutil.disk_usage(nearest_folder(settings.bench_dir)).free
    if free < settings.free_bytes:
        return f"its disk has {free / 2**20:,.0f} MiB left, less than ROCKTUNE_FREE_BYTES"
    return None


@dataclass(frozen=True)
class HostSeen:
    """A host as the scheduler knows it."""

    name: str
    address: str  # where its Dask worker listens; another one after each start
    kind: str  # what kind of host it is
    version: str  # of Rocktune
    problem: str | None  # why it cannot measure just now; None when it can
    environment: Mapping[str, Any]  # fingerprint and builds
    busy: bool  # whether it measures

    @property
    def place(self) -> tuple[str, str]:
        """Name and address: the host as long as it has not begun anew."""
        return self.name, self.address

    @property
    def build_names(self) -> list[str]:
        """Its RocksDB builds with their versions, as ``default 7.8.3``."""
        builds = self.environment.get("builds", [])
        return [f"{each['name']} {each.get('version') or 'broken'}" for each in builds]

    def document(self) -> dict[str, Any]:
        """As JSON holds it."""
        told = ("name", "address", "kind", "version", "problem", "busy")
        own = {name: getattr(self, name) for name in told}
        return {**own, "environment": dict(self.environment)}


def hosts_seen(workers: Mapping[str, Mapping[str, Any]]) -> list[HostSeen]:
    """The hosts among a scheduler's workers; others than ours are left out."""
    found: list[HostSeen] = []
    for address, worker in workers.items():
        descriptor, metrics = worker.get(DESCRIPTOR), worker.get("metrics", {})
        if isinstance(descriptor, Mapping):
            host = HostSeen(
                name=str(worker.get("name", address)),
                address=address,
                problem=metrics.get(FITNESS) or None,
                busy=bool(metrics.get("task_counts", {}).get("executing")),
                kind=descriptor["kind"],
                version=descriptor["version"],
                environment=descriptor["environment"],
            )
            found.append(host)
    return sorted(found, key=lambda host: host.name)
