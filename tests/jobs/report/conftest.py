from collections.abc import Iterator
from functools import partial

import pytest

from jobs.results.outcome import JobOutcome
from tests.support.jobs.pretended_job import HOSTILE, failing, finished_job
from tests.support.made_once import made_once
from tests.support.models.quick_ranking import small_forests


@pytest.fixture(scope="package", autouse=True)
def quick_ranking() -> Iterator[None]:
    """Small forests: how good a ranking is is not judged here."""
    with small_forests():
        yield


@pytest.fixture(scope="package")
def finished() -> JobOutcome:
    """A job with something better, drift, and failures whose words are hostile."""
    return failing(made_once("finished", partial(finished_job, 60)), HOSTILE)
