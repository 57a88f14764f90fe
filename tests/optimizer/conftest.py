from collections.abc import Iterator

import pytest

from tests.support.models.quick_ranking import small_forests


@pytest.fixture(scope="module")
def quick_ranking() -> Iterator[None]:
    """Small forests: for tests that need a ranking and do not judge how good it is.

    One at a time: scikit-learn sets warning filters in its threads, which are global.
    """
    with small_forests():
        yield
