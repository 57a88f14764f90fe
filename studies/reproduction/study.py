"""What an archived job shows: every figure is computed from its trials, none is written down."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from pathlib import Path
from typing import Any

from jobs.archive import Archive, read_archive
from jobs.specification.resolved_job import resolve
from optimizer.evaluation.evaluation import Evaluation
from optimizer.results.result import conclude, fitness_by_trial, result_document
from optimizer.run.planning import Budget, plan_of
from optimizer.strategies.genetic import generation_of
from optimizer.trials.history import History
from optimizer.trials.trial import Phase, Purpose, Trial
from sampler.runner.outcome import TrialState


@dataclass(frozen=True)
class Generation:
    """The search after one generation.

    Attributes:
        number: From 1.
        best: Its best fitness; None if no chromosome of it ended well.
        so_far: The best fitness of it and those before.
    """

    number: int
    best: float | None
    so_far: float | None


@dataclass(frozen=True)
class Study:
    """An archived job and what follows from it.

    Attributes:
        trials: Those that have ended: one that was stopped in the middle has no outcome.
        make_result: Makes ``result``.
        generations: The genetic algorithm's.
        draws: The random draws.
        fitness: Of each finished trial by number.
    """

    archive: Archive
    trials: tuple[Trial, ...]
    make_result: Callable[[], Mapping[str, Any]]
    generations: tuple[Generation, ...]
    draws: tuple[Trial, ...]
    fitness: Mapping[int, float]

    @cached_property
    def result(self) -> Mapping[str, Any]:
        """The document of result.json, made anew from the trials: seconds, for what it ranks."""
        return self.make_result()

    @property
    def complete(self) -> bool:
        """Whether the whole budget was spent."""
        return len(self.trials) >= (self.archive.specification.trials or 0)

    @property
    def states(self) -> Counter[str]:
        """How the random draws ended."""
        return Counter(trial.state.value for trial in self.draws)


def read_study(path: Path) -> Study:
    """Computes all figures of an archived job.

    Raises:
        InputError: The file is no archive.
    """
    archive = read_archive(path)
    problem = resolve(archive.specification, None).problem
    out = (TrialState.RUNNING, TrialState.LOST)
    trials = tuple(trial for trial in archive.trials if trial.state not in out)
    history = History(trials)
    asked = archive.specification
    plan = plan_of(problem, Budget(asked.trials, asked.minutes), history)
    conclusion = conclude(Evaluation(problem, history), plan)
    make_result = partial(
        result_document,
        conclusion,
        job=asked.document(),
        environment=archive.environment or {},
    )
    fitness = fitness_by_trial(conclusion)
    searched = history.of(Purpose.CANDIDATE, Phase.SEARCH)
    draws = tuple(history.of(Purpose.CANDIDATE, Phase.SAMPLE))
    return Study(archive, trials, make_result, generations_of(searched, fitness), draws, fitness)


def generations_of(
    searched: Sequence[Trial], fitness: Mapping[int, float]
) -> tuple[Generation, ...]:
    """The chromosomes by generation, in the order in which they were measured."""
    found: dict[int, list[float]] = {}
    for index, trial in enumerate(searched):
        values = found.setdefault(generation_of(index), [])
        if trial.number in fitness:
            values.append(fitness[trial.number])
    generations: list[Generation] = []
    so_far: float | None = None
    for number, values in found.items():
        best = max(values, default=None)
        known = [value for value in (so_far, best) if value is not None]
        so_far = max(known, default=None)
        generations.append(Generation(number, best, so_far))
    return tuple(generations)
