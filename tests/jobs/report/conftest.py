from collections.abc import Iterator
from functools import partial

import pytest

from jobs.results.outcome import JobOutcome
from models.importance.ranking import rank_parameters
from optimizer.evaluation import evaluation as knowledge
from tests.support.jobs.pretended_job import HOSTILE, failing, finished_job


@pytest.fixture(scope="package", autouse=True)
def quick_ranking() -> Iterator[None]:
    """Small forests: how good a ranking is is not judged here."""
    quick = partial(rank_parameters, trees=10, resamples=3, n_repeats=2)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(knowledge, "rank_parameters", quick)
        yield


@pytest.fixture(scope="package")
def finished() -> JobOutcome:
    """A job with something better, drift, and failures whose words are hostile."""
    return failing(finished_job(60), HOSTILE)
