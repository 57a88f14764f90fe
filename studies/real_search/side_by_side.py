"""The winners of a seed measured again beside each other and the baseline.

Each round holds the baseline and every winner once, in an order drawn anew. Nothing is cut off.
"""

from __future__ import annotations

import hashlib
import json
import random
from collections.abc import Mapping, Sequence

from optimizer.trials.problem import Problem
from optimizer.trials.trial import Phase, Purpose, Trial
from sampler.space.space import Configuration, digest
from studies.real_search.book import Book
from studies.real_search.kept import row_of, trial_of
from studies.real_search.measure import measured
from studies.real_search.study import Study

BASELINE = "baseline"


def winners(book: Book, problem: Problem) -> dict[str, Configuration]:
    """By strategy what it has chosen under the problem's seed; those that have."""
    found: dict[str, Configuration] = {}
    for row in book.rows("choice", seed=problem.seed):
        name, number = row["strategy"], row["number"]
        found[name] = problem.space.default_configuration()
        if number is not None:
            (kept,) = book.rows("trial", seed=problem.seed, strategy=name, number=number)
            found[name] = trial_of(problem, kept).configuration
    return dict(sorted(found.items()))


def set_of(chosen: Mapping[str, Configuration]) -> str:
    """Names a set of winners: with another winner all are measured anew."""
    digests = {name: digest(configuration) for name, configuration in chosen.items()}
    return hashlib.sha256(json.dumps(digests, sort_keys=True).encode()).hexdigest()[:12]


def order_of(subjects: Sequence[str], seed: int, number: int) -> list[str]:
    """Whose turn it is within a round."""
    return random.Random(f"{seed}/{number}").sample(list(subjects), len(subjects))


def run_again(study: Study, book: Book, seed: int, rounds: int) -> None:
    """Measures what is missing of the rounds of a seed, with the winners of all its strategies.

    Raises:
        InputError: The baseline does not end well, or the machine cannot run a trial.
    """
    run_rounds(study, book, seed, winners(book, study.seeded(seed)), rounds)


def run_rounds(
    study: Study, book: Book, seed: int, chosen: Mapping[str, Configuration], rounds: int
) -> None:
    """Measures what is missing of rounds with the baseline and each of these configurations.

    Raises:
        InputError: The baseline does not end well, or the machine cannot run a trial.
    """
    problem = study.seeded(seed)
    key = {"seed": seed, "set": set_of(chosen)}
    there = {(row["round"], row["subject"]) for row in book.rows("again", **key)}
    subjects = {**chosen, BASELINE: problem.space.default_configuration()}
    for number in range(1, rounds + 1):
        for subject in order_of(sorted(subjects), seed, number):
            if (number, subject) not in there:
                trial = _trial(problem, subjects[subject], number, subject)
                row = row_of(problem, measured(study.bench, problem, trial))
                book.keep({"kind": "again", **key, "round": number, "subject": subject, **row})


def _trial(problem: Problem, configuration: Configuration, number: int, subject: str) -> Trial:
    return Trial(
        number=number,
        phase=Phase.CONFIRM,
        purpose=Purpose.SELECT,
        seed=problem.seed_of(number),
        configuration=configuration,
        digest=digest(configuration),
        subject=1 if subject == BASELINE else 2,
        round=number,
    )
