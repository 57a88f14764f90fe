"""What is measured to check an explanation: the baseline, points of the path, fewest, winner."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from optimizer.explanation.changes import Changes
from optimizer.explanation.compared import BASELINE, MINIMAL, WINNER
from optimizer.explanation.document import fewer_changes
from optimizer.trials.problem import Problem
from sampler.common.errors import InputError
from sampler.space.space import Configuration, digest

LEAST_RUNS, MOST_RUNS = 3, 1000
MARGIN = 0.10  # of the winner's fitness: a loss that the fewest changes may have


@dataclass(frozen=True)
class Design:
    """The runs that check an explanation, declared before they are made.

    Attributes:
        configurations: By subject; what is the same configuration is one subject.
        roles: ``baseline``, ``step 1``, ..., ``minimal`` and ``winner``, each with its subject.
        rounds: How often each subject is measured.
        margin: The loss of fitness that the fewest changes may have.
        seed: Decides the order within each round.
    """

    configurations: Mapping[str, Configuration]
    roles: Mapping[str, str]
    rounds: int
    margin: float
    seed: int

    @property
    def subjects(self) -> list[str]:
        """In a fixed order."""
        return list(self.configurations)

    def document(self) -> dict[str, Any]:
        """What tells this design from others: runs are gone on with under the same one alone."""
        return {
            "subjects": {name: digest(each) for name, each in self.configurations.items()},
            "roles": dict(self.roles),
            "rounds": self.rounds,
            "margin": self.margin,
            "seed": self.seed,
        }


def step_name(place: int) -> str:
    """The point after a step, counted from 1."""
    return f"step {place}"


def design_of(
    problem: Problem,
    result: Mapping[str, Any],
    explanation: Mapping[str, Any],
    *,
    runs: int,
    steps: int,
    margin: float = MARGIN,
) -> Design:
    """The runs for an explanation.

    Args:
        problem: What was tuned.
        result: The document of result.json.
        explanation: Its explanation.
        runs: Of each configuration.
        steps: How many steps of the path, the first ones.
        margin: The loss that the fewest changes may have, as a share of the winner's fitness.

    Raises:
        InputError: A number is out of its range.
    """
    if not LEAST_RUNS <= runs <= MOST_RUNS:
        raise InputError("--runs", f"{runs} is not from {LEAST_RUNS} to {MOST_RUNS}, nor 0")
    if not 0 < margin <= 1:
        raise InputError("--margin", f"{margin:g} is not a share; write for example 10%")
    best, baseline = result["best"], result["baseline"]["configuration"]
    roles: dict[str, Configuration] = {BASELINE: baseline}
    space = problem.space.at_baseline(baseline)
    changes = Changes(replace(problem, space=space), best["configuration"])
    made: frozenset[str] = frozenset()
    for place, step in enumerate(explanation["steps"][:steps], start=1):
        if not step["fixed"]:
            made |= {change["name"] for change in step["changes"]}
        roles[step_name(place)] = changes.configuration(made)
    fewer = fewer_changes({"explanation": explanation})
    if fewer is not None:
        roles[MINIMAL] = fewer["configuration"]
    roles[WINNER] = best["configuration"]
    first: dict[str, str] = {}
    for role in (BASELINE, WINNER, *roles):  # the last step is the winner, and is called so
        first.setdefault(digest(roles[role]), role)
    subjects = {role: first[digest(each)] for role, each in roles.items()}
    return Design(
        configurations={name: roles[name] for name in dict.fromkeys(subjects.values())},
        roles=subjects,
        rounds=runs,
        margin=margin * best["fitness"],
        seed=problem.seed,
    )
