"""Where nothing is better, hardly any job says otherwise: choosing must not leak into proving."""

import pytest
from scipy import stats

from optimizer.budget.power import ALPHA
from optimizer.results.result import Conclusion
from optimizer.trials.trial import Purpose
from tests.support.models.quick_ranking import no_simplified
from tests.support.optimizer.pretend_bench import PretendBench, flat, job_of, problem_of

pytestmark = [pytest.mark.usefixtures("unranked"), pytest.mark.slow]
JOBS = 60
NOISE = {"waf": 0.02, "sa": 0.01, "time": 0.06, "rate": 0.06}


@pytest.fixture(scope="module")
def conclusions() -> list[Conclusion]:
    with no_simplified():
        return [
            job_of(
                problem_of("random", seed=seed), 24, PretendBench(flat, NOISE, seed=1000 + seed)
            ).run()
            for seed in range(JOBS)
        ]


def test_every_job_spends_its_budget_and_is_judged(conclusions: list[Conclusion]):
    assert all(len(c.history) == 24 and c.verdict.pairs == 3 for c in conclusions)


def test_hardly_any_job_finds_something_better(conclusions: list[Conclusion]):
    confirmed = sum(c.verdict.confirmed for c in conclusions)
    assert confirmed <= stats.binom.ppf(0.99, JOBS, ALPHA)


def test_the_proofs_fitness_is_not_lifted_by_the_choice(conclusions: list[Conclusion]):
    lifted = [c.verdict.fitness for c in conclusions]
    assert stats.ttest_1samp(lifted, 0, alternative="greater").pvalue > 0.001


def test_the_runs_that_chose_would_have_been_fooled(conclusions: list[Conclusion]):
    """The runs left out of the proof are rightly left out: by them, most winners look good."""
    lifted = []
    for conclusion in conclusions:
        objective = problem_of().objective
        chosen = conclusion.history.of(Purpose.SELECT)
        theirs = next(t for t in chosen if t.is_baseline).metrics
        best = max(objective.fitness(t.metrics, theirs) for t in chosen if not t.is_baseline)
        lifted.append(best)
    assert stats.ttest_1samp(lifted, 0, alternative="greater").pvalue < 0.01
