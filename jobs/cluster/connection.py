"""The controller's line to the scheduler, and the hosts there: it may break, and is made again."""

import logging
import re
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from importlib.metadata import version
from typing import Any

import dask
from distributed import Client, Security

_CONNECT_SECONDS = 5.0
_AGAIN_SECONDS = 1.0
_LOOK_SECONDS = 1.0
_CONNECTOR = re.compile(r"^in <[^>]*>: ")
_QUIET = ("distributed", "distributed.client")  # Dask gives the second a level of its own
SETTINGS = {
    "distributed.client.heartbeat": "5s",
    # A line that broke is made anew by us, which looks for trials that went on meanwhile.
    "distributed.comm.timeouts.connect": "5s",
    "distributed.comm.retry.count": 0,
}


DESCRIPTOR, FITNESS = "rocktune", "rocktune_fit"
"""The names under which Dask carries them: with the registration, and with each heartbeat."""

RESOURCE = "bench"
"""Of which every host has one and every trial takes one."""


@cache  # it is compared with every host's, again and again
def own_version() -> str:
    """Of this Rocktune."""
    return version("rocktune")


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


class SchedulerConnection:
    """A client of the scheduler, made again when it breaks. Of one thread."""

    def __init__(self, scheduler: str, security: Security | None) -> None:
        self._scheduler = scheduler
        self._security = security or Security(require_encryption=False)
        self._client: Client | None = None
        self._tried = -_AGAIN_SECONDS
        self._looked = -_LOOK_SECONDS
        self._seen: Sequence[HostSeen] = ()
        # why the scheduler cannot be reached; None when it can, or nobody has tried
        self.problem: str | None = None

    def client(self) -> Client | None:
        """The client, connected now; None while the scheduler cannot be reached."""
        if self._client is not None and self._client.status == "running":
            return self._client
        if self._client is not None:
            self.close()
        if time.monotonic() - self._tried < _AGAIN_SECONDS:
            return None
        self._tried = time.monotonic()
        for name in _QUIET:
            logging.getLogger(name).setLevel(logging.CRITICAL)
        try:
            with dask.config.set(SETTINGS):
                self._client = Client(
                    self._scheduler,
                    security=self._security,
                    timeout=_CONNECT_SECONDS,
                    set_as_default=False,
                    direct_to_workers=False,
                )
        except (OSError, TimeoutError, ValueError) as error:
            self.problem = _in_words(error.__cause__ or error)
            return None
        self.problem = None
        self._looked = -_LOOK_SECONDS
        return self._client

    def seen(self) -> Sequence[HostSeen]:
        """The hosts that are connected, at most a second old; none without a scheduler."""
        client = self.client()
        if client is None:
            self._seen = ()
        elif time.monotonic() - self._looked >= _LOOK_SECONDS:
            try:
                self._seen = hosts_seen(client.scheduler_info()["workers"])
            except (OSError, TimeoutError, ValueError):
                self._seen = ()
            self._looked = time.monotonic()
        return self._seen

    def close(self) -> None:
        """Ends the line; what is published stays with the scheduler."""
        client, self._client = self._client, None
        if client is not None:
            with suppress(Exception):
                client.close(timeout=2)


def submitted(
    client: Client, hosts: Sequence[HostSeen], run: Callable[..., Any], *given: Any, **more: Any
) -> Any:
    """The future of a call on one of these hosts, which measures nothing else meanwhile."""
    where = [each.address for each in hosts]
    return client.submit(
        run, *given, workers=where, resources={RESOURCE: 1}, pure=False, retries=0, **more
    )


def _in_words(cause: BaseException) -> str:
    """What went wrong, without the name of the object that it went wrong in."""
    said = _CONNECTOR.sub("", str(cause)).splitlines()
    return said[0] if said else type(cause).__name__
