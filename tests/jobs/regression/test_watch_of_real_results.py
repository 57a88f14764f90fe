"""The series of the watch, out of results that jobs wrote, and when they end."""

import numpy as np
import pytest

from jobs.regression.detection import series_of
from jobs.specification.specification import Specification
from tests.support.api.stored_job import proved
from tests.support.jobs.batch_nights import ASKED, nights_of, result

BASE = {"waf": 2.3, "sa": 0.62, "time": 1.1, "rate": 110_000.0}


@pytest.mark.slow
def test_the_default_is_the_median_of_all_runs_of_the_baseline_not_of_the_proof():
    finished = proved()
    runs = [t.metrics["time"] for t in finished.trials if t.is_baseline and t.done]
    (found,) = [
        each
        for each in series_of(nights_of([finished.result] * 3))
        if (each.kind, each.metric) == ("default", "time")
    ]
    assert found.shown == pytest.approx(np.median(runs))
    assert finished.result["baseline"]["metrics"]["time"] != pytest.approx(np.median(runs))


@pytest.mark.parametrize("name", list(Specification.model_fields))
def test_any_setting_that_changes_ends_the_series_of_the_best(name: str):
    """But the seed and where a space came from: they are no setting of the search."""
    value: object = "another"
    if isinstance(ASKED[name], dict):
        value = ASKED[name] | {"name": value}
    other = ASKED | {name: value}
    changes = dict.fromkeys(BASE, -5.0)
    nights = nights_of([result(BASE, changes=changes, job=job) for job in (ASKED, other, other)])
    fitness = [each for each in series_of(nights) if each.metric == "fitness"]
    goes_on = name in ("seed", "shipped_space", "no_price")
    assert len(fitness) == (1 if goes_on else 2)
