"""A trial that waits for another user's job is compared with the baseline of when it ran."""

from __future__ import annotations

from dataclasses import dataclass, replace

import pytest

from optimizer.evaluation.evaluation import Evaluation
from optimizer.trials.trial import Purpose, Trial
from sampler.bench.outcome import Outcome
from tests.support.optimizer.pretend_bench import PretendBench, bowl, job_of, problem_of

pytestmark = pytest.mark.usefixtures("quick_ranking", "unranked")
WAITS = 900.0
LATE = 40


@dataclass
class SharedBench(PretendBench):
    """Another user's job holds the machine before one of the trials."""

    def start(self, trial: Trial, *, cutoff_seconds: float | None) -> None:
        super().start(trial, cutoff_seconds=cutoff_seconds)
        self.clock.seconds += self._waited(trial)

    def _outcome(self, trial: Trial) -> Outcome:
        return replace(super()._outcome(trial), waited_seconds=self._waited(trial))

    def _waited(self, trial: Trial) -> float:
        return WAITS if trial.number == LATE else 0.0


def slower(seconds: float) -> float:
    """The clocks slow down steadily, by a half in an hour."""
    return 1 + seconds / 7200


def test_it_began_when_the_host_was_free_and_its_clocks_are_corrected_for_then():
    problem = problem_of("random", seed=3)
    job = job_of(problem, 96, SharedBench(drift=slower))
    job.run()
    trials = job.log.trials()
    late, before = trials[LATE - 1], trials[LATE - 2]
    assert late.purpose is Purpose.CANDIDATE and late.started_at and before.finished_at
    assert (late.started_at - before.finished_at).total_seconds() == WAITS
    evaluation = Evaluation(problem, job.run().history)
    baseline = evaluation.baseline
    truth = bowl(late.configuration)["time"] / bowl(problem.space.default_configuration())["time"]
    found = baseline.corrected_trial(late)["time"] / baseline.metrics["time"]
    assert found == pytest.approx(truth, rel=0.03)


def test_the_wait_is_not_what_the_tuner_costs():
    job = job_of(problem_of("random"), 48, SharedBench())
    job.run()
    assert job.watcher.ended[-1][1].between_seconds == 0.0


def test_a_trial_that_did_not_wait_began_when_it_was_asked_for():
    job = job_of(problem_of("random"), 24, SharedBench())
    job.run()
    asked = {trial.number: trial.started_at for trial in job.watcher.started}
    assert {trial.number: trial.started_at for trial in job.log.trials()} == asked
