"""A small `make prove-coverage`: do the intervals of whole jobs hold the known truth?"""

from typing import Any

import pytest
from scipy import stats

from optimizer.budget.power import ALPHA
from studies import coverage_table
from tests.support.optimizer.known_truth import BLOCKS, KINDS, METRICS, line_of

pytestmark = [pytest.mark.usefixtures("unranked"), pytest.mark.slow]

EFFECTS, NULL, HEAVY, _ = BLOCKS
QUICK = KINDS.index((24, "random", "paper", None))
JOBS = 30
Line = dict[str, Any]


def lines_of(block, jobs: int) -> list[Line]:
    return [line_of(block, QUICK + len(KINDS) * place) for place in range(jobs)]


@pytest.fixture(scope="module")
def effects() -> list[Line]:
    return [*lines_of(EFFECTS, JOBS), *lines_of(HEAVY, JOBS)]


@pytest.fixture(scope="module")
def nulls() -> list[Line]:
    return lines_of(NULL, JOBS)


def test_intervals_hold_the_truth_in_95_percent(effects: list[Line]):
    counts = [coverage_table.held(effects, metric) for metric in METRICS]
    for held, cases in counts:
        assert cases >= 0.9 * len(effects)
        low, high = stats.binom.interval(0.99, cases, 0.95)
        assert low <= held <= high
    pooled = sum(held for held, _ in counts) / sum(cases for _, cases in counts)
    assert 0.93 <= pooled <= 0.97


def test_the_truth_differs_from_job_to_job_and_from_none(effects: list[Line], nulls: list[Line]):
    true = [line["changes"]["waf"][0] for line in effects if line["changes"]]
    assert len(set(true)) > 0.7 * len(true)  # winners of few changes have some in common
    assert min(true) < -5
    assert {line["changes"]["waf"][0] for line in nulls if line["changes"]} == {0}


def test_hardly_any_null_job_reports_a_gain(nulls: list[Line]):
    assert sum(line["gain"] for line in nulls) <= stats.binom.ppf(0.99, JOBS, ALPHA)
