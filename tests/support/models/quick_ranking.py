"""Quick rankings, or none: for tests that do not judge how good one is."""

from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial

import pytest

from models.importance import forest_importance, rank_parameters
from optimizer.budget import budget
from optimizer.evaluation import evaluation
from optimizer.results.ranking import ParameterRanking
from optimizer.run import driver
from optimizer.surrogate import parameter_effects


@contextmanager
def no_ranking() -> Iterator[None]:
    """As long as it lasts a job ranks nothing for its readers; its search and proof are the same.

    Nine tenths of a small simulated job's time are the ranking that it keeps.
    """
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(
            driver, "parameter_ranking", lambda _: ParameterRanking(parameters=[], forest={})
        )
        yield


@contextmanager
def no_simplified() -> Iterator[None]:
    """As long as it lasts no simplified versions are tried, for which models are fitted."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(budget, "_PER_SIMPLIFIED", 10**9)
        yield


@contextmanager
def small_forests() -> Iterator[None]:
    """As long as it lasts forests are small, those of the draws and those of all trials."""
    with pytest.MonkeyPatch.context() as patch:
        quick = partial(rank_parameters, trees=10)
        patch.setattr(evaluation, "rank_parameters", quick)
        few = partial(forest_importance, trees=10)
        patch.setattr(parameter_effects, "forest_importance", few)
        yield
