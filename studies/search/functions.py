"""Test functions by name, and what is known of each: settings, R2, the best that exists.

What costs minutes to find is kept in a file, beside a digest of all that it rests on: with more
recorded trials, or other settings, it is found anew.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

from sampler.common.atomic_write import write_output
from sampler.common.errors import InputError
from studies.search.best import Best, Effort, search_best
from studies.search.function import TestFunction, noise_of
from studies.search.recorded import ARCHIVES, Recorded, read_recorded
from studies.search.truth import FAMILIES, SETTINGS, Tuned, learn, tune

PROBLEMS = ("load", *(name for name, path in ARCHIVES.items() if path.exists()), "null")
_VERSION = 1  # of the way from runs to a function; raise it with every change


@dataclass(frozen=True)
class Known:
    """What was found of a test function.

    Attributes:
        tuned: By metric; empty for the null problem.
        best: The best that exists, as far as it is known.
        runs, default_runs: What it was learned from.
        scatter: The noise: standard deviations of logarithms.
        off: By metric, how far the truth of the default is from the median of its runs, as a
            logarithm.
    """

    digest: str
    tuned: Mapping[str, Tuned]
    best: Best
    runs: int
    default_runs: int
    scatter: Mapping[str, float]
    off: Mapping[str, float]


class Functions:
    """Test functions, made when they are asked for.

    Args:
        path: Where what is known of them is kept.
        effort: Of the search for the best.
    """

    def __init__(self, path: Path, effort: Effort) -> None:
        """Reads what is known."""
        self._path, self._effort = path, effort
        self._recorded: dict[str, Recorded] = {}

    @cached_property
    def _kept(self) -> dict[str, Any]:
        if not self._path.exists():
            return {}
        kept: dict[str, Any] = json.loads(self._path.read_text(encoding="utf-8"))
        return kept

    def digest(self, problem: str, family: str) -> str:
        """Of all that a test function rests on; quick.

        Raises:
            InputError: There is no such problem.
        """
        recorded = self._read(problem)
        rests_on = [_VERSION, recorded.digest, family, SETTINGS[family], asdict(self._effort)]
        return hashlib.sha256(json.dumps(rests_on).encode()).hexdigest()[:12]

    def known(self) -> dict[str, Known]:
        """All that is known and still holds, in the order of `PROBLEMS`."""
        found = {}
        for problem in PROBLEMS:
            for family in families_of(problem, tuple(FAMILIES)):
                kept = self._kept.get(name_of(problem, family))
                if kept is not None and kept["digest"] == self.digest(problem, family):
                    found[name_of(problem, family)] = _known(kept)
        return found

    def make(self, problem: str, family: str) -> tuple[TestFunction, Known]:
        """A test function, and what is known of it; finds that first where it is not kept.

        Raises:
            InputError: There is no such problem.
        """
        recorded, name = self._read(problem), name_of(problem, family)
        digest = self.digest(problem, family)
        kept = self._kept.get(name)
        if kept is not None and kept["digest"] == digest:
            known = _known(kept)
            return _function(recorded, name, family, digest, known.tuned), known
        tuned = tune(recorded, family)
        function = _function(recorded, name, family, digest, tuned)
        known = _found(recorded, function, tuned, self._effort)
        self._kept[name] = asdict(known)
        text = json.dumps(dict(sorted(self._kept.items())), indent=1) + "\n"
        write_output(self._path, text.encode(), field="--out")
        return function, known

    def _read(self, problem: str) -> Recorded:
        # Of the null problem the space and the noise are those of the load.
        source = "load" if problem == "null" else problem
        if source not in self._recorded:
            self._recorded[source] = read_recorded(source)
        return self._recorded[source]


def families_of(problem: str, families: tuple[str, ...]) -> tuple[str, ...]:
    """The families that a problem is asked in: the null problem has one of its own.

    Raises:
        InputError: There is no such family.
    """
    for family in families:
        if family not in SETTINGS:
            raise InputError("--truths", f"{family!r} is not one of {', '.join(SETTINGS)}")
    return ("none",) if problem == "null" else families


def name_of(problem: str, family: str) -> str:
    """`load/boosting`."""
    return f"{problem}/{family}"


def _function(
    recorded: Recorded, name: str, family: str, digest: str, tuned: Mapping[str, Tuned]
) -> TestFunction:
    metrics = [term.metric for term in recorded.problem.objective.terms]
    noise = noise_of([run.metrics for run in recorded.default_runs], metrics)
    problem = replace(recorded.problem, strategy="")
    return TestFunction(name, digest, problem, learn(recorded, family, tuned), noise)


def _found(
    recorded: Recorded, function: TestFunction, tuned: Mapping[str, Tuned], effort: Effort
) -> Known:
    at_default = function.truth.logarithms([function.default])
    return Known(
        digest=function.digest,
        tuned=tuned,
        best=search_best(function, effort if tuned else Effort(1, 1, 0, 1)),
        runs=len(recorded.runs),
        default_runs=len(recorded.default_runs),
        scatter=function.noise.scatter,
        off={m: float(v[0]) - function.truth.level[m] for m, v in at_default.items()},
    )


def _known(document: Mapping[str, Any]) -> Known:
    best = document["best"]
    return Known(
        **{
            **document,
            "tuned": {metric: Tuned(**found) for metric, found in document["tuned"].items()},
            "best": Best(**{**best, "starts": tuple(best["starts"])}),
        }
    )
