"""The genetic algorithm is the paper's: eight chromosomes, then generations of four."""

from itertools import combinations, product

import pytest

from optimizer.budget.budget import divide
from optimizer.evaluation.evaluation import Evaluation
from optimizer.strategies.genetic import (
    POPULATION,
    SURVIVORS,
    generation_of,
    searched_parameters,
)
from optimizer.trials.trial import History, Phase, Purpose, Trial
from sampler.space.space import digest
from sampler.space.space_file import load_space
from tests.support.models.quick_ranking import no_simplified
from tests.support.optimizer.pretend_bench import (
    Job,
    PretendBench,
    bowl,
    candidates,
    flat,
    job_of,
    problem_of,
    small_space,
)

pytestmark = pytest.mark.usefixtures("quick_ranking", "unranked")
BASELINE = bowl(small_space().default_configuration())


def run(trials: int = 96, function=bowl, **more) -> Job:
    job = job_of(problem_of("genetic", **more), trials, PretendBench(function))
    with no_simplified():
        job.run()
    return job


@pytest.fixture(scope="module")
def job() -> Job:
    return run(top=3)


@pytest.fixture(scope="module")
def searched(job: Job) -> list[Trial]:
    return candidates(job.log.trials(), Phase.SEARCH)


def survivors(job: Job, number: int) -> list[Trial]:
    """The best four chromosomes measured before a trial, by the metrics themselves."""
    before = [t for t in candidates(job.log.trials(), Phase.SEARCH) if t.number < number]
    before.sort(key=lambda t: -job.problem.objective.fitness(t.metrics, BASELINE))
    return before[:SURVIVORS]


def is_exhausted(job: Job, number: int) -> bool:
    """Whether every child of two of the best four was measured before: then genes are new."""
    seen = {trial.digest for trial in job.log.trials() if trial.number < number}
    return all(
        digest(job.problem.configuration(dict(zip(a.point, genes, strict=True)))) in seen
        for a, b in combinations(survivors(job, number), 2)
        for genes in product(*((a.point[name], b.point[name]) for name in a.point))
    )


def place_of(index: int) -> int:
    return (index - POPULATION) % (POPULATION - SURVIVORS)


def children(searched: list[Trial]) -> list[Trial]:
    return [t for i, t in enumerate(searched) if i >= 8 and place_of(i) < 2]


def newcomers(searched: list[Trial]) -> list[Trial]:
    return [t for i, t in enumerate(searched) if i < 8 or place_of(i) >= 2]


class TestGenerations:
    @pytest.mark.slow
    def test_begin_with_eight_go_on_by_four_and_are_told(self, searched: list[Trial]):
        generations = [generation_of(index) for index in range(len(searched))]
        assert generations[:16] == [1] * 8 + [2] * 4 + [3] * 4 and generations[-1] >= 6
        for index, trial in enumerate(searched):
            assert trial.why.startswith(f"generation {generation_of(index)}: ")
            assert ("child of two survivors" in trial.why) == (trial in children(searched))

    def test_half_of_the_budget_is_drawn_before(self, job: Job, searched: list[Trial]):
        sampled = candidates(job.log.trials(), Phase.SAMPLE)
        assert abs(len(sampled) - divide(96).explore / 2) <= 1
        assert max(t.number for t in sampled) < min(t.number for t in searched)


class TestChromosomes:
    @pytest.mark.slow
    def test_hold_the_most_important_parameters_alone(self, job: Job, searched: list[Trial]):
        genes = searched_parameters(Evaluation(job.problem, History(job.log.trials())))
        assert len(genes) == 3
        assert {"x", "y"} <= set(genes)
        assert all(set(trial.point) == set(genes) for trial in searched)

    def test_leave_the_others_at_the_baseline(self, job: Job, searched: list[Trial]):
        default = job.problem.space.default_configuration()
        genes = set(searched[0].point)
        for trial in searched:
            for name, value in trial.configuration.items():
                # ``level`` wakes up with its codec and then has its default.
                assert name in genes or value == default.get(name, 6)

    def test_children_have_two_parents(self, job: Job, searched: list[Trial]):
        bred = [t for t in children(searched) if not is_exhausted(job, t.number)]
        assert len(bred) >= 6
        for child in bred:
            best = survivors(job, child.number)
            assert any(
                all(gene in (a.point[n], b.point[n]) for n, gene in child.point.items())
                for i, a in enumerate(best)
                for b in best[i + 1 :]
            )

    def test_newcomers_share_no_gene_with_anyone(self, searched: list[Trial]):
        for name in searched[0].point:
            genes = [trial.point[name] for trial in newcomers(searched)]
            assert len(set(genes)) == len(genes)

    def test_new_genes_come_from_the_whole_range(self, searched: list[Trial]):
        genes = [gene for trial in newcomers(searched) for gene in trial.point.values()]
        assert min(genes) < 0.1 and max(genes) > 0.9

    def test_draws_have_no_children(self, job: Job):
        drawn = {t.point["x"] for t in candidates(job.log.trials(), Phase.SAMPLE)}
        searched = {t.point["x"] for t in candidates(job.log.trials(), Phase.SEARCH)}
        assert drawn.isdisjoint(searched)

    def test_failed_chromosomes_have_no_children(self):
        job = job_of(
            problem_of("genetic", top=2),
            64,
            PretendBench(fails=lambda t: "no" if t.purpose is Purpose.CANDIDATE
                         and t.number % 3 == 0 else None),
        )  # fmt: skip
        job.run()
        searched = candidates(job.log.trials(), Phase.SEARCH)
        failed = [trial for trial in searched if not trial.done]
        assert failed and len(children(searched)) >= 4
        for child in children(searched)[:4]:  # later ones may all have been measured before
            alive = [t for t in searched if t.done and t.number < child.number]
            for name, gene in child.point.items():
                assert gene in {t.point[name] for t in alive}


def threads_matter_most(configuration):
    cost = 3.0 * configuration["threads"] + 10.0 * configuration["compression_ratio"]
    return flat(configuration) | {"waf": cost}


@pytest.fixture(scope="module")
def paper() -> Job:
    return run(function=threads_matter_most, space=load_space("paper"), objective="waf")


class TestThePapersSpace:
    @pytest.mark.slow
    def test_threads_are_ranked_but_never_searched(self, paper: Job):
        history = History(paper.log.trials())
        top = Evaluation(paper.problem, history).ranking()[:5]
        assert top[0] == "threads"
        genes = searched_parameters(Evaluation(paper.problem, history))
        assert genes == tuple(name for name in top if name != "threads")
        for trial in candidates(history, Phase.SEARCH):
            assert set(trial.point) == set(genes) >= {"compression_ratio"}
            assert trial.configuration["threads"] == 1
        drawn = candidates(history, Phase.SAMPLE)
        assert {trial.configuration["threads"] for trial in drawn} == {1, 2, 4}

    def test_nothing_is_searched_where_only_the_unsearched_matters(self):
        job = run(96, threads_matter_most, space=load_space("paper"), objective="waf", top=1)
        assert candidates(job.log.trials(), Phase.SEARCH) == []
        assert len(candidates(job.log.trials(), Phase.SAMPLE)) > 5


class TestStopping:
    def test_after_so_many_generations(self):
        job = run(generations=2, objective="waf")
        assert len(candidates(job.log.trials(), Phase.SEARCH)) == 12
        assert job.log.trials()[-1].purpose is Purpose.PROVE

    @pytest.mark.slow
    def test_when_the_fitness_is_reached(self):
        whole = candidates(run(objective="waf").log.trials(), Phase.SEARCH)
        fitness = [1000 * (1 - t.metrics["waf"] / BASELINE["waf"]) for t in whole]
        best = max(fitness)
        assert fitness.index(best) > 0
        job = run(objective="waf", fitness=best - 1e-9)
        stopped = candidates(job.log.trials(), Phase.SEARCH)
        assert [t.point for t in stopped] == [t.point for t in whole[: fitness.index(best) + 1]]
        assert job.log.trials()[-1].purpose is Purpose.PROVE

    def test_after_three_generations_without_a_new_best(self):
        job = run(function=flat, stop_early=True, objective="waf")
        assert len(candidates(job.log.trials(), Phase.SEARCH)) == 1 + 3 * 4

    def test_not_while_it_gets_better(self):
        falling = iter(range(10_000, 0, -1))
        job = run(
            function=lambda c: flat(c) | {"waf": float(next(falling))},
            stop_early=True,
            objective="waf",
        )
        assert len(job.log.trials()) == 96

    def test_only_when_asked_to(self):
        assert len(run(function=flat, objective="waf").log.trials()) == 96
