import pytest

from optimizer.evaluation.evaluation import Evaluation
from optimizer.run.planning import ProgressTracker
from optimizer.trials.trial import History, Phase, Purpose
from sampler.bench.outcome import TrialState
from tests.support.optimizer.pretend_bench import Job, PretendBench, job_of, problem_of, trial_of

pytestmark = pytest.mark.usefixtures("quick_ranking", "unranked")


def fails(trial) -> str | None:
    return "no" if trial.number % 11 == 0 else None


@pytest.fixture(scope="module")
def job() -> Job:
    """Noisy, drifting and with failures: everything that moves a standing."""
    drift = lambda seconds: 1 + seconds / 800  # noqa: E731
    job = job_of(problem_of("random"), 60, PretendBench(noise=0.05, drift=drift, fails=fails))
    job.run()
    return job


def best_of(job: Job, history: History) -> tuple[int, float] | None:
    baseline = Evaluation(problem_of(), history).baseline
    found = [
        (
            job.problem.objective.fitness(
                baseline.corrected(trial.metrics, trial.started_at), baseline.metrics
            ),
            -trial.number,
        )
        for trial in history.of(Purpose.CANDIDATE)
        if trial.done
    ]
    return (-max(found)[1], max(found)[0]) if found else None


class TestWhileExploring:
    def test_the_best_is_what_looking_at_all_trials_anew_gives(self, job: Job):
        bests = set()
        for trial, standing in job.watcher.ended:
            if trial.phase is Phase.CONFIRM:
                break
            history = History(job.log.trials()[: trial.number])
            assert standing.best == best_of(job, history)
            bests.add(standing.best)
        assert len(bests) > 3


class TestAtAnyTime:
    def test_is_the_same_as_a_scoreboard_that_begins_with_the_trials(self, job: Job):
        for trial, standing in job.watcher.ended:
            anew = ProgressTracker(job.problem, History(job.log.trials()[: trial.number]))
            assert anew.progress(60) == standing

    def test_counts_what_ended_well_and_otherwise(self, job: Job):
        for trial, standing in job.watcher.ended:
            failed = trial.number // 11
            assert (standing.done, standing.failed) == (trial.number - failed, failed)
            assert standing.total == 60

    def test_estimates_what_is_left_from_the_mean_trial(self, job: Job):
        for trial, standing in job.watcher.ended:
            seconds = sum(t.bench_seconds for t in job.log.trials()[: trial.number])
            left = seconds / trial.number * (60 - trial.number)
            assert standing.seconds_left == pytest.approx(left)
        assert job.watcher.ended[-1][1].seconds_left == 0


class TestScoreboard:
    BASELINE = trial_of(1, {"waf": 4.0}, purpose=Purpose.BASELINE, bench_seconds=5.0)

    def board(self, *trials) -> ProgressTracker:
        return ProgressTracker(problem_of(objective="waf"), History(trials))

    def test_does_not_count_what_runs_or_was_lost(self):
        nothing = self.board().progress(12)
        assert (nothing.done, nothing.failed, nothing.best, nothing.seconds_left) == (
            0,
            0,
            None,
            0,
        )
        running = trial_of(2, state=TrialState.RUNNING)
        lost = trial_of(3, state=TrialState.LOST, bench_seconds=100.0)
        standing = self.board(self.BASELINE, running, lost).progress(12)
        assert (standing.done, standing.failed) == (1, 0)
        assert standing.seconds_left == 11 * 5.0
        assert self.board(self.BASELINE).progress(0).seconds_left == 0

    def test_a_cut_off_trial_is_no_best(self):
        censored = trial_of(2, {"time": 9.0}, state=TrialState.CENSORED)
        standing = self.board(self.BASELINE, censored).progress(12)
        assert (standing.failed, standing.best) == (1, None)

    def test_the_first_of_equals_stays_the_best(self):
        two, three = trial_of(2, {"waf": 3.0}), trial_of(3, {"waf": 3.0})
        assert self.board(self.BASELINE, two, three).progress(12).best == (2, 250.0)

    def test_a_new_baseline_moves_the_best_and_a_worse_trial_does_not(self):
        history = History([self.BASELINE, trial_of(2, {"waf": 3.0})])
        board = ProgressTracker(problem_of(objective="waf"), history)
        again = trial_of(4, {"waf": 8.0}, purpose=Purpose.BASELINE)
        for trial, best in ((trial_of(3, {"waf": 3.5}), 250.0), (again, 500.0)):
            history.put(trial)
            board.put(trial)
            assert board.progress(12).best == (2, best)
