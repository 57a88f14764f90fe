"""Checks an explanation by real runs on this machine, interleaved; keeps them with the job."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from itertools import pairwise
from types import MappingProxyType
from typing import Any

import numpy as np
from sqlalchemy import Engine

from db.jobs.job_store import JobStore
from db.leases import acquire, release, this_process_name
from db.schema.job_row import JobRow, JobState
from db.trials.trial_log import StoredTrialLog
from jobs.execution.assembly import assemble, environment_of
from jobs.execution.held_job import Retry, RetryingLog, renewed_meanwhile, unless_away
from jobs.experiments.experiment import (
    Experiment,
    Findings,
    KeptRuns,
    RunsObserver,
    Sets,
    runs_of_job,
)
from jobs.queue.lifecycle import is_external
from jobs.report.artifacts import report_html
from jobs.results.outcome import job_outcome, keep_report
from jobs.specification.named_files import require_trusted
from jobs.specification.resolved_job import ResolvedJob
from jobs.specification.specification import require_tunes, specification_from_document
from jobs.views.results import explained_job
from models import Floats
from optimizer.budget.power import LEAST_PAIRS
from optimizer.confirmation.paired_tests import (
    Margins,
    change,
    interval_of_mean,
    limits_kept,
    margins_of,
)
from optimizer.confirmation.proof import fitness_by_pair
from optimizer.explained import (
    CountedRuns,
    Estimate,
    Explanation,
    JudgedFewest,
    MeasuredGain,
    MeasuredPath,
)
from optimizer.objective.objective import Metrics, Objective
from optimizer.results.document import Result
from optimizer.strategies.changes import Changes
from optimizer.trials.problem import Problem
from sampler.bench.outcome import TrialState
from sampler.bench.settings import Settings
from sampler.common.errors import InputError
from sampler.machine.machine import host_name
from sampler.space.space import Configuration, digest

BASELINE, MINIMAL, WINNER = "baseline", "minimal", "winner"
Round = Mapping[str, Metrics]  # the metrics of each configuration that ended well
LEAST_RUNS, MOST_RUNS = 3, 1000


class NothingToExplain(InputError):
    """A job whose winner is not explained: there is none, or too little was measured."""


@dataclass(frozen=True)
class Design:
    """The runs that check an explanation, declared before they are made."""

    # by subject; what is the same configuration is one subject
    configurations: Mapping[str, Configuration]
    # `baseline`, `step 1`, ..., `minimal` and `winner`, each with its subject
    roles: Mapping[str, str]
    rounds: int  # how often each subject is measured
    margin: float  # the loss of fitness that the fewest changes may have
    seed: int  # decides the order within each round
    # Of the limits, as the job's proof declared them; None: the medians decide.
    limit_margins: Margins | None = None

    def document(self) -> dict[str, Any]:
        """What tells this design from others: runs are gone on with under the same one alone."""
        return {
            "subjects": {name: digest(each) for name, each in self.configurations.items()},
            "roles": dict(self.roles),
            "rounds": self.rounds,
            "margin": self.margin,
            "seed": self.seed,
        }


def design_of(
    problem: Problem,
    result: Result,
    explanation: Explanation,
    *,
    runs: int,
    steps: int,
    margin: float,
) -> Design:
    """The runs for the explanation of a job whose winner was proven.

    So many runs of each configuration, and so many steps of the path, the first ones. The margin
    is the loss that the fewest changes may have, as a share of the winner's fitness.

    Raises:
        InputError: A number is out of its range.
    """
    if not LEAST_RUNS <= runs <= MOST_RUNS:
        raise InputError("runs", f"{runs} is neither 0 nor from {LEAST_RUNS} to {MOST_RUNS}")
    if not 0 < margin <= 1:
        raise InputError("margin", f"{margin:g} is not within 0 to 1; write for example 10%")
    best, verdict, baseline = result.best, result.verdict, result.baseline.configuration
    assert best is not None and verdict is not None
    roles: dict[str, Configuration] = {BASELINE: baseline}
    space = problem.space.at_baseline(baseline)
    changes = Changes(replace(problem, space=space), best.configuration)
    made: frozenset[str] = frozenset()
    for place, step in enumerate(explanation.steps[:steps], start=1):
        if not step.fixed:
            made |= {change.name for change in step.changes}
        roles[f"step {place}"] = changes.configuration(made)
    if fewer := explanation.fewer:
        roles[MINIMAL] = fewer.configuration
    roles[WINNER] = best.configuration
    first: dict[str, str] = {}
    for role in (BASELINE, WINNER, *roles):  # the last step is the winner, and is called so
        first.setdefault(digest(roles[role]), role)
    subjects = {role: first[digest(each)] for role, each in roles.items()}
    return Design(
        configurations={name: roles[name] for name in dict.fromkeys(subjects.values())},
        roles=subjects,
        rounds=runs,
        margin=margin * (verdict.tested_fitness or 0.0),
        seed=problem.seed,
        limit_margins=margins_of([each.document() for each in verdict.limits]),
    )


_RUNS = "explanation-round-{}"
_EARLIER_RUNS = "explanation_runs"  # one document for all of them
_MEASURED_ON = ("host", "build")  # what all runs that are compared must have in common


@dataclass(frozen=True, kw_only=True)
class ExplanationCheck(Experiment):
    """Runs that check a job's explanation. They and what they say are kept with that job."""

    engine: Engine
    job: int

    def measure(
        self,
        settings: Settings,
        kept: KeptRuns,
        observer: RunsObserver,
    ) -> Findings:
        """Measures under the job's lease, and updates its result and report; ignores ``kept``.

        Raises:
            InputError: This machine cannot measure it.
            LeaseHeld: Another process is busy with the job.
        """
        lease = acquire(self.engine, self.job, this_process_name())
        try:
            retry = Retry(self.engine, pause=observer.pause, told=observer.away)
            log = RetryingLog(StoredTrialLog(self.engine, lease), retry)
            with renewed_meanwhile(self.engine, lease):
                kept = runs_of_job(log, self.identity, _RUNS)
                if not kept.runs and log.recall(_EARLIER_RUNS):
                    observer.away("runs of an earlier version are not gone on with")
                found = super().measure(settings, kept, observer)
            store = JobStore(self.engine)
            explanation = {name: each for name, each in found.document.items() if name != "job"}
            stored = retry(lambda: store.result(self.job)) or {}
            whole = {**stored, "explanation": explanation}
            retry(lambda: store.save_result(self.job, whole, lease=lease))
            keep_report(log, report_html(retry(lambda: job_outcome(self.engine, self.job))))
            return found
        finally:
            with unless_away(self.engine):  # then it runs out by itself
                release(self.engine, lease)


def finished_job(engine: Engine, number: int) -> JobRow:
    """A tuning job that is done; an InputError where there is none of that number."""
    try:
        job = JobStore(engine).job(number)
    except KeyError:
        raise InputError("job", f"there is no job {number}") from None
    require_tunes(job, "job")
    if job.state is not JobState.DONE:
        raise InputError("job", f"job {number} is {job.state.value}; it has no result yet")
    return job


def explanation_check(
    asked: Mapping[str, Any], engine: Engine | None, settings: Settings
) -> ExplanationCheck:
    """The runs that check the explanation of a finished job of this database.

    ``asked``: the number of the ``job``; for ``runs``, ``steps`` and ``margin`` see ``design_of``.

    Raises:
        InputError: Another runner measures the job, a number is out of range, or this machine
            cannot measure it.
        NothingToExplain: Nothing is explained.
    """
    assert engine is not None
    job = finished_job(engine, asked["job"])
    stored = JobStore(engine).result(job.id)
    assert stored is not None
    result = Result.read(stored)
    explanation, _ = explained_job(engine, job, result)
    if explanation is None or not explanation.steps:
        raise NothingToExplain("job", f"job {job.id} has nothing to explain")
    if is_external(job):
        raise InputError("runs", "an external runner measures this job; leave it out")
    require_trusted(engine, job.id)
    assembly = assemble(specification_from_document(job.specification), settings)
    numbers = {name: asked[name] for name in ("runs", "steps", "margin")}
    design = design_of(assembly.problem, result, explanation, **numbers)
    environment = environment_of(assembly, settings)

    def conclude(sets: Sets) -> Findings:
        measured = measured_path(assembly, design, sets, explanation)
        told = explanation.model_copy(update={"measured": measured})
        return Findings(document={"job": job.id, **told.document()})

    before = explanation.measured
    identity: dict[str, Any] = {name: environment[name] for name in _MEASURED_ON}
    # Whoever asks for a check that is complete wants new runs.
    identity |= {"design": design.document(), "after": before.ended_at if before else None}
    return ExplanationCheck(
        identity=identity,
        cases=[""],
        sides=list(design.configurations),
        bench=lambda _, subject: (assembly.benchmark, design.configurations[subject]),
        rounds=design.rounds,
        seed=design.seed,
        conclude=conclude,
        engine=engine,
        job=job.id,
    )


def compare_blocks(
    objective: Objective, rounds: Sequence[Round], before: str, after: str
) -> MeasuredGain | None:
    """One configuration (``after``) against another, over the runs that ended well.

    Neighbours in time are compared, as in the proof: a machine that drifts slows a round's runs
    alike. None with fewer than two rounds that measured both, and the baseline.
    """
    whole = _whole(objective, rounds, before, after)
    if len(whole) < 2:
        return None
    gained = _fitness(objective, whole, after) - _fitness(objective, whole, before)
    mean, half, _ = interval_of_mean(gained)
    names = [
        name
        for name in whole[0][after]
        if all(name in each[before] and name in each[after] for each in whole)
    ]
    return MeasuredGain(
        rounds=len(whole),
        fitness=Estimate(expected=mean, low=mean - half, high=mean + half),
        changes={
            name: change([(each[before][name], each[after][name]) for each in whole]).document()
            for name in names
        },
    )


def judge_minimal(
    objective: Objective,
    rounds: Sequence[Round],
    *,
    margin: float,
    failed: int = 0,
    margins: Margins | None = MappingProxyType({}),
) -> JudgedFewest | None:
    """Whether the fewest changes are not worse than the winner by more than a margin of fitness.

    A non-inferiority test at the level of the proof: it passes when the 95% interval of the
    difference in fitness, fewest changes less winner, lies above ``-margin``, which is declared
    before the runs. As in the proof nothing is shown where runs of the fewest changes ``failed``,
    and the baseline and the winner ended well. None with fewer than two rounds.
    ``margins``: of the limits; see ``judge``.
    """
    compared = compare_blocks(objective, rounds, WINNER, MINIMAL)
    if compared is None:
        return None
    whole = _whole(objective, rounds, WINNER, MINIMAL)
    found = compared.fitness
    above, enough = found.low > -margin, compared.rounds >= LEAST_PAIRS
    why = (
        f"fitness {found.expected:+z.0f} [{found.low:+z.0f}, {found.high:+z.0f}] relative to the "
        f"winner over {compared.rounds} rounds, {'above' if above else 'not above'} "
        f"the declared {-margin:.0f}"
    )
    pairs = [(each[BASELINE], each[MINIMAL]) for each in whole]
    kept = limits_kept(objective.limits, pairs, pairs, margins=margins, unseen={})
    broken = [each for each in kept if not each.kept]
    for each in broken:
        why += f"; the limit {each.words}"
    if failed:
        why += f"; {failed} of its runs failed, while the others succeeded"
    if not enough:
        why += f"; {LEAST_PAIRS} rounds are needed"
    shown = above and enough and not broken and not failed
    return JudgedFewest(compared=compared, margin=margin, shown=shown, why=why)


def _whole(objective: Objective, rounds: Sequence[Round], before: str, after: str) -> list[Round]:
    """The rounds in which the two and the baseline have a fitness."""
    return [
        each
        for each in rounds
        if {BASELINE, before, after} <= each.keys()
        and all(
            objective.fitness(each[name], each[BASELINE]) is not None for name in (before, after)
        )
    ]


def _fitness(objective: Objective, rounds: Sequence[Round], name: str) -> Floats:
    if name == BASELINE:
        return np.zeros(len(rounds))
    return fitness_by_pair(objective, [(each[BASELINE], each[name]) for each in rounds])


def measured_path(
    assembly: ResolvedJob, design: Design, sets: Sets, explanation: Explanation
) -> MeasuredPath:
    """What the runs say of an explanation."""
    objective = assembly.problem.objective
    runs = [run for each in sets.values() for run in each.values()]
    # The metrics of the runs that ended well, round by round, under each of their roles.
    rounds: list[Round] = [
        {role: runs[name].metrics for role, name in design.roles.items() if runs[name].done}
        for _, runs in sorted(sets.items())
    ]
    names = [f"step {place}" for place in range(1, len(explanation.steps) + 1)]
    points = [BASELINE, *(name for name in names if name in design.roles)]
    steps = [compare_blocks(objective, rounds, *ends) for ends in pairwise(points)]
    winner = compare_blocks(objective, rounds, BASELINE, WINNER)
    minimal = None
    if MINIMAL in design.roles:
        failed = _failed_alone(design, sets)
        minimal = judge_minimal(
            objective, rounds, margin=design.margin, failed=failed, margins=design.limit_margins
        )
    return MeasuredPath(
        host=host_name(),
        rocksdb=assembly.installed.version if assembly.installed else None,
        ended_at=datetime.now(UTC).isoformat(timespec="seconds"),
        rounds=design.rounds,
        runs=CountedRuns(done=sum(run.done for run in runs), total=len(runs)),
        margin=design.margin,
        steps=steps,
        winner=winner,
        minimal=minimal,
    )


def _failed_alone(design: Design, sets: Sets) -> int:
    """Runs of the fewest changes that failed where the baseline and the winner ended well."""
    others = [design.roles[role] for role in (BASELINE, WINNER)]
    return sum(
        runs[design.roles[MINIMAL]].state not in (TrialState.DONE, TrialState.LOST)
        and all(runs[each].done for each in others)
        for runs in sets.values()
    )
