from collections.abc import Iterator
from functools import partial

import pytest

from models.importance.ranking import rank_parameters
from optimizer.evaluation import evaluation as knowledge


@pytest.fixture(scope="module")
def quick_ranking() -> Iterator[None]:
    """Small forests: for tests that need a ranking and do not judge how good it is.

    One at a time: scikit-learn sets warning filters in its threads, which are global.
    """
    quick = partial(rank_parameters, trees=10, resamples=2, n_repeats=1)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(knowledge, "rank_parameters", quick)
        yield
