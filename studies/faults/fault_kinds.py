"""The faults: what each does to a running cluster, and what it may cost."""

import signal
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from random import Random

from studies.faults.fault_cluster import HOSTS, FaultCluster

AGAIN_AFTER = (0.0, 3.0)  # seconds until what was killed is started again
OUT_FOR = (0.2, 2.5)  # times the scheduler's patience, so both shorter and longer than that
FULL_FOR = (1.0, 6.0)


@dataclass(frozen=True)
class Struck:
    """What was done.

    Attributes:
        hosts: Those that must measure again before the fault is over.
    """

    what: str
    hosts: tuple[str, ...] = HOSTS


@dataclass(frozen=True)
class Fault:
    """One kind of fault.

    Attributes:
        strike: Does it; at the end of the block it waits its time and undoes it.
        again: How many runs one may cost, to be begun again.
        trials: How many are measured meanwhile, with a margin: so long must the job be for each.
    """

    name: str
    title: str
    strike: Callable[[FaultCluster, Random], AbstractContextManager[Struck]]
    again: int
    trials: int


@contextmanager
def kill_host(cluster: FaultCluster, chance: Random) -> Iterator[Struck]:
    """A host is killed, and started again."""
    host, rest = chance.choice(HOSTS), chance.uniform(*AGAIN_AFTER)
    cluster.hosts[host].kill()
    yield Struck(f"{host} killed, started again after {rest:.1f} s", (host,))
    time.sleep(rest)
    cluster.start_host(host)


@contextmanager
def cut_host_off(cluster: FaultCluster, chance: Random) -> Iterator[Struck]:
    """A host loses its network for a while."""
    host, out = chance.choice(HOSTS), chance.uniform(*OUT_FOR) * cluster.ttl
    cluster.network.cut(host)
    yield Struck(f"{host} cut off for {out:.1f} s", (host,))
    time.sleep(out)
    cluster.network.join(host)


@contextmanager
def hang_host(cluster: FaultCluster, chance: Random) -> Iterator[Struck]:
    """A host is stopped (SIGSTOP) for a while."""
    host, out = chance.choice(HOSTS), chance.uniform(*OUT_FOR) * cluster.ttl
    process = cluster.hosts[host].process
    process.send_signal(signal.SIGSTOP)
    yield Struck(f"{host} hung for {out:.1f} s", (host,))
    time.sleep(out)
    process.send_signal(signal.SIGCONT)


@contextmanager
def fill_disk(cluster: FaultCluster, chance: Random) -> Iterator[Struck]:
    """The disk of a host is full for a while."""
    host, full = chance.choice(HOSTS), chance.uniform(*FULL_FOR)
    taken = cluster.disks[host].fill()
    yield Struck(f"{host}'s disk full for {full:.1f} s by {taken / 2**20:.0f} MiB", (host,))
    time.sleep(full)
    cluster.disks[host].free()


@contextmanager
def kill_controller(cluster: FaultCluster, chance: Random) -> Iterator[Struck]:
    """The controller is killed, and another one started."""
    rest = chance.uniform(*AGAIN_AFTER)
    cluster.controller.kill()
    yield Struck(f"controller killed, another after {rest:.1f} s")
    time.sleep(rest)
    cluster.start_controller()


@contextmanager
def kill_scheduler(cluster: FaultCluster, chance: Random) -> Iterator[Struck]:
    """The scheduler is killed, and another one started."""
    rest = chance.uniform(*AGAIN_AFTER)
    assert cluster.scheduler is not None
    cluster.scheduler.kill()
    yield Struck(f"scheduler killed, another after {rest:.1f} s")
    time.sleep(rest)
    cluster.start_scheduler()


@contextmanager
def restart_database(cluster: FaultCluster, chance: Random) -> Iterator[Struck]:
    """The database is stopped at once, and started again."""
    rest = chance.uniform(*AGAIN_AFTER)
    cluster.server.stop()
    yield Struck(f"database stopped at once, started after {rest:.1f} s")
    time.sleep(rest)
    cluster.server.start()


FAULTS = (
    Fault("host-killed", "a host killed", kill_host, again=1, trials=25),
    Fault("host-cut-off", "a host cut off", cut_host_off, again=1, trials=45),
    Fault("host-hung", "a host hung", hang_host, again=1, trials=45),
    Fault("disk-full", "a host's disk full", fill_disk, again=1, trials=75),
    Fault("controller-killed", "the controller killed", kill_controller, again=0, trials=30),
    Fault("scheduler-killed", "the scheduler killed", kill_scheduler, again=4, trials=30),
    Fault("database-restarted", "the database restarted", restart_database, again=0, trials=30),
)
