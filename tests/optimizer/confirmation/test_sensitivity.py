"""What the fresh pairs could have shown, whatever they showed."""

import math

import numpy as np
import pytest

from optimizer.budget.power import smallest_mean
from optimizer.confirmation.proof import Pair, sensitivity_of
from optimizer.objective.objective_file import load_objective
from optimizer.results.result import job_result, proof_pairs
from tests.support.optimizer.pretend_bench import PretendBench, flat, job_of, problem_of

pytestmark = pytest.mark.usefixtures("quick_ranking", "unranked")
PAPER, WAF = load_objective("paper"), load_objective("waf")


def waf_pairs(*values: tuple[float, float]) -> list[Pair]:
    return [({"waf": theirs}, {"waf": mine}) for theirs, mine in values]


def test_is_by_the_pairs_own_scatter():
    pairs = waf_pairs((4.0, 3.0), (4.4, 3.5), (3.9, 2.8), (4.1, 3.2))
    found = sensitivity_of(WAF, pairs)
    logs = [math.log(mine["waf"] / theirs["waf"]) for theirs, mine in pairs]
    shift = smallest_mean(np.std(logs, ddof=1), 4)
    assert found.smallest_change == {"waf": pytest.approx(100 * math.expm1(shift))}
    assert (found.level, found.pairs) == (0.8, 4)


def test_is_of_the_pairs_that_the_verdict_is_of():
    pairs = waf_pairs((4.0, 3.0), (4.4, 3.5), (3.9, 2.8), (4.1, 3.2))
    lacking: Pair = ({"sa": 1.0}, {"waf": 1.0})
    assert sensitivity_of(WAF, [lacking, *pairs]) == sensitivity_of(WAF, pairs)


def test_is_not_moved_by_the_change_that_was_found():
    """Otherwise it would be "observed power", the p-value in other words."""
    pairs = waf_pairs((4.0, 3.0), (4.4, 3.5), (3.9, 2.8), (4.1, 3.2))
    worse = [(t, {"waf": 3 * m["waf"]}) for t, m in pairs]
    before, after = (sensitivity_of(WAF, these).smallest_change["waf"] for these in (pairs, worse))
    assert before == pytest.approx(after)


def test_pairs_that_share_their_noise_show_more_than_single_runs_would():
    shared = waf_pairs(*[(level, 0.9 * level * wobble) for level, wobble in
                         ((1.0, 1.01), (2.0, 0.99), (4.0, 1.0), (8.0, 1.01))])  # fmt: skip
    assert sensitivity_of(WAF, shared).smallest_change["waf"] < 3


@pytest.mark.parametrize("ended_well", [0, 1])
def test_of_fewer_than_two_pairs_is_unknown(ended_well: int):
    assert sensitivity_of(WAF, waf_pairs(*[(4.0, 3.0)] * ended_well)) is None


def test_of_counters_that_never_vary_is_nothing():
    found = sensitivity_of(WAF, waf_pairs(*[(4.0, 3.0)] * 3))
    assert found.smallest_change == {"waf": 0}
    assert found.fitness == 0


def test_of_values_that_are_not_above_zero_is_in_percent_of_the_baselines_mean():
    found = sensitivity_of(WAF, [({"waf": 4.0, "x": -2.0}, {"waf": 3.0, "x": x}) for x in (0, 1)])
    assert found.smallest_change["x"] == pytest.approx(100 * smallest_mean(math.sqrt(0.5), 2) / 2)


class TestInTheResult:
    def document(self, **bench):
        problem = problem_of("random")
        conclusion = job_of(problem, 24, PretendBench(flat, **bench)).run()
        return conclusion, job_result(conclusion, job={}, environment={}).document()

    @pytest.mark.slow
    def test_stands_where_nothing_was_proven_better(self):
        conclusion, document = self.document(noise=0.05, seed=1)
        assert document["best"] is None
        found = sensitivity_of(PAPER, proof_pairs(conclusion))
        assert document["power"] == found.document() | {"planned": None}
        assert document["power"].keys() == {
            "level", "pairs", "smallest_change", "fitness", "planned"}  # fmt: skip
        assert document["power"]["smallest_change"].keys() >= {"waf", "sa", "time", "rate"}

    def test_is_null_with_fewer_than_two_pairs(self):
        _, document = self.document(fails=lambda trial: "no" if trial.number > 20 else None)
        assert document["verdict"] is None and document["power"] is None
