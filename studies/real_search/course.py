"""The strategies of a seed, taken in turn: each is asked as it is on recorded problems.

Every strategy has its own history and its own runs of the baseline. In each round every strategy
makes one run, in an order drawn anew, so that a machine that slows down slows all of them.
"""

from __future__ import annotations

import random
import time
from collections.abc import Mapping
from dataclasses import dataclass

from optimizer.budget.budget import cutoff_seconds
from optimizer.evaluation.evaluation import Evaluation
from optimizer.run.steps import proposed_trial
from optimizer.strategies.strategy import Strategy
from optimizer.trials.history import History
from optimizer.trials.problem import Problem
from optimizer.trials.trial import Purpose, Trial
from sampler.space.space import digest
from studies.real_search.book import Book
from studies.real_search.measure import measured
from studies.real_search.study import Study
from studies.search.asking import baseline_due, baseline_trial, plan_for
from studies.search.run import recommended


@dataclass(frozen=True)
class Asked:
    """A trial to be measured.

    Attributes:
        wall, processor: Seconds that its proposal took; 0 of the baseline.
    """

    trial: Trial
    wall: float = 0.0
    processor: float = 0.0


def next_asked(
    evaluation: Evaluation,
    strategy: Strategy,
    evaluations: int,
    seconds: float | None = None,
) -> Asked | None:
    """What is measured next; None: the budget is used up, or nothing more is proposed."""
    problem, history = evaluation.problem, evaluation.history
    if len(history.numbers(Purpose.CANDIDATE)) >= evaluations:
        return None
    if seconds is not None and sum(trial.bench_seconds for trial in history) >= seconds:
        return None
    if baseline_due(plan_for(evaluations), history):
        return Asked(baseline_trial(problem, history))
    wall, processor = time.perf_counter(), time.process_time()
    number = history.next_number
    proposal = strategy.propose(evaluation, number=number, explore=evaluations)
    wall, processor = time.perf_counter() - wall, time.process_time() - processor
    if proposal is None:
        return None
    return Asked(proposed_trial(evaluation, proposal), wall, processor)


def run_seed(study: Study, book: Book, strategies: Mapping[str, Strategy], seed: int) -> None:
    """Measures what is missing of a seed, until every strategy has made its choice.

    Raises:
        InputError: The baseline does not end well, or the machine cannot run a trial.
    """
    courses = open_courses(study, book, strategies, seed)
    while courses:
        least = min(len(course.history) for course in courses.values())
        # Whoever is ahead of the others, after a break, waits for them.
        turn = [name for name, course in courses.items() if len(course.history) == least]
        for name in random.Random(f"{seed}/{least}").sample(turn, len(turn)):
            if not courses[name].step():
                del courses[name]
        if least % 10 == 0:
            print(f"seed {seed}: {least} runs of each of {', '.join(courses)}", flush=True)


def open_courses(
    study: Study, book: Book, strategies: Mapping[str, Strategy], seed: int
) -> dict[str, Course]:
    """By name those strategies that have not made their choice under a seed."""
    problem = study.seeded(seed)
    chosen = {row["strategy"] for row in book.rows("choice", seed=seed)}
    return {
        name: Course(study, book, name, strategy, Evaluation(problem, book.history(problem, name)))
        for name, strategy in strategies.items()
        if name not in chosen
    }


@dataclass(frozen=True)
class Course:
    """One strategy under one seed, from its first run to its choice."""

    study: Study
    book: Book
    name: str
    strategy: Strategy
    evaluation: Evaluation

    @property
    def problem(self) -> Problem:
        """What is tuned."""
        return self.evaluation.problem

    @property
    def history(self) -> History:
        """What was measured so far."""
        return self.evaluation.history

    def step(self) -> bool:
        """Measures what is next, or makes the choice and is over: whether it goes on.

        Raises:
            InputError: The baseline does not end well, or the machine cannot run a trial.
        """
        study, problem = self.study, self.problem
        asked = next_asked(self.evaluation, self.strategy, study.evaluations, study.seconds)
        if asked is None:
            self._choose()
            return False
        over = measured(
            study.bench, problem, asked.trial, _cutoff(study, self.evaluation, asked.trial)
        )
        self.history.put(over)
        self.book.keep_trial(
            problem,
            self.name,
            over,
            wall=asked.wall,
            processor=asked.processor,
        )
        return True

    def _choose(self) -> None:
        """Keeps what the strategy recommends: what a job would confirm first."""
        problem, history = self.problem, self.history
        configuration = recommended(self.strategy, self.evaluation)
        named = digest(configuration)
        values = [
            value
            for value, trial in self.evaluation.best_first(history.of(Purpose.CANDIDATE))
            if trial.done and trial.digest == named
        ]
        same = [t.number for t in history.of_configuration(named) if not t.is_baseline]
        row = {"kind": "choice", "seed": problem.seed, "strategy": self.name, "digest": named}
        chosen = {"number": same[0] if same else None, "fitness": values[0] if values else None}
        self.book.keep({**row, **chosen})


def _cutoff(study: Study, evaluation: Evaluation, trial: Trial) -> float | None:
    """As a job has it: only new configurations are cut off."""
    if trial.purpose is not Purpose.CANDIDATE:
        return None
    level = evaluation.baseline.present_level(study.bench.name)
    return cutoff_seconds(evaluation.problem.search.cutoff, level)
