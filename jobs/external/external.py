"""Jobs that a runner of the user's own measures: ask for suggestions, tell trials."""

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime, timedelta
from functools import partial

from sqlalchemy import Engine

from db.jobs.job_store import JobStore
from db.leases.lease import Lease
from db.schema.job_row import JobRow, JobState
from db.trials.trial_log import StoredTrialLog
from jobs.external.open_jobs import OpenJob, OpenJobs
from jobs.external.reported_trials import ReportedTrial, ReportedTrials
from jobs.queue.lifecycle import WrongState
from jobs.report.artifacts import report_html
from jobs.results.background_fit import fitted
from jobs.results.cache import JobCache
from jobs.results.export import export_options
from jobs.results.outcome import conclude_job, keep_outcome
from jobs.specification.resolved_job import resolve_stored
from optimizer.confirmation.choice import winner_of
from optimizer.confirmation.proof import declared_clocks, declared_test
from optimizer.evaluation.evaluation import Evaluation
from optimizer.results.learned_document import learned_document
from optimizer.results.result import conclude
from optimizer.results.search_document import why_sampling_ended, why_search_ended
from optimizer.run.planning import reason
from optimizer.run.ports import DECLARED_TEST
from optimizer.run.progress import ProgressTracker
from optimizer.run.steps import AskedTrials, ask
from optimizer.strategies.registry import find_strategy
from optimizer.trials.history import History
from optimizer.trials.trial import Phase, Purpose, Trial
from sampler.common.errors import InputError, noting, refuse_noted

_LIVE = (JobState.RUNNING,)
_rankings = JobCache[Mapping[str, object]](alone=True)


class ExternalJobs:
    """All jobs that users' own runners measure.

    Each call holds the job's lease, so that several processes may serve one job.
    """

    def __init__(self, engine: Engine) -> None:
        self._engine, self._store, self._jobs = engine, JobStore(engine), OpenJobs(engine)

    def ask(self, job_id: int, count: int, *, reclaim_seconds: float | None = None) -> AskedTrials:
        """The next trials to measure, ``count`` at most; when all are in, the job is concluded.

        What is out for longer than ``reclaim_seconds`` is handed out again. Errors are those of
        ``OpenJobs.hold``, and an InputError where the baseline cannot be measured.
        """
        with self._jobs.hold(job_id) as (lease, job):
            log = StoredTrialLog(self._engine, lease)
            now = datetime.now(UTC)
            overdue = None if reclaim_seconds is None else now - timedelta(seconds=reclaim_seconds)
            strategy = find_strategy(job.framed.specification.strategy)
            try:
                asked = ask(
                    job.evaluation, job.plan, strategy,
                    count=count, now=now, overdue=overdue,
                )  # fmt: skip
            except InputError as error:
                self._store.set_state(
                    job_id, JobState.FAILED, error=str(error), expected=_LIVE, lease=lease
                )
                raise
            for trial in asked.trials:
                self._enter(log, job, trial)
                log.propose(trial)
            if asked.complete:
                self._conclude(lease, log, job)
            return asked

    def tell(self, job_id: int, told: Sequence[ReportedTrial]) -> list[Trial]:
        """Keeps what was measured: of suggestions, or of configurations that are given.

        To tell the same twice changes nothing. Errors are those of ``OpenJobs.hold``, and an
        InputError where a trial is wrong: then none of them is kept.
        """
        with self._jobs.hold(job_id) as (lease, job):
            found: list[InputError] = []
            reported = ReportedTrials(job.framed.problem, job.history)
            for index, each in enumerate(told):
                with noting(found, f"trials[{index}]"):
                    reported.add(each)
            refuse_noted(found)
            if reported.new:
                self._keep(StoredTrialLog(self._engine, lease), job, reported.new)
            return reported.trials

    def _keep(self, log: StoredTrialLog, job: OpenJob, trials: Sequence[Trial]) -> None:
        for trial in trials:
            job.history.put(trial)
        if len(trials) == 1:
            job.scores.put(trials[0])
        else:  # each new baseline would weigh all trials again
            job.scores = ProgressTracker(job.framed.problem, job.history)
        log.take_in(trials, job.scores.progress(job.plan.trials + job.history.given))

    def _enter(self, log: StoredTrialLog, job: OpenJob, trial: Trial) -> None:
        """Keeps what a phase begins with, before its first trial."""
        problem, history = job.framed.problem, job.history
        first = next(t for t in history if t.phase is trial.phase and not t.given)
        if first.number == trial.number and trial.attempt == 1:
            strategy, explore = find_strategy(problem.strategy), job.plan.explore
            why = reason(trial.phase, job.plan, strategy)
            if trial.phase is Phase.CONFIRM:
                ended = why_search_ended(job.evaluation, job.plan, strategy)
                why += f"; {ended}" if ended else ""
            if trial.phase is Phase.SEARCH:
                why += "; " + why_sampling_ended(job.evaluation, strategy, explore=explore)
            log.enter(trial.phase, why)
            if trial.phase in (Phase.SEARCH, Phase.CONFIRM):
                log.remember("ranking", learned_document(job.evaluation))
        proving = history.numbers(Purpose.PROVE)
        if proving and trial.number == proving[0] and trial.attempt == 1:
            winner = winner_of(job.evaluation, job.plan)
            assert winner is not None
            declared = declared_test(problem.objective, winner, job.plan)
            log.remember(DECLARED_TEST, declared | declared_clocks(job.evaluation))

    def _conclude(self, lease: Lease, log: StoredTrialLog, job: OpenJob) -> None:
        framed = job.framed
        finished = conclude_job(
            framed.specification,
            framed.problem,
            conclude(job.evaluation, job.plan, declared=log.recall(DECLARED_TEST)),
            {"host": "elsewhere", "rocksdb": None, "warnings": list(framed.warnings)},
            export=partial(export_options, framed.plan, None),
            tried=False,
        )
        if not keep_outcome(self._store, log, lease, finished, report=report_html(finished)):
            self._jobs.require_live(lease.job_id)


def live_ranking(engine: Engine, row: JobRow) -> Mapping[str, object]:
    """What a live job's trials teach so far, kept in memory; WrongState without a baseline yet."""
    standing = row.standing or {}
    state = (row.run, standing.get("done"), standing.get("failed"), row.state)
    return _rankings.of(engine, row.id, state, lambda: _ranked(engine, row))


def _ranked(engine: Engine, row: JobRow) -> Mapping[str, object]:
    problem = resolve_stored(row).problem
    history = History(JobStore(engine).trials(row.id))
    if not any(trial.done for trial in history.of(Purpose.BASELINE)):
        raise WrongState(f"job {row.id} has no ranking yet; its baseline is not measured")
    return fitted(learned_document, Evaluation(problem, history))
