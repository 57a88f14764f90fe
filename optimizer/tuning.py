"""The tuning run: asks for the next trial, has it measured, keeps it, until none is left."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Any

from optimizer.budget import LEAST_TRIALS, Plan, divide, trials_in
from optimizer.confirmation import Pair, Verdict, declared_test, judge
from optimizer.detection import LEAST_TRIALS_TO_DETECT, planned, sentence
from optimizer.history import History
from optimizer.knowledge import ranking_of
from optimizer.ports import Bench, Progress, TrialLog
from optimizer.problem import Problem
from optimizer.ranking_document import ranking_document
from optimizer.sampling_document import why_sampling_ended
from optimizer.standing import Scoreboard
from optimizer.steps import BASELINE_TRIAL, next_trial, winner_of
from optimizer.strategy import Strategy
from optimizer.trial import Phase, Purpose, Trial

_TICK_SECONDS = 0.25
# A controller may be killed many times in one trial; a host that loses it so often is broken.
_MOST_ATTEMPTS = 50
_ORDER = tuple(Phase)
_WHY = {
    Phase.BASELINE: "measure the baseline, what every trial is compared with",
    Phase.SAMPLE: "draw configurations from the whole space, to learn what matters",
    Phase.RANK: "learn from the draws which parameters matter",
    Phase.SEARCH: "search the parameters that matter most",
    Phase.CONFIRM: "measure the best few again, then prove the winner on fresh runs",
}


class TrialLostError(RuntimeError):
    """A trial was lost again and again."""


@dataclass(frozen=True)
class Budget:
    """How much may be spent: runs of the benchmark, or minutes. One of the two is set."""

    trials: int | None = None
    minutes: float | None = None


@dataclass(frozen=True)
class Conclusion:
    """How a job came out.

    Attributes:
        winner: The number of the trial that won the choice; None if no trial ended well.
        verdict: What the fresh runs say of it; None if there were not enough.
    """

    history: History
    plan: Plan
    winner: int | None
    verdict: Verdict | None


class Tuning:
    """One job's run, from wherever its log stands to the end."""

    def __init__(
        self,
        problem: Problem,
        budget: Budget,
        strategy: Strategy,
        *,
        log: TrialLog,
        bench: Bench,
        progress: Progress,
        now: Callable[[], datetime] = lambda: datetime.now(UTC),
    ) -> None:
        """Binds a problem to its log, its bench and whoever watches."""
        self._problem, self._budget, self._strategy = problem, budget, strategy
        self._log, self._bench, self._progress, self._now = log, bench, progress, now
        self._history = History(log.trials())
        self._phase: Phase | None = None
        self._scores = Scoreboard(problem, self._history)
        self._ended_at: datetime | None = None

    def run(self) -> Conclusion:
        """Runs what is left of the job and judges it.

        Raises:
            InputError: The baseline cannot be measured, or the machine cannot run a trial.
            LeaseLost: Another controller has taken the job over.
        """
        self._run_lost_again()
        while (trial := self._next()) is not None:
            self._enter(trial.phase)
            self._declare(trial)
            self._measure(trial)
            self._run_lost_again()
        return conclude(self._problem, self._plan(), self._history)

    def _run_lost_again(self) -> None:
        """Runs what was begun and has no outcome: its controller or its host died."""
        while lost := self._history.unfinished():
            trial = lost[0]
            if trial.attempt >= _MOST_ATTEMPTS:
                raise TrialLostError(
                    f"trial {trial.number} was lost {trial.attempt} times: {trial.failure}"
                )
            self._enter(trial.phase)
            self._measure(trial.again())

    def _next(self) -> Trial | None:
        if self._ready_to_rank():
            explore = self._plan().explore
            ended = why_sampling_ended(
                self._problem, self._strategy, self._history, explore=explore
            )
            self._enter(Phase.RANK, ended)
            ranking = ranking_of(self._problem, self._history)
            self._log.remember("ranking", ranking_document(self._problem, ranking))
        return next_trial(
            self._problem, self._plan(), self._strategy, self._history, hurry=self._hurried()
        )

    def _ready_to_rank(self) -> bool:
        """Whether all draws of a strategy that also searches are in, or enough of them."""
        return self._phase is Phase.SAMPLE and self._strategy.searches(
            self._problem, self._history, self._plan().explore
        )

    def _plan(self) -> Plan:
        return plan_of(self._problem, self._budget, self._history)

    def _hurried(self) -> bool:
        """Whether the minutes that are left are just enough to confirm."""
        candidates = len(self._history.numbers(Purpose.CANDIDATE))
        if self._budget.minutes is None or candidates < divide(LEAST_TRIALS).explore:
            return False
        spent = sum(trial.bench_seconds for trial in self._history)
        each = spent / self._history.finished
        return spent + self._plan().confirm_runs * each >= self._budget.minutes * 60

    def _enter(self, phase: Phase, ended: str | None = None) -> None:
        if self._phase is not None and _ORDER.index(phase) <= _ORDER.index(self._phase):
            return  # a baseline between two phases, or a trial that is run again
        self._phase = phase
        why = reason(phase, self._plan()) + (f"; {ended}" if ended else "")
        self._log.enter(phase, why)
        self._progress.phase(phase, why)

    def _declare(self, trial: Trial) -> None:
        """Writes down the deciding test before the first of its runs."""
        if trial.purpose is not Purpose.PROVE or self._history.numbers(Purpose.PROVE):
            return
        winner = winner_of(self._problem, self._plan(), self._history)
        assert winner is not None
        document: dict[str, Any] = declared_test(self._problem.objective, winner, self._plan())
        self._log.remember("declared_test", document)

    def _measure(self, trial: Trial) -> None:
        trial = replace(trial, host=self._bench.name, started_at=self._now())
        self._log.propose(trial)
        self._history.put(trial)
        self._progress.trial_started(trial)
        self._bench.start(trial, cutoff_seconds=self._cutoff(trial))
        try:
            while (outcome := self._bench.wait(_TICK_SECONDS)) is None:
                self._progress.tick()
        except BaseException:
            self._bench.cancel()
            raise
        ended = trial.ended(outcome, host=self._bench.name, finished_at=self._now())
        self._history.put(ended)
        self._scores.put(ended, since=self._ended_at)
        self._ended_at = ended.finished_at
        standing = self._scores.standing(self._plan().trials)
        self._log.finish(ended, standing)
        self._progress.trial_ended(ended, standing)

    def _cutoff(self, trial: Trial) -> float | None:
        """When to cut a trial off: only new configurations are, and only beside a baseline."""
        multiple = self._problem.search.cutoff
        if trial.purpose is not Purpose.CANDIDATE or self._scores.baseline is None or not multiple:
            return None
        level = self._scores.baseline.metrics
        wall = level.get("wall_seconds")
        if wall is None or "time" not in level:
            return None
        # What the process spends beside the load and its settling: start, sleeps, statistics.
        beside = max(0.0, wall - level["time"])
        return beside + multiple * level["time"] + 1.0


def reason(phase: Phase, plan: Plan) -> str:
    """Why a job enters a phase; where pairs are planned from noise, how many and why."""
    said = sentence(plan) if phase in (Phase.SAMPLE, Phase.CONFIRM) else None
    return f"{_WHY[phase]}; {said}" if said else _WHY[phase]


def plan_of(problem: Problem, budget: Budget, history: History) -> Plan:
    """The division of the budget; minutes become trials by the baseline's first runs."""
    return planned(problem, _divided(problem, budget, history), history)


def _divided(problem: Problem, budget: Budget, history: History) -> Plan:
    if budget.trials is not None:
        return divide(budget.trials)
    first = [t for t in history.of(Purpose.BASELINE, Phase.BASELINE) if t.done][:2]
    if not first or budget.minutes is None:
        return divide(1000)  # only its first baselines are looked at before they are there
    seconds = sum(trial.bench_seconds for trial in first) / len(first)
    least = LEAST_TRIALS if problem.search.detect is None else LEAST_TRIALS_TO_DETECT
    return divide(trials_in(budget.minutes, seconds, least=least))


def conclude(problem: Problem, plan: Plan, history: History) -> Conclusion:
    """Judges the trials that are there."""
    winner = winner_of(problem, plan, history)
    verdict = judge(problem.objective, proof_pairs(history, winner), planned=plan.pairs)
    return Conclusion(history, plan, winner, verdict)


def proof_pairs(history: History, winner: int | None) -> list[Pair]:
    """(baseline's, winner's) metrics of the proof's pairs of which both runs ended well."""
    prove = history.of(Purpose.PROVE)
    pairs: list[Pair] = []
    for first, second in zip(prove[::2], prove[1::2], strict=False):
        by_subject = {first.subject: first, second.subject: second}
        theirs, mine = by_subject.get(BASELINE_TRIAL), by_subject.get(winner)
        if theirs and mine and theirs.done and mine.done:
            pairs.append((theirs.metrics, mine.metrics))
    return pairs
