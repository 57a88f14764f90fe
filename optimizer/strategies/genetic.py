"""The genetic algorithm of Jin et al. (JIPS 2022), section 4.5, over the top parameters.

Half of the budget is drawn at random and ranked, or less where the ranking is stable sooner. Then
eight random chromosomes over the k most important parameters; of each generation the best four
survive, two children come from a crossover of two survivors, and two chromosomes are wholly new.
The other parameters stay at the baseline.
"""

import math
import random
from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import islice
from typing import ClassVar

import numpy as np
from deap import tools

from models.importance import beyond_chance, split_half
from optimizer.evaluation.evaluation import Evaluation, draws_of, draws_table
from optimizer.strategies.guided import Individual, drawing_from
from optimizer.strategies.strategy import (
    Proposal,
    Strategy,
    draws_planned,
    first_new,
    propose_draw,
    sampled,
)
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


FIRST_CHECKPOINT = 48  # halves of 24: below, forests of so few trials agree by accident or not
GROWTH = 2**0.5  # so a job of 10,000 draws has 16 checkpoints
LEVEL = 0.46  # agreement beyond chance; for the top 5 of 30 parameters, 2.75 of 5 in common
IN_A_ROW = 2  # once may be luck
LEAST_JUDGED = 20  # halves of 10, the fewest that a forest is judged by


@dataclass(frozen=True)
class Checkpoint:
    """How far halves of the draws agreed."""

    draws: int  # how many draws, failed ones included
    top_k_overlap: float  # mean share of the top k that two halves have in common
    low: float  # its 2.5th percentile over the splits
    high: float  # the 97.5th
    kendall_tau: float  # mean rank correlation of all parameters


def checkpoints(below: int) -> tuple[int, ...]:
    """Numbers of draws at which the rule looks: a geometric grid, less than ``below``."""
    grid, number = [], float(FIRST_CHECKPOINT)
    while round(number) < below:
        grid.append(round(number))
        number *= GROWTH
    return tuple(grid)


def in_a_row(agreement: Sequence[float | None], level: float = LEVEL) -> bool:
    """Whether the newest looks, as many in a row as it takes, all agree that far beyond chance.

    Of each checkpoint so far ``agreement`` has ``beyond_chance``; None where there is nothing to
    agree on.
    """
    newest = agreement[-IN_A_ROW:]
    # Means of shares: what is 0.46 by hand may come out a hair below.
    return len(newest) == IN_A_ROW and all(x is not None and x >= level - 1e-9 for x in newest)


def agreement_of(problem: Problem, point: Checkpoint) -> float | None:
    """How far halves agree beyond chance; None where the top holds every parameter."""
    names, top = problem.space.names, problem.search.top
    return beyond_chance(point.top_k_overlap, top_k=top, n_parameters=len(names))


def decides_at(evaluation: Evaluation, planned: int) -> bool:
    """Whether the next step rests on a look at the draws so far, which must all be in.

    The rule looks only at the job's own draws, and only when their number is a checkpoint. Draws
    are made one after the other, so what it decides there depends on nothing that comes later.
    """
    problem, history = evaluation.problem, evaluation.history
    every = problem.search.top >= len(problem.space.names)
    if problem.search.samples is not None or problem.search.over or every:
        return False
    drawn, grid = len(history.drawn), checkpoints(planned)
    place = bisect_left(grid, drawn)
    return place >= IN_A_ROW - 1 and grid[place : place + 1] == (drawn,)


def enough_drawn(evaluation: Evaluation, planned: int) -> bool:
    """Whether the rule ends the sampling of at most ``planned`` draws here: all of them are in."""
    problem, drawn = evaluation.problem, len(evaluation.history.drawn)
    if not decides_at(evaluation, planned):
        return False
    newest = [number for number in checkpoints(planned) if number <= drawn][-IN_A_ROW:]
    return in_a_row([agreement_of(problem, checkpoint_at(evaluation, n)) for n in newest])


def checkpoint_at(evaluation: Evaluation, draws: int) -> Checkpoint:
    """How far halves of the job's first draws agree; learned once.

    Only the job's own draws count, in the order of proposal, and no starting points.

    Raises:
        ValueError: One of them has not ended.
    """
    problem, history = evaluation.problem, evaluation.history
    first = [history[n] for n in history.drawn[:draws]]
    for trial in first:
        if not trial.has_outcome:
            raise ValueError(f"draw {trial.number} has not ended")
    known = draws_of(history, first)

    def learn() -> Checkpoint:
        if len(known.numbers) < LEAST_JUDGED:
            return Checkpoint(draws, 0.0, 0.0, 0.0, 0.0)
        features, targets = draws_table(problem, history, known)
        found = split_half(features, targets, seed=problem.seed, top_k=problem.search.top)
        low, high = np.percentile(found.overlap, [2.5, 97.5])
        mean, tau = float(found.overlap.mean()), float(found.kendall_tau.mean())
        return Checkpoint(draws, mean, float(low), float(high), tau)

    return evaluation.once(("checkpoint", draws), known, learn)
