"""The genetic algorithm of Jin et al. (JIPS 2022), section 4.5, over the top parameters.

Half of the budget is drawn at random and ranked, or less where the ranking is stable sooner
(``sampling``). Then eight random chromosomes over the k most important parameters; of
each generation the best four survive, two children come from a crossover of two survivors, and two
chromosomes are wholly new. The other parameters stay at the baseline.
"""

import math
import random
from dataclasses import dataclass
from itertools import islice
from typing import ClassVar

from deap import tools

from optimizer.evaluation.evaluation import Evaluation
from optimizer.ranking.sampling import decides_at, enough_drawn
from optimizer.strategies.draws import draws_planned, propose_draw, sampled
from optimizer.strategies.guided import Individual, drawing_from
from optimizer.strategies.strategy import Proposal, Strategy, first_new
from optimizer.trials.problem import Problem
from optimizer.trials.trial import Phase, Purpose, Trial
from sampler.space.latent import Point

POPULATION = 8
SURVIVORS = 4
CHILDREN = 2
_STALE_GENERATIONS = 3
_CROSSOVERS = 20  # attempts at a child that was never measured, before a new chromosome


@dataclass(frozen=True)
class Genetic(Strategy):
    """Samples, ranks, then evolves."""

    settings: ClassVar[frozenset[str]] = frozenset(
        {"samples", "top", "over", "generations", "fitness", "stop_early"}
    )

    def samples(self, problem: Problem, explore: int) -> int:
        """As many as are asked for, or half of them."""
        asked = problem.search.samples
        half = max(1, round(explore / 2))
        return half if asked is None else min(asked, explore)

    def needs_all_samples(self, evaluation: Evaluation, explore: int) -> bool:
        """At the end of the draws, and where they may end sooner."""
        problem, history = evaluation.problem, evaluation.history
        planned = self.samples(problem, explore)
        if planned >= explore:
            return False
        return sampled(history) >= planned or decides_at(evaluation, planned)

    def sampling_done(self, evaluation: Evaluation, explore: int) -> bool:
        """When as many as planned are drawn, or enough; a search that has begun goes on."""
        problem, history = evaluation.problem, evaluation.history
        planned = self.samples(problem, explore)
        if planned >= explore:
            return False
        if history.numbers(Purpose.CANDIDATE, Phase.SEARCH) or sampled(history) >= planned:
            return True
        return enough_drawn(evaluation, planned)

    def propose(self, evaluation: Evaluation, *, number: int, explore: int) -> Proposal | None:
        """A draw, then a chromosome; see ``Strategy.propose``."""
        problem, history = evaluation.problem, evaluation.history
        samples, index = self.samples(problem, explore), sampled(history)
        if index < samples and not self.sampling_done(evaluation, explore):
            n = draws_planned(history, samples)
            return propose_draw(evaluation, "random", number=number, n=n)
        searched = len(history.numbers(Purpose.CANDIDATE, Phase.SEARCH))
        drawn = len(history.own(Purpose.CANDIDATE, Phase.SAMPLE))
        # Simplified versions are of no generation.
        chromosomes = searched - len(history.simplified)
        if drawn + searched >= explore or _reached(evaluation, chromosomes):
            return None
        genes = searched_parameters(evaluation)
        if not genes:
            return None
        return _chromosome(evaluation, chromosomes, genes, number)


def searched_parameters(evaluation: Evaluation) -> tuple[str, ...]:
    """The k most important parameters, less those that are never searched (the paper's thread).

    As they were known when the search began: trials that are given while it goes on do not move
    the search to other parameters, of which its survivors know nothing. A user who named the
    parameters gets just those.
    """
    problem, history = evaluation.problem, evaluation.history
    if problem.search.over:
        return problem.search.over
    searched = history.numbers(Purpose.CANDIDATE, Phase.SEARCH)
    top = evaluation.ranking(before=searched[0] if searched else None)[: problem.search.top]
    return tuple(name for name in top if name not in problem.space.unsearched)


def generation_of(index: int) -> int:
    """The generation, from 1, of the index-th chromosome that was measured."""
    return 1 if index < POPULATION else 2 + (index - POPULATION) // (POPULATION - SURVIVORS)


def _reached(evaluation: Evaluation, searched: int) -> bool:
    """Whether the search may end before its budget: generations, fitness, or no more progress."""
    settings = evaluation.problem.search
    if settings.generations is not None and generation_of(searched) > settings.generations:
        return True
    if settings.fitness is None and not settings.stop_early:
        return False
    # Whole measurements only: the bounds of a trial that was cut off reach nothing.
    whole = [t for t in _chromosomes(evaluation) if t.done]
    values = [value for value, _ in evaluation.comparable(whole)]
    if settings.fitness is not None and max(values, default=-math.inf) >= settings.fitness:
        return True
    lately = _STALE_GENERATIONS * (POPULATION - SURVIVORS)
    return (
        settings.stop_early
        and len(values) > lately
        and values.index(max(values)) < (len(values) - lately)
    )


def _chromosomes(evaluation: Evaluation) -> list[Trial]:
    searched = evaluation.history.of(Purpose.CANDIDATE, Phase.SEARCH)
    return [trial for trial in searched if not trial.is_simplified]


def _chromosome(
    evaluation: Evaluation, index: int, genes: tuple[str, ...], number: int
) -> Proposal | None:
    problem = evaluation.problem
    generation = generation_of(index)
    place = index if generation == 1 else (index - POPULATION) % (POPULATION - SURVIVORS)
    rng = random.Random(problem.seed_of(number))
    crossed = generation > 1 and place < CHILDREN
    parents = _survivors(evaluation, genes) if crossed else []

    def point(attempt: int) -> Point:
        if len(parents) >= 2 and attempt < _CROSSOVERS:
            values = _child(parents, rng, place)
        else:
            values = [rng.random() for _ in genes]
        return dict(zip(genes, values, strict=True))

    kind = "child of two survivors" if crossed else "new chromosome"
    why = f"generation {generation}: {kind}, over {', '.join(genes)}"
    return first_new(evaluation, Phase.SEARCH, why, point)


def _survivors(evaluation: Evaluation, genes: tuple[str, ...]) -> list[list[float]]:
    """The best four so far: survivors stay in the population, so none better is ever lost."""
    ranked = evaluation.best_first(_chromosomes(evaluation))
    points = (trial.point or {} for _, trial in ranked)
    able = (point for point in points if point.keys() >= set(genes))
    return [[point[name] for name in genes] for point in islice(able, SURVIVORS)]


def _child(parents: list[list[float]], rng: random.Random, place: int) -> list[float]:
    mother, father = rng.sample(parents, 2)
    crossover = drawing_from(random.Random(rng.getrandbits(63)), tools.crossover)
    children = crossover.cxUniform(Individual(mother), Individual(father), 0.5)
    return list(children[place % 2])
