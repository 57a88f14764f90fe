"""Nothing listens beyond loopback without TLS: looked up in the kernel's own table."""

import ipaddress
import urllib.error
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from distributed import Client, Scheduler

from jobs.cluster.certificates import CertificateRole, security_of
from jobs.cluster.listening import scheduler_address
from jobs.cluster.scheduler import SETTINGS
from tests.support.cluster.open_sockets import listening_at
from tests.support.cluster.small_cluster import SmallCluster, small_cluster


@pytest.fixture(scope="module")
def plain(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SmallCluster]:
    with small_cluster(tmp_path_factory.mktemp("ports") / "plain") as cluster:
        yield cluster


def beyond_loopback(sockets: set[tuple[str, int]]) -> set[int]:
    return {port for host, port in sockets if not ipaddress.ip_address(host).is_loopback}


@pytest.mark.slow
def test_without_certificates_all_sockets_are_loopback(plain: SmallCluster) -> None:
    for pid, address in (
        (plain.scheduler.process.pid, plain.scheduler_address),
        (plain.host.process.pid, plain.host_address),
    ):
        sockets = listening_at(pid)
        assert int(address.rpartition(":")[2]) in {port for _, port in sockets}
        assert len(sockets) == 2  # Dask's and its HTTP server's
        assert beyond_loopback(sockets) == set()


@pytest.mark.slow
def test_with_certificates_dask_alone_is_reached_from_elsewhere(encrypted: SmallCluster) -> None:
    for pid, address in (
        (encrypted.scheduler.process.pid, encrypted.scheduler_address),
        (encrypted.host.process.pid, encrypted.host_address),
    ):
        sockets = listening_at(pid)
        assert beyond_loopback(sockets) == {int(address.rpartition(":")[2])}
        assert len(sockets) == 2


def test_the_http_server_of_the_scheduler_answers_nothing(plain: SmallCluster) -> None:
    dask = int(plain.scheduler_address.rpartition(":")[2])
    (http,) = {port for _, port in listening_at(plain.scheduler.process.pid)} - {dask}
    for page in ("/", "/info/main/workers.html", "/json/identity.json", "/metrics", "/health"):
        with pytest.raises(urllib.error.HTTPError) as refused:
            urllib.request.urlopen(f"http://127.0.0.1:{http}{page}", timeout=30)
        refused.value.close()
        assert refused.value.code == 404


@pytest.mark.slow
def test_a_controller_with_its_certificate_runs_a_trial(
    encrypted: SmallCluster, certificates: Path
) -> None:
    address = scheduler_address(encrypted.scheduler_address, encrypted=True)
    assert urlsplit(address).scheme == "tls"
    security = security_of(certificates, CertificateRole.CONTROLLER)

    def in_effect(dask_scheduler: Scheduler) -> dict[str, object]:
        return {
            "ttl": dask_scheduler.worker_ttl,
            "failures": dask_scheduler.allowed_failures,
            "stealing": "stealing" in dask_scheduler.periodic_callbacks,
            "encrypted": dask_scheduler.security.require_encryption,
        }

    with Client(address, security=security, set_as_default=False) as client:
        trial = client.submit(pow, 3, 4, pure=False, resources={"bench": 1})
        assert trial.result(timeout=60) == 81
        assert client.run_on_scheduler(in_effect) == {
            "ttl": 60.0,
            "failures": SETTINGS["distributed.scheduler.allowed-failures"],
            "stealing": False,
            "encrypted": True,
        }
