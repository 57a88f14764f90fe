"""Where nothing is better, hardly any job says otherwise: choosing must not leak into proving."""

import pytest
from scipy import stats

from optimizer.budget.power import ALPHA
from optimizer.confirmation.proof import judge
from optimizer.results.result import Conclusion
from optimizer.trials.trial import History, Purpose
from tests.support.optimizer.pretend_bench import PretendBench, flat, job_of, problem_of

pytestmark = [pytest.mark.usefixtures("unranked"), pytest.mark.slow]
JOBS = 120
NOISE = {"waf": 0.02, "sa": 0.01, "time": 0.06, "rate": 0.06}


@pytest.fixture(scope="module")
def conclusions() -> list[Conclusion]:
    found = []
    for seed in range(JOBS):
        bench = PretendBench(flat, noise=NOISE, seed=1000 + seed)
        found.append(job_of(problem_of("random", seed=seed), 24, bench).run())
    return found


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
    assert stats.ttest_1samp(lifted, 0, alternative="greater").pvalue < 1e-6


def test_a_true_improvement_of_the_same_size_as_the_noise_is_mostly_found():
    def better(configuration):
        factor = 0.85 if configuration["x"] < 0.5 else 1.0
        found = {name: value * factor for name, value in flat(configuration).items()}
        return found | {"rate": 1e5 / factor}

    confirmed = 0
    for seed in range(30):
        bench = PretendBench(better, noise=NOISE, seed=2000 + seed)
        conclusion = job_of(problem_of("random", seed=seed), 24, bench).run()
        confirmed += conclusion.verdict.confirmed
        assert isinstance(conclusion.history, History)
    assert confirmed >= 22


def test_no_pairs_no_verdict():
    assert judge(problem_of().objective, [], planned=3) is None
