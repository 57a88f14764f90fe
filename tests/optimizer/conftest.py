from collections.abc import Iterator

import pytest

from tests.support.models.quick_ranking import no_ranking, no_simplified, small_forests


@pytest.fixture(scope="module")
def quick_ranking() -> Iterator[None]:
    """Small forests: for tests that need a ranking and do not judge how good it is.

    One at a time: scikit-learn sets warning filters in its threads, which are global.
    """
    with small_forests():
        yield


@pytest.fixture(scope="module")
def unranked() -> Iterator[None]:
    """No ranking for a job's readers: for tests of whole simulated jobs that look at none."""
    with no_ranking():
        yield


@pytest.fixture
def unsimplified() -> Iterator[None]:
    """No simplified versions: for tests of hosts, clocks and controllers."""
    with no_simplified():
        yield
