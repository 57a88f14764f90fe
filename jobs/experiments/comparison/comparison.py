"""A whole comparison: what is asked for, its runs, and what they say."""

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from jobs.experiments.comparison.sides import MIDDLE, Side, sides_around
from jobs.experiments.comparison.subject import Subject, subject_of
from jobs.experiments.comparison.tables import (
    Table,
    comparison_cautions,
    comparison_sentences,
    tables,
)
from jobs.experiments.experiment import Experiment, Findings
from jobs.experiments.interleaved import InterleavedRuns, MeasuredRun, Sets, measure_interleaved
from optimizer.budget.power import LEAST_PAIRS
from sampler.common.errors import InputError
from sampler.machine.machine import fingerprint, host_name
from sampler.runner.settings import Settings
from sampler.workload.workload import Workload
from sampler.workload.workload_file import workload_document

MOST_ROUNDS = 1000
MOST_WORKLOADS = 100


@dataclass(frozen=True, kw_only=True)
class ComparisonRequest:
    """What is to be compared."""

    subjects: Sequence[Subject]  # the first is what the others are compared with
    workloads: Sequence[Workload]
    metrics: Sequence[str]
    around: str | None  # the parameter that is halved and doubled; None otherwise
    rounds: int  # how often each subject is measured under each workload
    seed: int  # decides the order of the runs


@dataclass(frozen=True, kw_only=True)
class ComparisonResult(Findings):
    """What came of it."""

    asked: ComparisonRequest
    runs: Sequence[MeasuredRun]  # all that count, in the order in which they were made
    tables: Sequence[Table]
    cautions: Sequence[str]
    verdict: Sequence[str]

    @property
    def nothing(self) -> bool:
        """Whether some subject never ended well, so that nothing could be compared with it."""
        return any(not table.rows for table in self.tables)

    def files(self) -> Mapping[str, str]:
        """Its files by name."""
        from jobs.experiments.comparison.report import comparison_files

        return comparison_files(self)


def require_workloads(found: Sequence[Workload], scale: int | None) -> list[Workload]:
    """The loads at their scale.

    Raises:
        InputError: One is not measured by db_bench, two have one name, or there are too many.
    """
    for workload in found:
        if not workload.by_db_bench:
            problem = f"{workload.name} is not measured by db_bench; name one that is"
            raise InputError("--workload", problem)
    names = [workload.name for workload in found]
    twice = next((name for name in names if names.count(name) > 1), None)
    if twice is not None:
        raise InputError("--workload", f"{twice} is named twice")
    if len(found) > MOST_WORKLOADS:
        raise InputError("--workload", f"{len(found)} are too many; {MOST_WORKLOADS} are the most")
    if scale is not None and not 1 <= scale < 2**31:
        raise InputError("--scale", f"{scale} is not from 1 to 2147483647")
    if scale is None:
        return list(found)
    return [replace(workload, scale=scale) for workload in found]


def require_rounds(rounds: int, seed: int) -> None:
    """Refuses, with an InputError, numbers that are out of range."""
    if not LEAST_PAIRS <= rounds <= MOST_ROUNDS:
        raise InputError("--rounds", f"{rounds} is not from {LEAST_PAIRS} to {MOST_ROUNDS}")
    if not 0 <= seed < 2**31:
        raise InputError("--seed", f"{seed} is not between 0 and 2147483647")


def subjects_of(
    sides: Sequence[Side], around: str | None, loads: Sequence[Workload], settings: Settings
) -> list[Subject]:
    """A and B, or A with half and double its value of the parameter; errors of ``subject_of``."""
    subjects = [
        subject_of(name, side, loads, settings, field=name)
        for name, side in zip("AB", sides, strict=False)
    ]
    if around is None:
        return subjects
    found = sides_around(subjects[0].side, subjects[0].values, around)
    return [
        subject_of(name, side, loads, settings, field="A" if name == MIDDLE else "--around")
        for name, side in found.items()
    ]


def comparison(asked: ComparisonRequest, settings: Settings) -> Experiment[ComparisonResult]:
    """The runs of a comparison, and what is made of them."""
    told = comparison_cautions(asked.subjects)
    names = [subject.name for subject in asked.subjects]
    loads = [workload.name for workload in asked.workloads]
    by_name = dict(zip(names, asked.subjects, strict=True))
    turns = InterleavedRuns(
        cases=loads,
        sides=names,
        bench=lambda load, name: by_name[name].under(load),
        rounds=asked.rounds,
        seed=asked.seed,
    )
    return Experiment(
        identity=_identity(asked),
        runs=turns.total,
        measure=lambda kept, observer: _compared(
            asked, measure_interleaved(turns, settings, kept, observer), told, settings
        ),
        cautions=told,
    )


def _compared(
    asked: ComparisonRequest, sets: Sets, told: Sequence[str], settings: Settings
) -> ComparisonResult:
    names = [subject.name for subject in asked.subjects]
    loads = [workload.name for workload in asked.workloads]
    found = tables(sets, loads, names[0], names[1:], asked.metrics)
    runs = sorted(
        (run for each in sets.values() for run in each.values()), key=lambda run: run.started_at
    )
    said = comparison_sentences(found)
    document = {
        "schema": 1,
        "machine": fingerprint(settings.bench_dir),
        "subjects": {each.name: each.document() for each in asked.subjects},
        "around": asked.around,
        "workloads": [workload_document(each) for each in asked.workloads],
        "rounds": asked.rounds,
        "seed": asked.seed,
        "cautions": told,
        "tables": [table.document() for table in found],
        "verdict": said,
        "seconds": sum(run.seconds for run in runs),
    }
    return ComparisonResult(
        asked=asked, runs=runs, tables=found, cautions=told, verdict=said, document=document
    )


def _identity(asked: ComparisonRequest) -> dict[str, Any]:
    """What the runs in a folder are runs of: all that must be the same to go on with them."""

    def known(subject: Subject) -> dict[str, Any]:
        side, options = subject.side, subject.side.options
        family = {"column_family": side.column_family} if side.column_family is not None else {}
        return {
            "build": subject.build.document(),
            "base": side.base,
            "options": hashlib.sha256(options.encode()).hexdigest() if options else None,
            **family,
            **side.set_values(),
        }

    return {
        "comparison": 1,
        "host": host_name(),
        **{subject.name: known(subject) for subject in asked.subjects},
        "workloads": [workload_document(each) for each in asked.workloads],
        "rounds": asked.rounds,
        "seed": asked.seed,
    }
