from collections.abc import Iterator
from pathlib import Path

import pytest

from jobs.cluster.certificates import make_set
from tests.support.cluster.small_cluster import SmallCluster, small_cluster


@pytest.fixture(scope="session")
def certificates(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A set; tests that change one copy it."""
    folder = tmp_path_factory.mktemp("certificates") / "set"
    make_set(folder, ["bench.example"])
    return folder


@pytest.fixture(scope="session")
def encrypted(
    tmp_path_factory: pytest.TempPathFactory, certificates: Path
) -> Iterator[SmallCluster]:
    """A scheduler and a host that listen on all interfaces, with certificates."""
    folder = tmp_path_factory.mktemp("cluster") / "tls"
    with small_cluster(folder, listen="0.0.0.0", certificates=certificates) as cluster:
        yield cluster
