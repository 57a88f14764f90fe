"""Drives one job: gives a host its next trial (``ask``), takes in what it measured (``tell``).

``Driver`` holds the history, the phase, the declared test and what is known of each host. Whoever
measures is outside: ``tune`` loops over hosts, ``jobs.external`` answers a user's own runner.
"""

from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Any

from optimizer.budget.budget import Plan, cutoff_seconds, where_words
from optimizer.confirmation.choice import candidates_of, orphaned, proof_subjects
from optimizer.confirmation.proof import declared_clocks, declared_test
from optimizer.evaluation.evaluation import Evaluation
from optimizer.evaluation.host_outliers import (
    confirmed_without_baseline,
    host_outlier,
    measured_since,
)
from optimizer.results.result import Conclusion, conclude
from optimizer.results.search import (
    parameter_ranking,
    why_sampling_ended,
    why_search_ended,
)
from optimizer.run.planning import Budget, ProgressTracker, hurried, plan_of, reason
from optimizer.run.ports import (
    DECLARED_TEST,
    HOSTS_EXCLUDED,
    AskedTrials,
    ControllerStops,
    Hosts,
    LeaseLost,
    NoHostCanMeasure,
    RunObserver,
    TrialLog,
    TrialLostError,
    Unwatched,
)
from optimizer.run.steps import confirming, must_be_told_first, next_trial, require_baseline
from optimizer.strategies.strategy import Strategy
from optimizer.trials.problem import Problem
from optimizer.trials.trial import History, Phase, Purpose, Trial
from sampler.bench.outcome import Outcome, TrialState

# What is lost so often under one controller is lost by the trial, or by hosts that are broken.
# Those of earlier controllers do not count: whoever resumes a job has seen why it had ended.
_MOST_ATTEMPTS = 50
_ORDER = tuple(Phase)
_READMITTED = "used again, as no other host was left"


@dataclass
class HostState:
    """What a job knows of one host."""

    trial: int | None = None  # the number of the trial in flight on it
    excluded: str | None = None  # why it measures no more for this job
    # The last run of its baseline in line (None: none was); documents of older jobs do not tell.
    since: int | None = None
    since_told: bool = True
    readmitted: str | None = None  # why it had been excluded, before no other host was left
    failing: bool = False  # whether the last run of its baseline failed
    ended_at: datetime | None = None  # when its last trial had ended


class Driver:
    """One job, from wherever its log stands to the end.

    ``log`` may be set anew: the job's log under another lease. A controller that resumes a job
    tells its observer the phase again; without an observer the phase is that of the history.
    """

    def __init__(
        self,
        problem: Problem,
        budget: Budget,
        strategy: Strategy,
        log: TrialLog,
        *,
        observer: RunObserver | None = None,
        now: Callable[[], datetime] = lambda: datetime.now(UTC),
    ) -> None:
        self.problem, self.budget, self.strategy = problem, budget, strategy
        self.log, self.observer, self.now = log, observer or Unwatched(), now
        self.history = History(log.trials())
        self.evaluation = Evaluation(problem, self.history)
        self.hosts = _hosts_of(log.recall(HOSTS_EXCLUDED) or {})
        self._progress = ProgressTracker(problem, self.history)
        self._attempts_before = {trial.number: trial.attempt for trial in self.history}
        reached = [trial.phase for trial in self.history if not trial.given]
        self._phase = max(reached, key=_ORDER.index) if reached and observer is None else None

    @property
    def plan(self) -> Plan:
        """How the budget is divided, by the baseline as it is known now."""
        return plan_of(self.problem, self.budget, self.history)

    @property
    def busy(self) -> list[str]:
        """The hosts with a trial in flight."""
        return [name for name, state in self.hosts.items() if state.trial is not None]

    def complete(self) -> bool:
        """Whether nothing is left to measure, and nothing is in flight.

        Where the draws have just ended, the next phase is entered, and what they taught is kept.
        """
        return not self.busy and not self.history.unfinished() and self._next(None, ()) is None

    def state(self, host: str) -> HostState:
        """What is known of a host."""
        return self.hosts.setdefault(host, HostState())

    def resume(self, attach: Callable[[Trial], bool]) -> None:
        """What an earlier controller began goes on if it can; if not, it is run again."""
        for trial in self.history.unfinished():
            if trial.state is TrialState.RUNNING and trial.host and attach(trial):
                self.state(trial.host).trial = trial.number
                self._enter(trial.phase)
            else:
                self.history.put(trial.lost(trial.failure or "its controller died", at=self.now()))
        for host in self.hosts:  # a controller may have ended before it had withdrawn all
            self._withdraw_of_excluded(host)

    def admitted(self, connected: Iterable[str]) -> list[str]:
        """Those of the connected hosts that measure for this job.

        Half a round of a host that is not among them compares with nothing: it is begun again.
        """
        there = [host for host in connected if self.state(host).excluded is None]
        if confirming(self.history) and not set(self.history.hosts) <= set(there):
            held, plan = [*there, *self.busy], self.plan
            size = 1 + len(candidates_of(self.evaluation, plan))
            proof = len(proof_subjects(self.evaluation, plan))
            for purpose, whole in ((Purpose.SELECT, size), (Purpose.PROVE, proof)):
                if left := orphaned(self.history, purpose, whole, held):
                    self._withdraw(left, "the rest of its round cannot run on the same host")
        return there

    def ask(self, host: str | None, beside: Sequence[str] = ()) -> Trial | None:
        """The next trial of a free host, begun; None: there is none for it now.

        ``host`` None: whoever measures does not matter. ``beside`` are the hosts that are there.

        Raises:
            InputError: The baseline cannot be measured.
            TrialLostError: A host lost the trial again and again.
        """
        trial = self._next(host, beside)
        return None if trial is None else self._begin(trial, host)

    def ask_many(self, count: int, *, overdue: datetime | None = None) -> AskedTrials:
        """At most ``count`` next trials for whoever measures; errors are those of ``ask``.

        What is lost, or out since before ``overdue``, is handed out again before anything new.
        """
        again = [
            trial
            for trial in self.history.unfinished()
            if trial.state is TrialState.LOST
            or (overdue and trial.started_at and trial.started_at < overdue)
        ]
        require_baseline(self.problem, self.plan, self.history)  # before any is begun again
        asked = [self._begin(trial.again(), None) for trial in again[:count]]
        while len(asked) < count and (trial := self.ask(None)):
            asked.append(trial)
        if len(asked) == count:
            return AskedTrials(tuple(asked), "as many as requested")
        if not (left := self.history.unfinished()):
            return AskedTrials(tuple(asked), "all trials are done", complete=True)
        why = f"report {', '.join(str(trial.number) for trial in left[:10])} first"
        return AskedTrials(tuple(asked), f"the next trials depend on unfinished ones: {why}")

    def tell(self, *trials: Trial, between: float | None = None) -> None:
        """Keeps trials that have ended; given ones may be new.

        ``between``: seconds from the end of the host's trial before until this one was asked for.
        """
        for trial in trials:
            self.history.put(trial)
        if len(trials) == 1:
            self._progress.put(trials[0], between=between)
        else:  # each new baseline would weigh all trials again
            self._progress = ProgressTracker(self.problem, self.history)
        plan = self.plan
        progress = self._progress.progress(
            plan.trials + self.history.given,
            hosts=1 + len(self.busy),
            confirming=plan.confirm_runs,
        )
        self.log.finish(*trials, progress=progress)
        for trial in trials:
            self.observer.trial_ended(trial, progress)

    def tell_ended(self, begun: Trial, outcome: Outcome, connected: Collection[str]) -> None:
        """Keeps what a host measured; excludes a host that is out of line.

        ``connected`` are the hosts that are there: the last one of them is never excluded.
        """
        assert begun.host is not None
        trial, host = self.history[begun.number], self.state(begun.host)
        if trial.has_outcome or trial.attempt != begun.attempt:
            return  # an earlier attempt, whose host was given up
        host.trial = None
        over = trial.ended(outcome, host=begun.host, finished_at=self.now())
        between = None
        if host.ended_at is not None and trial.started_at is not None:
            # Until it was asked for: the wait for another's job is not what the tuner costs.
            between = (trial.started_at - host.ended_at).total_seconds()
        host.ended_at = over.finished_at
        self.tell(over, between=between)
        if host.excluded is not None:  # it was in flight when its host was excluded
            self._withdraw_of_excluded(begun.host)
        elif over.has_outcome and (
            over.purpose is Purpose.BASELINE or (over.is_baseline and not over.done)
        ):
            host.failing = not over.done
            failing = [name for name, state in self.hosts.items() if state.failing]
            for name in dict.fromkeys([begun.host, *failing]):
                self._judge(name, connected)

    def cutoff(self, trial: Trial) -> float | None:
        """When to cut a trial off, in s; only new configurations are, beside a baseline."""
        baseline = self._progress.baseline
        if trial.purpose is not Purpose.CANDIDATE or baseline is None or trial.host is None:
            return None
        return cutoff_seconds(self.problem.search.cutoff, baseline.present_level(trial.host))

    def readmit(self, host: str) -> None:
        """Uses an excluded host again: one that is out of line is better than none."""
        state = self.state(host)
        state.readmitted, state.excluded = state.excluded, None
        self.withdraw_failed_baselines([host])
        self._remember_excluded()
        self.observer.host_readmitted(host, _READMITTED)

    def withdraw_failed_baselines(self, hosts: Sequence[str]) -> list[Trial]:
        """Runs of the baseline that failed on these hosts are made again; those there were."""
        numbers = (n for host in hosts for n in self.history.on_host(host, Purpose.BASELINE))
        failed = [run for n in numbers if (run := self.history[n]).has_outcome and not run.done]
        if failed:
            self._withdraw(failed, "it failed, and no other host is connected")
            for host in hosts:
                self.state(host).failing = False
        return failed

    def conclude(self) -> Conclusion:
        """Judges the trials by the test that was declared."""
        out_of_line = {
            name: f"{each.readmitted}; {_READMITTED}" if each.readmitted else each.excluded or ""
            for name, each in self.hosts.items()
            if each.readmitted or each.excluded
        }
        declared = self.log.recall(DECLARED_TEST)
        return conclude(self.evaluation, self.plan, out_of_line, declared)

    def _next(self, host: str | None, beside: Sequence[str]) -> Trial | None:
        plan = self.plan
        if (
            self._phase is Phase.SAMPLE
            and not must_be_told_first(self.evaluation, plan, self.strategy)
            and self.strategy.sampling_done(self.evaluation, plan.explore)
        ):
            ended = why_sampling_ended(self.evaluation, self.strategy, explore=plan.explore)
            self._enter(Phase.RANK, ended)
            self._keep_learned()
        hurry = hurried(self.problem, self.budget, plan, self.history)
        return next_trial(
            self.evaluation, plan, self.strategy, host=host, beside=beside, hurry=hurry
        )

    def _begin(self, trial: Trial, host: str | None) -> Trial:
        lost = trial.attempt - 1 - self._attempts_before.get(trial.number, 0)
        if host is not None and lost >= _MOST_ATTEMPTS:
            before = self.history[trial.number]
            raise TrialLostError(f"trial {trial.number} was lost {lost} times: {before.failure}")
        ended = None
        if trial.phase is Phase.CONFIRM and self._phase is not Phase.CONFIRM:
            self._keep_learned()  # the search has taught models more than the draws
            ended = why_search_ended(self.evaluation, self.plan, self.strategy)
        self._enter(trial.phase, ended)
        if trial.purpose is Purpose.PROVE and not self.history.numbers(Purpose.PROVE):
            self.log.remember(DECLARED_TEST, self._declared_test())
        trial = replace(trial, host=host, started_at=self.now())
        self.log.propose(trial)
        self.history.put(trial)
        if host is not None:
            self.state(host).trial = trial.number
        self.observer.trial_started(trial)
        return trial

    def _enter(self, phase: Phase, ended: str | None = None) -> None:
        if self._phase is not None and _ORDER.index(phase) <= _ORDER.index(self._phase):
            return  # a baseline between two phases, or a trial that is run again
        # Of a job that was killed as its last draw ended, nobody has kept what was learned.
        if self._phase is None and phase is Phase.SEARCH and self.log.recall("ranking") is None:
            self._keep_learned()
        self._phase = phase
        why = reason(phase, self.plan, self.strategy, self.problem.confirm)
        why += f"; {ended}" if ended else ""
        self.log.enter(phase, why)
        self.observer.phase(phase, why)

    def _keep_learned(self) -> None:
        self.log.remember("ranking", parameter_ranking(self.evaluation).document())

    def _declared_test(self) -> dict[str, Any]:
        """The deciding test, written down before the first of its runs."""
        plan = self.plan
        _, winner, *start = proof_subjects(self.evaluation, plan)
        test = declared_test(self.problem.objective, winner, plan)
        document: dict[str, Any] = {**test, **declared_clocks(self.evaluation)}
        if start:  # it decides nothing, and is told beside the winner
            document["starting_point"] = start[0]
        if self.problem.confirm is not None:
            document["measured"] = where_words(self.problem.confirm)
        return document

    def _judge(self, name: str, connected: Collection[str]) -> None:
        """Excludes a host that is out of line, as long as another one is there.

        One that was readmitted stays, or it would come and go with the others.
        """
        state = self.state(name)
        if state.excluded is not None or state.readmitted is not None:
            return
        if all(self.state(other).excluded is not None for other in {*connected} - {name}):
            return
        if (found := host_outlier(self.evaluation, name)) is None:
            return
        state.excluded, state.since, state.since_told = found.why, found.since, True
        self._remember_excluded()
        self.observer.host_excluded(name, found.why)
        self._withdraw_of_excluded(name)

    def _remember_excluded(self) -> None:
        excluded = {host: each for host, each in self.hosts.items() if each.excluded is not None}
        document: dict[str, Any] = {
            "hosts": {host: each.excluded for host, each in excluded.items()},
            "since": {host: each.since for host, each in excluded.items() if each.since_told},
        }
        back = {host: each.readmitted for host, each in self.hosts.items() if each.readmitted}
        self.log.remember(HOSTS_EXCLUDED, document | ({"taken_back": back} if back else {}))

    def _withdraw_of_excluded(self, name: str) -> None:
        """What a host explored while it was out of line is to be measured elsewhere.

        Older jobs do not tell since when that is. While it is confirmed, what a host measured that
        has never measured the baseline compares with nothing.
        """
        state = self.state(name)
        if state.excluded is None or not state.since_told:
            return
        if confirming(self.history):
            wrong = confirmed_without_baseline(self.history, name)
        else:
            wrong = measured_since(self.history, name, state.since)
        if wrong:
            self._withdraw(wrong, f"{name} was excluded: {state.excluded}")

    def _withdraw(self, trials: list[Trial], why: str) -> None:
        self.log.withdraw(trials, why)
        for trial in trials:
            self.history.put(trial.lost(why, at=self.now()))
        self._progress = ProgressTracker(self.problem, self.history)


def _hosts_of(document: Any) -> dict[str, HostState]:
    """The excluded and readmitted hosts of a job that is resumed."""
    since = document.get("since", {})
    found = {
        host: HostState(excluded=why, since=since.get(host), since_told=host in since)
        for host, why in document.get("hosts", {}).items()
    }
    for host, why in document.get("taken_back", {}).items():
        found.setdefault(host, HostState()).readmitted = why
    return found


_TICK_SECONDS = 0.25
# So long a job waits for another host before it readmits an excluded one, or ends without any.
ALONE_SECONDS = 300.0


def tune(driver: Driver, hosts: Hosts) -> Conclusion:
    """Runs what is left of a job on its hosts, and judges it.

    Raises:
        InputError: The baseline cannot be measured, or the machine cannot run a trial.
        LeaseLost: Another controller has taken the job over.
        NoHostCanMeasure: None of the hosts that are there can measure even the baseline.
    """
    idle_since: datetime | None = None
    try:
        driver.resume(hosts.attach)
        while _begin_all(driver, hosts) or not driver.complete():
            idle_since = _waiting_since(driver, hosts.hosts(), idle_since)
            ended = hosts.wait(_TICK_SECONDS)
            if ended is None:
                driver.observer.tick()
            else:
                driver.tell_ended(*ended, hosts.hosts())
        hosts.leave()
    except (LeaseLost, ControllerStops):
        hosts.leave()
        raise
    except BaseException:
        hosts.cancel()
        raise
    return driver.conclude()


def _begin_all(driver: Driver, hosts: Hosts) -> int:
    """Begins a trial on every free host that has one; how many were begun."""
    begun, there = 0, driver.admitted(hosts.hosts())
    for host in there:
        if driver.state(host).trial is None and (trial := driver.ask(host, there)):
            hosts.start(trial, cutoff_seconds=driver.cutoff(trial))
            begun += 1
    return begun


def _waiting_since(
    driver: Driver, there: Sequence[str], since: datetime | None
) -> datetime | None:
    """Since when nothing is in flight though hosts are there; None: that is not so.

    After ``ALONE_SECONDS`` hosts that are all excluded are readmitted.

    Raises:
        NoHostCanMeasure: They are not excluded, and the baseline fails on them.
    """
    if driver.busy or not there:
        return None
    now = driver.now()
    since = min(since or now, now)  # a clock may be set back
    if (now - since).total_seconds() < ALONE_SECONDS:
        return since
    if all(driver.state(host).excluded is not None for host in there):
        for host in there:
            driver.readmit(host)
        return None
    failed = driver.withdraw_failed_baselines(there)
    said = f"the baseline fails: {failed[-1].failure}" if failed else "the reason is unknown"
    raise NoHostCanMeasure(
        f"no connected host can continue ({', '.join(there)}): {said}; "
        "fix it or connect another host, then resume the job"
    )
