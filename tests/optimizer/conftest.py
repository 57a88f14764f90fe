from collections.abc import Iterator

import pytest

from tests.support.models.quick_ranking import no_ranking, small_forests


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
