"""Rankings by small forests: for tests that need one and do not judge how good it is."""

from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial

import pytest

from models import random_forest
from models.importance.ranking import rank_parameters
from models.random_forest import bagged_forest
from optimizer.evaluation import evaluation
from optimizer.ranking import forest_effects


@contextmanager
def small_forests() -> Iterator[None]:
    """As long as it lasts forests are small, those of the draws and those of all trials."""
    with pytest.MonkeyPatch.context() as patch:
        quick = partial(rank_parameters, trees=10, resamples=3, n_repeats=2)
        patch.setattr(evaluation, "rank_parameters", quick)
        for module in (random_forest, forest_effects):
            patch.setattr(module, "bagged_forest", partial(bagged_forest, bags=4))
        yield
