"""The tuning run: gives every free host its next trial, keeps what comes, until none is left."""

from collections.abc import Callable, Collection, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from importlib import import_module
from typing import Any

from optimizer.budget.budget import Plan, cutoff_seconds, where_words
from optimizer.confirmation.blocks import orphaned
from optimizer.confirmation.choice import candidates_of, proof_subjects
from optimizer.confirmation.proof import declared_clocks, declared_test
from optimizer.evaluation.evaluation import Evaluation
from optimizer.evaluation.host_outliers import (
    confirmed_without_baseline,
    host_outlier,
    measured_since,
)
from optimizer.results.learned_document import learned_document
from optimizer.results.result import Conclusion, conclude
from optimizer.results.search_document import why_sampling_ended, why_search_ended
from optimizer.run.planning import Budget, hurried, plan_of, reason
from optimizer.run.ports import (
    DECLARED_TEST,
    HOSTS_SET_ASIDE,
    ControllerStops,
    EndedTrial,
    Hosts,
    LeaseLost,
    RunObserver,
    TrialLog,
)
from optimizer.run.progress import ProgressTracker
from optimizer.run.steps import confirming, must_be_told_first, next_trial
from optimizer.strategies.strategy import Strategy
from optimizer.trials.history import History
from optimizer.trials.problem import Problem
from optimizer.trials.trial import Phase, Purpose, Trial
from sampler.runner.outcome import TrialState

_TICK_SECONDS = 0.25
# What is lost so often under one controller is lost by the trial, or by hosts that are broken.
# Those of earlier controllers do not count: whoever resumes a job has seen why it had ended.
_MOST_ATTEMPTS = 50
_ORDER = tuple(Phase)
_TAKEN_BACK = "used again, as no other host was left"
# So long a job waits for another host before it takes back one set aside, or ends without any.
ALONE_SECONDS = 300.0


class TrialLostError(RuntimeError):
    """A trial was lost again and again."""


class NoHostCanMeasure(RuntimeError):
    """Hosts are there, and the baseline fails on every one of them."""


class Tuning:
    """One job's run, from wherever its log stands to the end."""

    def __init__(
        self,
        problem: Problem,
        budget: Budget,
        strategy: Strategy,
        *,
        log: TrialLog,
        hosts: Hosts,
        progress: RunObserver,
        now: Callable[[], datetime] = lambda: datetime.now(UTC),
    ) -> None:
        self._problem, self._budget, self._strategy = problem, budget, strategy
        self._log, self._hosts, self._progress, self._now = log, hosts, progress, now
        self._history = History(log.trials())
        self._evaluation = Evaluation(problem, self._history)
        self._attempts_before = {trial.number: trial.attempt for trial in self._history}
        self._phase: Phase | None = None
        self._scores = ProgressTracker(problem, self._history)
        self._busy: dict[str, int] = {}  # host -> the number of its trial
        said = log.recall(HOSTS_SET_ASIDE) or {}
        self._aside: dict[str, str] = dict(said.get("hosts", {}))
        # After which run of its baseline a host is out of line, and why which were taken back.
        self._aside_since: dict[str, int | None] = dict(said.get("since", {}))
        self._taken_back: dict[str, str] = dict(said.get("taken_back", {}))
        self._idle_since: datetime | None = None  # nothing is in flight though hosts are there
        self._ended_at: dict[str, datetime] = {}
        self._failing: set[str] = set()  # where the last run of the baseline failed

    def run(self) -> Conclusion:
        """Runs what is left of the job and judges it.

        Raises:
            InputError: The baseline cannot be measured, or the machine cannot run a trial.
            LeaseLost: Another controller has taken the job over.
        """
        try:
            self._find_in_flight()
            for host in self._aside:  # a controller may have ended before it had withdrawn all
                self._withdraw_since_aside(host)
            while self._begin_all() or not self._all_in():
                self._require_progress()
                ended = self._hosts.wait(_TICK_SECONDS)
                if ended is None:
                    self._progress.tick()
                else:
                    self._take(ended)
            self._hosts.leave()
        except (LeaseLost, ControllerStops):
            self._hosts.leave()
            raise
        except BaseException:
            self._hosts.cancel()
            raise
        back = {h: f"{why}; {_TAKEN_BACK}" for h, why in self._taken_back.items()}
        declared = self._log.recall(DECLARED_TEST)
        return conclude(self._evaluation, self._plan(), self._aside | back, declared)

    def _find_in_flight(self) -> None:
        """What an earlier controller began goes on if it can; if not, it is run again."""
        for trial in self._history.unfinished():
            if trial.state is TrialState.RUNNING and trial.host and self._hosts.attach(trial):
                self._busy[trial.host] = trial.number
                self._enter(trial.phase)
            else:
                self._history.put(
                    trial.lost(trial.failure or "its controller died", at=self._now())
                )

    def _all_in(self) -> bool:
        return not self._busy and not self._history.unfinished() and self._next(None) is None

    def _begin_all(self) -> int:
        begun = 0
        there = [host for host in self._hosts.hosts() if host not in self._aside]
        self._free_rounds(there)
        for host in there:
            if host in self._busy:
                continue
            trial = self._next(host, there)
            if trial is not None:
                self._begin(trial, host)
                begun += 1
        return begun

    def _require_progress(self) -> None:
        """Ends a wait that no host which is there can end.

        Where all of them were set aside, they are taken back after ``ALONE_SECONDS``.

        Raises:
            NoHostCanMeasure: None of them can measure even the baseline.
        """
        there = self._hosts.hosts()
        if self._busy or not there:
            self._idle_since = None
            return
        now = self._now()
        self._idle_since = min(self._idle_since or now, now)  # a clock may be set back
        if (now - self._idle_since).total_seconds() < ALONE_SECONDS:
            return
        self._idle_since = None
        if set(there) <= self._aside.keys():
            for host in there:
                self._take_back(host)
            return
        failed = self._withdraw_failed_baselines(there)
        said = f"the baseline fails: {failed[-1].failure}" if failed else "the reason is unknown"
        raise NoHostCanMeasure(
            f"no connected host can continue ({', '.join(there)}): {said}; "
            "fix it or connect another host, then resume the job"
        )

    def _take_back(self, host: str) -> None:
        """A host that is out of line is better than none."""
        self._taken_back[host] = self._aside.pop(host)
        self._aside_since.pop(host, None)
        self._withdraw_failed_baselines([host])
        self._remember_aside()
        self._progress.host_taken_back(host, _TAKEN_BACK)

    def _withdraw_failed_baselines(self, hosts: Sequence[str]) -> list[Trial]:
        """Runs of the baseline that failed on these hosts are made again; those there were."""
        runs = [
            self._history[n] for h in hosts for n in self._history.on_host(h, Purpose.BASELINE)
        ]
        failed = [run for run in runs if run.has_outcome and not run.done]
        if failed:
            self._withdraw(failed, "it failed, and no other host is connected")
            self._failing.difference_update(hosts)
        return failed

    def _free_rounds(self, there: list[str]) -> None:
        """Half a round on a host that has gone compares with nothing: it is begun again."""
        if not confirming(self._history) or set(self._history.hosts) <= set(there):
            return
        held = [*there, *self._busy]
        plan = self._plan()
        size = 1 + len(candidates_of(self._evaluation, plan))
        proof = len(proof_subjects(self._evaluation, plan))
        for purpose, whole in ((Purpose.SELECT, size), (Purpose.PROVE, proof)):
            left = orphaned(self._history, purpose, whole, held)
            if left:
                self._withdraw(left, "the rest of its round cannot run on the same host")

    def _next(self, host: str | None, beside: Collection[str] = ()) -> Trial | None:
        plan = self._plan()
        if (
            self._phase is Phase.SAMPLE
            and not must_be_told_first(self._evaluation, plan, self._strategy)
            and self._strategy.sampling_done(self._evaluation, plan.explore)
        ):
            ended = why_sampling_ended(self._evaluation, self._strategy, explore=plan.explore)
            self._enter(Phase.RANK, ended)
            self._keep_learned()
        hurry = hurried(self._problem, self._budget, plan, self._history)
        return next_trial(
            self._evaluation, plan, self._strategy, host=host, beside=beside, hurry=hurry
        )

    def _plan(self) -> Plan:
        return plan_of(self._problem, self._budget, self._history)

    def _enter(self, phase: Phase, ended: str | None = None) -> None:
        if self._phase is not None and _ORDER.index(phase) <= _ORDER.index(self._phase):
            return  # a baseline between two phases, or a trial that is run again
        # Of a job that was killed as its last draw ended, nobody has kept what was learned.
        if self._phase is None and phase is Phase.SEARCH and self._log.recall("ranking") is None:
            self._keep_learned()
        self._phase = phase
        why = reason(phase, self._plan(), self._strategy, self._problem.confirm)
        why += f"; {ended}" if ended else ""
        self._log.enter(phase, why)
        self._progress.phase(phase, why)

    def _keep_learned(self) -> None:
        self._log.remember("ranking", learned_document(self._evaluation))

    def _declare(self, trial: Trial) -> None:
        """Writes down the deciding test before the first of its runs."""
        if trial.purpose is not Purpose.PROVE or self._history.numbers(Purpose.PROVE):
            return
        _, winner, *start = proof_subjects(self._evaluation, self._plan())
        document: dict[str, Any] = declared_test(self._problem.objective, winner, self._plan())
        document |= declared_clocks(self._evaluation)
        if start:  # it decides nothing, and is told beside the winner
            document["starting_point"] = start[0]
        if self._problem.confirm is not None:
            document["measured"] = where_words(self._problem.confirm)
        self._log.remember(DECLARED_TEST, document)

    def _begin(self, trial: Trial, host: str) -> None:
        lost = trial.attempt - 1 - self._attempts_before.get(trial.number, 0)
        if lost >= _MOST_ATTEMPTS:
            before = self._history[trial.number]
            raise TrialLostError(f"trial {trial.number} was lost {lost} times: {before.failure}")
        ended = None
        if trial.phase is Phase.CONFIRM and self._phase is not Phase.CONFIRM:
            self._keep_learned()  # the search has taught models more than the draws
            ended = why_search_ended(self._evaluation, self._plan(), self._strategy)
        self._enter(trial.phase, ended)
        self._declare(trial)
        trial = replace(trial, host=host, started_at=self._now())
        self._log.propose(trial)
        self._history.put(trial)
        self._busy[host] = trial.number
        self._progress.trial_started(trial)
        self._hosts.start(trial, host=host, cutoff_seconds=self._cutoff(trial, host))

    def _take(self, ended: EndedTrial) -> None:
        trial = self._history[ended.number]
        if trial.has_outcome or trial.attempt != ended.attempt:
            return  # an earlier attempt, whose host was given up
        self._busy.pop(ended.host, None)
        over = trial.ended(ended.outcome, host=ended.host, finished_at=self._now())
        self._history.put(over)
        before = self._ended_at.get(ended.host)
        between = None
        if before is not None and trial.started_at is not None:
            # Until it was asked for: the wait for another's job is not what the tuner costs.
            between = (trial.started_at - before).total_seconds()
        self._scores.put(over, between=between)
        if over.finished_at is not None:
            self._ended_at[ended.host] = over.finished_at
        plan = self._plan()
        progress = self._scores.progress(
            plan.trials, hosts=1 + len(self._busy), confirming=plan.confirm_runs
        )
        self._log.finish(over, progress)
        self._progress.trial_ended(over, progress)
        if ended.host in self._aside:  # it was in flight when its host was set aside
            self._withdraw_since_aside(ended.host)
        elif over.has_outcome and (
            over.purpose is Purpose.BASELINE or (over.is_baseline and not over.done)
        ):
            (self._failing.discard if over.done else self._failing.add)(ended.host)
            for host in {ended.host, *self._failing} - self._aside.keys():
                self._judge(host)

    def _judge(self, host: str) -> None:
        """Sets a host aside that is out of line, as long as another one is there.

        One that was taken back stays, or it would come and go with the others.
        """
        if host in self._taken_back:
            return
        if not any(other != host and other not in self._aside for other in self._hosts.hosts()):
            return
        found = host_outlier(self._evaluation, host)
        if found is None:
            return
        self._aside[host], self._aside_since[host] = found.why, found.since
        self._remember_aside()
        self._progress.host_set_aside(host, found.why)
        self._withdraw_since_aside(host)

    def _remember_aside(self) -> None:
        document: dict[str, Any] = {"hosts": dict(self._aside), "since": dict(self._aside_since)}
        if self._taken_back:
            document["taken_back"] = dict(self._taken_back)
        self._log.remember(HOSTS_SET_ASIDE, document)

    def _withdraw_since_aside(self, host: str) -> None:
        """What a host explored while it was out of line is to be measured elsewhere.

        Older jobs do not tell since when that is. While it is confirmed, what a host measured that
        has never measured the baseline compares with nothing.
        """
        if host not in self._aside_since:
            return
        if confirming(self._history):
            wrong = confirmed_without_baseline(self._history, host)
        else:
            wrong = measured_since(self._history, host, self._aside_since[host])
        if wrong:
            self._withdraw(wrong, f"{host} was set aside: {self._aside[host]}")

    def _withdraw(self, trials: list[Trial], why: str) -> None:
        self._log.withdraw(trials, why)
        for trial in trials:
            self._history.put(trial.lost(why, at=self._now()))
        self._scores = ProgressTracker(self._problem, self._history)

    def _cutoff(self, trial: Trial, host: str) -> float | None:
        """When to cut a trial off: only new configurations are, and only beside a baseline."""
        if trial.purpose is not Purpose.CANDIDATE or self._scores.baseline is None:
            return None
        level = self._scores.baseline.present_level(host)
        return cutoff_seconds(self._problem.search.cutoff, level)


MODULES = (
    "deap.benchmarks.tools",
    "scipy.optimize",
    "scipy.stats",
    "sklearn.ensemble",
    "sklearn.metrics",
    "sklearn.model_selection",
    "statsmodels.nonparametric.smoothers_lowess",
)


def load_libraries() -> None:
    """Loads them now: for whoever is about to hold what others wait for."""
    for module in MODULES:
        import_module(module)
