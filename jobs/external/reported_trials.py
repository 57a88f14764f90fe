"""From what a user's own runner says to trials that have ended."""

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta

from optimizer.trials.history import History
from optimizer.trials.problem import Problem
from optimizer.trials.trial import BASELINE_TRIAL, Phase, Purpose, Trial
from sampler.bench.outcome import TrialState
from sampler.common.errors import InputError, noting, refuse_noted
from sampler.rocksdb.parameters import Value, parse_value
from sampler.space.space import Space, digest

REPORTABLE = (TrialState.DONE, TrialState.FAILED, TrialState.TIMED_OUT, TrialState.LOST)


class NotAsked(RuntimeError):
    """The job is not one that takes suggestions and trials now."""


@dataclass(frozen=True, kw_only=True)
class ReportedTrial:
    """What is said of one trial."""

    number: int | None = None  # of the suggestion; None for a configuration that is given
    # of the suggestion, where it was handed out again; None for the newest
    attempt: int | None = None
    baseline: bool = False  # of what is given: that it is the baseline
    # of what is given: its values; what is left out is as in the baseline
    configuration: Mapping[str, object] | None = None
    state: TrialState = TrialState.DONE
    metrics: Mapping[str, float] = field(default_factory=dict)
    failure: str | None = None
    host: str | None = None
    bench_seconds: float = 0.0  # how long the benchmark ran


class ReportedTrials:
    """Trials that are reported together; nothing of the history changes.

    What was told before is recognised by what it says, each trial once: to tell the same again
    finds the same trials, and two equal runs that are told together are two.

    Attributes:
        trials: As they are to be kept, in the order in which they were told.
        new: Those of them that were not told before.
    """

    def __init__(self, problem: Problem, history: History) -> None:
        self._problem, self._history = problem, history
        self._number = history.next_number
        self._told: dict[int, Trial] = {}  # of these, by number
        self.trials: list[Trial] = []
        self.new: list[Trial] = []

    def add(self, told: ReportedTrial) -> None:
        """Takes in one trial; an InputError if it was not suggested, has ended, or is wrong."""
        kept, trial = self._given(told) if told.number is None else self._suggested(told)
        self._told[trial.number] = trial
        self.trials.append(trial)
        if not kept:
            self.new.append(trial)

    def _suggested(self, told: ReportedTrial) -> tuple[bool, Trial]:
        number = told.number or 0
        if not 1 <= number < self._history.next_number:
            raise InputError("number", f"{number} was never suggested")
        if told.configuration is not None or told.baseline:
            raise InputError("configuration", "is fixed by the suggestion; leave it out")
        trial = self._told.get(number, self._history[number])
        if told.attempt is not None and told.attempt != trial.attempt:
            problem = f"{told.attempt} has expired; trial {number} was suggested again"
            raise InputError("attempt", problem)
        ended = _with_outcome(self._problem, trial, told)
        if trial.state is TrialState.RUNNING:
            return False, ended
        if not _says_the_same(trial, ended):
            raise InputError("number", f"trial {number} is already {trial.state.value}")
        return True, trial

    def _given(self, told: ReportedTrial) -> tuple[bool, Trial]:
        if told.state is TrialState.LOST:
            raise InputError("state", "a lost trial cannot be imported")
        if told.attempt is not None:
            raise InputError("attempt", "belongs to a suggestion; leave it out")
        if told.baseline == (told.configuration is not None):
            raise InputError("configuration", "give number, or configuration, or baseline = true")
        problem, number = self._problem, self._number
        default = problem.space.default_configuration()
        configuration = default
        if told.configuration is not None:
            configuration = imported_configuration(problem.space, told.configuration)
        baseline = told.baseline or digest(configuration) == digest(default)
        if number == BASELINE_TRIAL and not baseline:
            first = "trial 1 is the reference; report a run of the baseline first"
            raise InputError("baseline", first)
        trial = Trial(
            number=number,
            phase=Phase.BASELINE if baseline else Phase.SAMPLE,
            purpose=Purpose.BASELINE if baseline else Purpose.CANDIDATE,
            seed=problem.seed_of(number),
            configuration=configuration,
            digest=digest(configuration),
            subject=BASELINE_TRIAL if baseline else None,
            why="measured before the job and imported",
            given=True,
        )
        ended = _with_outcome(problem, trial, told)
        for known in self._history.of_configuration(ended.digest):
            if known.given and known.number not in self._told and _says_the_same(known, ended):
                return True, known
        self._number += 1
        return False, ended


def _with_outcome(problem: Problem, trial: Trial, told: ReportedTrial) -> Trial:
    if told.state not in REPORTABLE:
        allowed = ", ".join(state.value for state in REPORTABLE)
        raise InputError("state", f"{told.state.value!r} is not one of {allowed}")
    done = told.state is TrialState.DONE
    if not done and told.metrics:
        raise InputError("metrics", "only a trial in the state done has metrics; leave them out")
    objective = problem.objective
    limits = (limit.metric for limit in objective.limits)
    for name in (*(term.metric for term in objective.terms), *limits):
        if done and name not in told.metrics:
            missing = f"is missing; the objective {objective.name} needs it"
            raise InputError(f"metrics.{name}", missing)
    for name, value in told.metrics.items():
        if not math.isfinite(value):
            raise InputError(f"metrics.{name}", f"{value} is not a finite number")
    now = datetime.now(UTC)
    return replace(
        trial,
        started_at=trial.started_at and _began(trial.started_at, now, told.bench_seconds),
        state=told.state,
        metrics=dict(told.metrics),
        failure=told.failure or (None if done else "no reason given"),
        host=told.host,
        bench_seconds=told.bench_seconds,
        finished_at=now,
    )


def _began(asked_at: datetime, told_at: datetime, bench_seconds: float) -> datetime:
    """When a suggestion was measured: many may be asked for at once, and told one by one."""
    if not bench_seconds:
        return asked_at  # nobody said how long it took
    return max(asked_at, told_at - timedelta(seconds=bench_seconds))


def _says_the_same(kept: Trial, told: Trial) -> bool:
    return kept.state is told.state and dict(kept.metrics) == dict(told.metrics)


def imported_configuration(space: Space, given: Mapping[str, object]) -> dict[str, Value]:
    """The values of a configuration, as a proposal of the space would hold them.

    What is left out is as in the baseline, and values may lie outside of the space's ranges.

    Raises:
        InputError: A value is of the wrong type, or an option that the space leaves where it is
            was moved: every trial of the job has the same there.
    """
    found: list[InputError] = []
    values = dict(space.start)
    for name, value in given.items():
        with noting(found):
            values[name] = _value(space, name, value)
    refuse_noted(found)
    shown = [*space.fixed, *(name for name in space.names if name not in space.fixed)]
    return {name: values[name] for name in shown if space.is_active(name, values)}


def _value(space: Space, name: str, given: object) -> Value:
    where = f"configuration.{name}"
    parameter = space.known.get(name)
    if parameter is None:
        known = ", ".join(sorted(space.by_name))
        raise InputError(where, f"is not in the space; choose one of {known}")
    value = parse_value(parameter, given, field=where)
    moves = name in space.by_name and name not in space.fixed
    if not moves and value != space.start.get(name):
        stays = space.start.get(name)
        raise InputError(where, f"is fixed by the space at {stays!r}")
    return value
