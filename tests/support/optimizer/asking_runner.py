"""A runner of the user's own that asks for several trials and tells them in any order."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from datetime import timedelta
from random import Random
from typing import Any

from optimizer.budget.budget import Plan
from optimizer.confirmation.choice import candidates_of, choice_of
from optimizer.evaluation.evaluation import Evaluation
from optimizer.run.driver import AskedTrials, Driver
from optimizer.run.planning import Budget
from optimizer.strategies.registry import find_strategy
from optimizer.trials.problem import Problem
from optimizer.trials.trial import BASELINE_TRIAL, History, Phase, Purpose, Trial
from sampler.bench.outcome import Outcome, TrialState
from tests.support.optimizer.pretend_bench import ListLog, PretendBench, trial_of


@dataclass
class AskingRunner:
    """Asks, measures by a pretended bench, tells, and checks what must hold at every step."""

    problem: Problem
    trials: int
    bench: PretendBench = field(default_factory=PretendBench)
    log: ListLog = field(default_factory=ListLog)
    handed: set[tuple[int, int]] = field(default_factory=set)
    out: dict[int, Trial] = field(default_factory=dict)
    complete: bool = False

    def __post_init__(self) -> None:
        strategy, budget = find_strategy(self.problem.strategy), Budget(trials=self.trials)
        self.driver = Driver(self.problem, budget, strategy, self.log, now=self.bench.clock)

    @property
    def history(self) -> History:
        return self.driver.history

    @property
    def plan(self) -> Plan:
        return self.driver.plan

    def ask(self, count: int, *, reclaim: bool = False) -> AskedTrials:
        idle = not self.history.unfinished()
        self.bench.clock.seconds += 1.0
        now = self.bench.clock()
        asked = self.driver.ask_many(
            count, overdue=now - timedelta(seconds=0.5) if reclaim else None
        )
        assert len(asked.trials) <= count
        assert asked.trials or asked.complete or not idle, "nothing is out, and nothing comes"
        for trial in asked.trials:
            assert (trial.number, trial.attempt) not in self.handed, "handed out twice"
            assert self.history[trial.number] == trial
            self.handed.add((trial.number, trial.attempt))
            self.out[trial.number] = trial
        self.complete = asked.complete
        return asked

    def tell(self, number: int, outcome: Outcome | None = None) -> None:
        trial = self.out.pop(number)
        measured = self.bench._outcome(trial) if outcome is None else outcome
        self.bench.clock.seconds += measured.bench_seconds
        self.driver.tell(trial.ended(measured, host="theirs", finished_at=self.bench.clock()))

    def give(
        self,
        configuration: Mapping[str, Any] | None = None,
        state: TrialState = TrialState.DONE,
        metrics: Mapping[str, float] | None = None,
    ) -> Trial:
        """What was measured before: the baseline where no configuration is given."""
        number, baseline = self.history.next_number, configuration is None
        chosen = self.problem.space.default_configuration() if baseline else configuration
        trial = trial_of(
            number,
            configuration=chosen,
            purpose=Purpose.BASELINE if baseline else Purpose.CANDIDATE,
            given=True,
            state=state,
        )
        if state is TrialState.DONE and metrics is None:
            metrics = self.bench.measure(trial)
        told = replace(
            trial, metrics=metrics or {}, started_at=None, finished_at=self.bench.clock()
        )
        self.driver.tell(told)
        return told

    def finish(self, count: int = 1, pick: Callable[[list[int]], int] = min) -> None:
        """Asks for ``count`` at a time and tells all of them, until the job is complete."""
        while not self.complete:
            self.ask(count)
            while self.out:
                self.tell(pick(sorted(self.out)))

    def wander(self, random: Random, *, lost: float = 0.0, give: float = 0.0) -> None:
        """Does anything that a runner may do, until the job is complete."""
        for _ in range(100 * self.trials):
            if self.complete:
                return
            action = random.random()
            if action < give:
                self.give(drawn(self.problem, random) if self.history and action < 0.8 * give
                          else None)  # fmt: skip
            elif self.out and action < 0.7:
                died = Outcome(state=TrialState.LOST, failure="the host died")
                number = random.choice(sorted(self.out))
                self.tell(number, died if random.random() < lost else None)
            else:
                self.ask(random.randint(1, 7), reclaim=random.random() < lost)
        raise AssertionError("the job does not end")

    def own(self) -> list[Trial]:
        """The trials that the job made itself, in the order of proposal."""
        return [trial for trial in self.history if not trial.given]

    def check(self) -> None:
        """The division of the budget is the plan's, as far as there was something to confirm."""
        plan, counts = self.plan, Counter(trial.purpose for trial in self.own())
        assert not self.history.unfinished()
        assert counts[Purpose.BASELINE] == plan.first + plan.exploring - plan.explore
        assert counts[Purpose.CANDIDATE] == plan.explore
        chosen = len(candidates_of(Evaluation(self.problem, self.history), plan))
        assert counts[Purpose.SELECT] == ((chosen + 1) * plan.rounds if chosen > 1 else 0)
        winner = choice_of(Evaluation(self.problem, self.history), plan).winner
        assert counts[Purpose.PROVE] == (2 * plan.pairs if winner else 0)
        if chosen == plan.candidates and winner:
            assert len(self.own()) == self.trials
        order = list(Phase)
        phases = [order.index(trial.phase) for trial in self.own()]
        assert phases == sorted(phases)
        assert {t.subject for t in self.history if t.is_baseline} <= {BASELINE_TRIAL}


def drawn(problem: Problem, random: Random) -> Mapping[str, Any]:
    """A configuration that somebody else has measured."""
    return problem.configuration({name: random.random() for name in problem.space.names})
