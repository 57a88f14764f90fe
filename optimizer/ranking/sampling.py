"""When enough was drawn: the rule that ends the sampling phase before its planned end.

At checkpoints the draws so far are split into random halves that are ranked apart. When the halves
agree on the parameters that the search would use at two checkpoints in a row, more draws would
hardly change them, and the runs that are saved go to the search. The figures behind the constants
are in docs/results/rank_stability.md.
"""

from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from models.importance.importance import beyond_chance, split_half
from optimizer.evaluation.evaluation import Evaluation, draws_of, draws_table
from optimizer.trials.problem import Problem

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
