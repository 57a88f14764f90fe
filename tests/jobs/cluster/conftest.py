from collections.abc import Iterator

import pytest

from tests.support.cluster.bench_cluster import BenchCluster, bench_cluster


@pytest.fixture(scope="module")
def hosts(tmp_path_factory: pytest.TempPathFactory) -> Iterator[BenchCluster]:
    with bench_cluster(tmp_path_factory.mktemp("cluster"), "a", "b") as running:
        yield running


@pytest.fixture
def cluster(hosts: BenchCluster) -> Iterator[BenchCluster]:
    """Hosts a and b of a module's own scheduler, without a job."""
    hosts.begin_anew("a", "b")
    yield hosts
    hosts.end_controllers()
