"""Runs that fail, are cut off or take longer than there are minutes."""

from dataclasses import replace

import pytest

from optimizer.budget.budget import divide
from optimizer.objective.objective import Limit, Objective, Term
from optimizer.run.planning import Budget, plan_of
from optimizer.trials.trial import History, Purpose, Trial
from sampler.bench.outcome import Outcome, TrialState
from tests.support.optimizer.pretend_bench import (
    Job,
    PretendBench,
    bowl,
    candidates,
    job_of,
    problem_of,
)
from tests.support.optimizer.tuning_jobs import conclude_of, purposes, run

pytestmark = pytest.mark.usefixtures("quick_ranking", "unranked")


class TestFailingCandidates:
    def test_are_never_chosen(self):
        default = bowl(problem_of().space.default_configuration())
        job = run(48, fails=lambda t: "crash" if bowl(t.configuration)["waf"] < 3.3 else None)
        failed = [t for t in job.log.trials() if t.state is TrialState.FAILED]
        assert failed and not any(t.purpose is not Purpose.CANDIDATE for t in failed)
        assert {t.failure for t in failed} == {"crash"}
        winner = job.log.kept[conclude_of(job).winner]
        assert 3.3 <= winner.metrics["waf"] < default["waf"]

    def test_all_of_them_leave_no_winner(self):
        job = run(24, fails=lambda t: "no" if t.purpose is Purpose.CANDIDATE else None)
        conclusion = conclude_of(job)
        assert (conclusion.winner, conclusion.verdict) == (None, None)
        assert set(purposes(job)) == {Purpose.BASELINE, Purpose.CANDIDATE}

    @pytest.mark.parametrize("trials", [24, 48])
    def test_one_that_fails_when_measured_again_does_not_win(self, trials: int):
        fine = run(trials)
        favourite = conclude_of(fine).winner

        def fails(trial: Trial) -> str | None:
            again = trial.purpose is Purpose.SELECT and trial.subject == favourite
            return "crash" if again else None

        job = run(trials, fails=fails)
        conclusion = conclude_of(job)
        assert conclusion.winner not in (None, favourite)
        assert conclusion.verdict.pairs == divide(trials).pairs
        assert len(job.log.trials()) == trials

    def test_one_that_fails_in_the_last_round_alone_does_not_win(self):
        favourite = conclude_of(run(72)).winner
        rounds = [
            t.number
            for t in run(72).log.trials()
            if t.purpose is Purpose.SELECT and t.subject == favourite
        ]
        job = run(72, fails=lambda t: "crash" if t.number == rounds[-1] else None)
        assert len(rounds) == 2
        assert conclude_of(job).winner not in (None, favourite)

    def test_one_that_fails_beside_the_baseline_may_win(self):
        favourite = conclude_of(run(72)).winner
        spoiled = [
            t.number
            for t in run(72).log.trials()
            if t.purpose is Purpose.SELECT and t.round == 2 and t.subject in (1, favourite)
        ]
        job = run(72, fails=lambda t: "disk" if t.number in spoiled else None)
        assert len(spoiled) == 2
        assert conclude_of(job).winner == favourite

    def test_a_choice_whose_baseline_always_fails_is_made_by_those_before(self):
        def fails(trial: Trial) -> str | None:
            return "no" if trial.purpose is Purpose.SELECT and trial.is_baseline else None

        assert conclude_of(run(48, fails=fails)).winner is not None

    def test_when_all_fail_again_there_is_no_winner_and_no_proof(self):
        def fails(trial: Trial) -> str | None:
            again = trial.purpose is Purpose.SELECT and not trial.is_baseline
            return "crash" if again else None

        job = run(24, fails=fails)
        assert Purpose.PROVE not in purposes(job)
        assert conclude_of(job).verdict is None
        assert job.log.recall("declared_test") is None

    def test_pairs_with_a_failed_run_do_not_count_and_are_not_mixed_with_others(self):
        bad = {19, 23}  # two runs of the proof, in two pairs of three
        job = run(24, fails=lambda t: "no" if t.number in bad else None)
        assert conclude_of(job).verdict is None
        one = run(24, fails=lambda t: "no" if t.number == 19 else None)
        verdict = conclude_of(one).verdict
        assert (verdict.pairs, verdict.confirmed) == (2, False)
        assert verdict.baseline.keys() >= {"waf", "sa", "time", "rate"}

    def test_only_the_limits_keeper_may_win(self):
        limit = Limit("rate", at_most_baseline=1.2)  # without it the winner is faster
        job = run(48, objective=Objective("o", (Term("waf", "min"),), (limit,)))
        winner, most = job.log.kept[conclude_of(job).winner], 1.2 * job.log.kept[1].metrics["rate"]
        assert winner.metrics["rate"] <= most
        admissible = [t for t in candidates(job.log.trials()) if t.metrics["rate"] <= most]
        assert len(admissible) < len(candidates(job.log.trials()))
        assert winner.metrics["waf"] == min(t.metrics["waf"] for t in admissible)


class TestCutoff:
    def test_is_for_candidates_alone(self):
        job = run(48)
        for trial, cutoff in job.bench.started:
            assert (cutoff is not None) == (trial.purpose is Purpose.CANDIDATE)

    def test_leaves_room_for_what_is_not_measured(self):
        default = bowl(problem_of().space.default_configuration())
        job = run(24)
        (cutoff,) = {c for t, c in job.bench.started if t.purpose is Purpose.CANDIDATE}
        beside = 2.0  # the bench's wall clock less its time
        assert cutoff == pytest.approx(beside + 4 * default["time"] + 1)

    def test_cut_off_trials_are_counted_and_never_win(self):
        def slow(configuration):
            found = bowl(configuration)
            if configuration["sync"]:
                found["time"] *= 20
                found["waf"] = 0.01
            return found

        job = run(48, function=slow)
        censored = [t for t in job.log.trials() if t.state is TrialState.CENSORED]
        assert len(censored) > 5
        assert all(t.configuration["sync"] for t in censored)
        assert job.log.kept[conclude_of(job).winner].configuration["sync"] is False
        assert len(job.log.trials()) == 48

    def test_needs_a_wall_clock(self):
        class Plain(PretendBench):
            def measure(self, trial: Trial):
                found = super().measure(trial)
                del found["wall_seconds"]
                return found

            def _outcome(self, trial: Trial):
                return Outcome(
                    state=TrialState.DONE, metrics=self.measure(trial), bench_seconds=5.0
                )

        job = job_of(problem_of(), 12, Plain())
        job.run()
        assert {cutoff for _, cutoff in job.bench.started} == {None}


class TestMinutes:
    @staticmethod
    def even(configuration):
        return bowl(configuration) | {"time": 28.0}  # and 2 s beside: half a minute

    def job(self, minutes: float, **bench) -> Job:
        problem = replace(problem_of(), price=False)  # reads of the proof take time of their own
        job = Job(problem, Budget(minutes=minutes), PretendBench(**bench))
        job.run()
        return job

    def test_become_trials_by_the_baselines_time(self):
        job = self.job(24, function=self.even)
        # What is kept for simplified versions, and not needed, may be left over.
        assert 48 - divide(48).simplified <= len(job.log.trials()) <= 48
        assert purposes(job).count(Purpose.PROVE) == 2 * divide(48).pairs

    def test_of_a_moment_still_hold_the_smallest_job(self):
        history = History(self.job(6, function=self.even).log.trials())
        plan = plan_of(problem_of(), Budget(minutes=1), history)
        assert plan == divide(12)

    def test_are_kept_by_exploring_less_when_candidates_are_slow(self):
        def slow(configuration):
            return self.even(configuration) | {"time": 78.0 - 50.0 * (configuration["x"] == 0.9)}

        job = self.job(24, function=slow)
        spent = sum(t.bench_seconds for t in job.log.trials())
        assert purposes(job).count(Purpose.PROVE) == 2 * divide(48).pairs
        assert 0.75 * 24 * 60 < spent < 1.25 * 24 * 60
        assert len(candidates(job.log.trials())) < divide(48).explore

    def test_hold_what_the_tuner_takes_beside_the_runs(self):
        class Slow(PretendBench):
            def start(self, trial: Trial, *, cutoff_seconds: float | None) -> None:
                self.clock.seconds += 10.0
                super().start(trial, cutoff_seconds=cutoff_seconds)

        problem = replace(problem_of(), price=False)
        job = Job(problem, Budget(minutes=24), Slow(self.even))
        job.run()
        assert purposes(job).count(Purpose.PROVE) == 2 * divide(48).pairs
        assert 0.9 * 24 * 60 < job.bench.clock.seconds <= 1.03 * 24 * 60

    def test_do_not_depend_on_when_the_job_is_resumed(self):
        job = self.job(20, function=self.even)
        again = Job(job.problem, job.budget, PretendBench(self.even), job.log.cut(1))
        again.run()
        assert [t.digest for t in again.log.trials()] == [t.digest for t in job.log.trials()]


def test_a_machine_that_has_become_slower_is_given_the_time_that_it_takes_now():
    """Else each of its trials is cut off, for most runs of the baseline were quicker."""
    jumped = 700.0
    slow = PretendBench(drift=lambda seconds: 1.0 if seconds < jumped else 6.0)
    job = job_of(problem_of("random"), 120, slow)
    job.run()
    trials = job.log.trials()
    known = [
        t for t in trials
        if t.is_baseline and t.finished_at and t.metrics["time"] > 50
    ][1].number  # fmt: skip
    later = [t for t in candidates(trials) if t.number > known]
    assert len(later) > 20
    assert {t.state for t in later} == {TrialState.DONE}
