import sys
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import pytest

# What the optimizer's tests measure with is in their folder.
sys.path.append(str(Path(__file__).parents[1] / "optimizer"))

from pretended_job import HOSTILE, failing, finished_job

from jobs.results.finished import Finished
from models.importance.ranking import rank_parameters
from optimizer.evaluation import evaluation as knowledge


@pytest.fixture(scope="package", autouse=True)
def quick_ranking() -> Iterator[None]:
    """Small forests: how good a ranking is is not judged here."""
    quick = partial(rank_parameters, trees=10, resamples=3, n_repeats=2, n_jobs=1)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(knowledge, "rank_parameters", quick)
        knowledge._ranking.cache_clear()
        yield
    knowledge._ranking.cache_clear()


@pytest.fixture(scope="package")
def finished() -> Finished:
    """A job with something better, drift, and failures whose words are hostile."""
    return failing(finished_job(60), HOSTILE)
