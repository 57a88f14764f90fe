"""Jobs whose trials a runner of the user's own measures: it asks for suggestions, tells trials."""

import math
import threading
import time
from collections import OrderedDict
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from functools import partial

from sqlalchemy import Engine

from db.jobs.job_queue import state_of
from db.jobs.job_store import JobStore
from db.leases import Lease, LeaseHeld, acquire, release, this_process_name
from db.schema.job_row import JobRow, JobState, NoSuchJob
from db.trials.trial_log import StoredTrialLog
from jobs.execution.held_job import renewed_meanwhile
from jobs.queue.lifecycle import NotAsked, WrongState, is_external
from jobs.report.artifacts import conclude_job, report_html
from jobs.results.export import export_options
from jobs.results.fits import JobCache, fitted
from jobs.results.outcome import keep_outcome
from jobs.specification.resolved_job import ResolvedJob, frozen_prior, resolve_stored
from optimizer.budget.budget import explore_left
from optimizer.evaluation.evaluation import Evaluation
from optimizer.results.ranking import ParameterRanking
from optimizer.results.search import parameter_ranking
from optimizer.run.driver import Driver
from optimizer.run.planning import Budget
from optimizer.run.ports import AskedTrials
from optimizer.strategies.registry import find_strategy, load_libraries, named_strategy
from optimizer.trials.problem import Problem
from optimizer.trials.trial import BASELINE_TRIAL, History, Phase, Purpose, Trial
from sampler.bench.outcome import TrialState
from sampler.common.errors import InputError, noting, refuse_noted
from sampler.rocksdb.parameters import Value, parse_value
from sampler.space.space import Space, digest

REPORTABLE = (TrialState.DONE, TrialState.FAILED, TrialState.TIMED_OUT, TrialState.LOST)


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


_LEASE_SECONDS = 30.0
_BUSY_SECONDS = 10.0
_MOST_OPEN = 32
_LIVE = (JobState.RUNNING,)
_rankings = JobCache[ParameterRanking](alone=True)


@dataclass
class OpenJob:
    """A job in the hands of this process, as it stood under an epoch of its lease."""

    epoch: int
    resolved: ResolvedJob
    driver: Driver


class ExternalJobs:
    """All jobs that users' own runners measure, each opened under its lease, one caller at a time.

    Several processes may serve one job. What was read of it is kept in memory as long as nobody
    else has held the lease in between, which its epoch tells.
    """

    def __init__(self, engine: Engine) -> None:
        self._engine, self._store = engine, JobStore(engine)
        self._open: OrderedDict[int, OpenJob] = OrderedDict()
        self._lock = threading.Lock()

    @contextmanager
    def hold(self, job_id: int) -> Iterator[tuple[Lease, OpenJob]]:
        """The job, in nobody else's hands meanwhile.

        Raises:
            KeyError: There is no such job.
            NotAsked: It has ended, or another program measures it.
            LeaseHeld: Another process is busy with it.
        """
        row = self._store.job(job_id)
        if not is_external(row):
            raise NotAsked(f"job {job_id} is measured by the service, not by an external runner")
        load_libraries()  # before, not while others wait for the lease
        lease = self._acquire(job_id)
        try:
            self.require_live(job_id)
            with self._lock:
                job = self._open.pop(job_id, None)
            refused: InputError | None = None
            with renewed_meanwhile(self._engine, lease):
                if job is None or job.epoch != lease.epoch - 1:
                    job = self._read(row, lease)
                job.driver.log = StoredTrialLog(self._engine, lease)
                try:
                    yield lease, job
                except InputError as error:  # before a trial began or was kept
                    refused = error
            job.epoch = lease.epoch
            with self._lock:
                self._open[job_id] = job
                while len(self._open) > _MOST_OPEN:
                    self._open.popitem(last=False)
            if refused is not None:
                raise refused
        finally:
            release(self._engine, lease)

    def require_live(self, job_id: int) -> None:
        """Refuses a job that has ended (NotAsked), or is not there (KeyError)."""
        found = state_of(self._engine, job_id)
        if found is None:
            raise NoSuchJob(f"there is no job {job_id}")
        if found[0] is not JobState.RUNNING:
            raise NotAsked(f"job {job_id} is {found[0].value}; it accepts no more trials")

    def _acquire(self, job_id: int) -> Lease:
        deadline = time.monotonic() + _BUSY_SECONDS
        owner = this_process_name()
        while True:
            try:
                return acquire(self._engine, job_id, owner, seconds=_LEASE_SECONDS)
            except LeaseHeld:
                if time.monotonic() > deadline:
                    raise
                time.sleep(0.02)

    def _read(self, row: JobRow, lease: Lease) -> OpenJob:
        resolved = resolve_stored(row)
        asked, log = resolved.specification, StoredTrialLog(self._engine, lease)
        prior = frozen_prior(self._store, log, row.id, asked.warm_start, resolved.problem, None)
        problem = replace(resolved.problem, prior=prior)
        # What has been measured is kept where the packages that propose are missing.
        driver = Driver(problem, Budget(trials=asked.trials), named_strategy(asked.strategy), log)
        return OpenJob(0, replace(resolved, problem=problem), driver)

    def ask(self, job_id: int, count: int, *, reclaim_seconds: float | None = None) -> AskedTrials:
        """The next trials to measure, ``count`` at most; when all are in, the job is concluded.

        What is out for longer than ``reclaim_seconds`` is handed out again. Errors are those of
        ``hold``, and an InputError where the baseline cannot be measured, or where the strategy
        needs a package that is not installed (the job goes on once it is).
        """
        with self.hold(job_id) as (lease, job):
            if explore_left(job.driver.plan, job.driver.history) > 0:
                find_strategy(job.driver.problem.strategy)  # refused where it is needed
            overdue = None
            if reclaim_seconds is not None:
                overdue = datetime.now(UTC) - timedelta(seconds=reclaim_seconds)
            try:
                asked = job.driver.ask_many(count, overdue=overdue)
            except InputError as error:
                self._store.set_state(
                    job_id, JobState.FAILED, error=str(error), expected=_LIVE, lease=lease
                )
                raise
            if asked.complete:
                self._conclude(lease, job)
            return asked

    def tell(self, job_id: int, told: Sequence[ReportedTrial]) -> list[Trial]:
        """Keeps what was measured: of suggestions, or of configurations that are given.

        To tell the same twice changes nothing. Errors are those of ``hold``, and an
        InputError where a trial is wrong: then none of them is kept.
        """
        with self.hold(job_id) as (_, job):
            found: list[InputError] = []
            reported = ReportedTrials(job.driver.problem, job.driver.history)
            for index, each in enumerate(told):
                with noting(found, f"trials[{index}]"):
                    reported.add(each)
            refuse_noted(found)
            if reported.new:
                job.driver.tell(*reported.new)
            return reported.trials

    def _conclude(self, lease: Lease, job: OpenJob) -> None:
        resolved = job.resolved
        finished = conclude_job(
            resolved.specification,
            resolved.problem,
            job.driver.conclude(),
            {"host": "elsewhere", "rocksdb": None, "warnings": list(resolved.warnings)},
            export=partial(export_options, resolved.plan, None),
            tried=False,
        )
        report = report_html(finished)
        if not keep_outcome(self._store, job.driver.log, lease, finished, report=report):
            self.require_live(lease.job_id)


def live_ranking(engine: Engine, row: JobRow) -> ParameterRanking:
    """What a live job's trials teach so far, kept in memory; WrongState without a baseline yet."""
    standing = row.standing or {}
    state = (row.run, standing.get("done"), standing.get("failed"), row.state)
    return _rankings.of(engine, row.id, state, lambda: _ranked(engine, row))


def _ranked(engine: Engine, row: JobRow) -> ParameterRanking:
    problem = resolve_stored(row).problem
    history = History(JobStore(engine).trials(row.id))
    if not any(trial.done for trial in history.of(Purpose.BASELINE)):
        raise WrongState(f"job {row.id} has no ranking yet; its baseline is not measured")
    return fitted(parameter_ranking, Evaluation(problem, history))
