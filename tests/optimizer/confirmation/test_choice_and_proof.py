"""Who wins, and how the winner is proven."""

from dataclasses import replace

import pytest

from optimizer.budget.budget import divide
from optimizer.confirmation.choice import candidates_of, choice_of
from optimizer.evaluation.evaluation import Evaluation
from optimizer.objective.objective import Limit, Objective, Term
from optimizer.results.result import proof_pairs
from optimizer.trials.trial import History, Purpose, Trial
from sampler.bench.outcome import TrialState
from tests.support.optimizer.pretend_bench import (
    Job,
    PretendBench,
    bowl,
    candidates,
    flat,
    job_of,
    problem_of,
    trial_of,
)
from tests.support.optimizer.tuning_jobs import TWO_TERMS, chosen_from_two, conclude_of, run

pytestmark = pytest.mark.usefixtures("quick_ranking", "unranked")


class TestChoice:
    def test_the_best_few_are_measured_again_each_as_often_as_the_baseline(self):
        job = run(48)
        plan = divide(48)
        subjects = [t.subject for t in job.log.trials() if t.purpose is Purpose.SELECT]
        best = sorted(candidates(job.log.trials()), key=lambda t: t.metrics["waf"])
        chosen = candidates_of(Evaluation(job.problem, History(job.log.trials())), plan)
        assert len(chosen) == plan.candidates and best[0].number in chosen
        expected = {1, *chosen}
        size = len(expected)
        for start in range(0, len(subjects), size):
            assert set(subjects[start : start + size]) == expected
        assert len(subjects) == plan.rounds * size

    def test_the_winner_is_the_best_when_measured_again_not_the_luckiest_before(self):
        lucky = {}

        def function(configuration):
            return flat(configuration) | {"waf": 2.0 + configuration["x"]}

        class Lucky(PretendBench):
            def measure(self, trial: Trial):
                found = super().measure(trial)
                if trial.number == 10:
                    lucky[trial.number] = found["waf"]
                    found["waf"] = 1.0
                return found

        job = job_of(problem_of(objective="waf"), 48, Lucky(function))
        conclusion = job.run()
        chosen = {t.subject for t in job.log.trials() if t.purpose is Purpose.SELECT}
        assert 10 in chosen and lucky
        true = {number: job.log.kept[number].configuration["x"] for number in chosen - {1}}
        assert true[conclusion.winner] == min(true.values())

    def test_repeated_runs_count_by_their_mean(self):
        def measured(number: int, waf: float, subject: int | None = None) -> Trial:
            purpose = Purpose.CANDIDATE if subject is None else Purpose.SELECT
            return trial_of(number, {"waf": waf}, purpose=purpose, subject=subject)

        history = History(
            [
                trial_of(1, {"waf": 4.0}, purpose=Purpose.BASELINE),
                measured(2, 2.0),
                measured(3, 2.1),
                measured(4, 3.0, subject=2),
                measured(5, 2.0, subject=3),
                measured(6, 1.0, subject=2),
                measured(7, 2.1, subject=3),
            ]
        )
        plan = replace(divide(48), candidates=2, rounds=2)
        assert candidates_of(Evaluation(problem_of(objective="waf"), history), plan) == [2, 3]
        assert choice_of(Evaluation(problem_of(objective="waf"), history), plan).winner == 2

    def test_keeps_a_limit_by_its_means_not_by_each_run(self):
        """Both break it once in two runs; the fitter one keeps it in the mean."""
        objective = Objective("o", (Term("waf", "min"),), (Limit("p99", at_most=2.0),))

        def measured(number: int, waf: float, p99: float, subject: int | None = None) -> Trial:
            purpose = Purpose.CANDIDATE if subject is None else Purpose.SELECT
            metrics = {"waf": waf, "p99": p99}
            return trial_of(number, metrics, purpose=purpose, subject=subject)

        history = History(
            [
                trial_of(1, {"waf": 4.0, "p99": 9.0}, purpose=Purpose.BASELINE),
                measured(2, 2.0, 1.0),
                measured(3, 2.1, 1.0),
                measured(4, 2.0, 1.0, subject=2),
                measured(5, 1.8, 1.0, subject=3),
                measured(6, 2.0, 2.1, subject=2),
                measured(7, 1.8, 3.1, subject=3),
            ]
        )
        plan = replace(divide(48), candidates=2, rounds=2)
        assert choice_of(Evaluation(problem_of(objective=objective), history), plan).winner == 2

    @pytest.mark.parametrize("purpose", [Purpose.SELECT, Purpose.PROVE])
    def test_is_among_the_candidates_as_they_stood_when_exploration_ended(self, purpose: Purpose):
        """Later baselines would weigh the terms otherwise, and turn the order."""
        problem, chosen = problem_of(objective=TWO_TERMS), chosen_from_two()
        trials = chosen[:3]
        later = [
            trial_of(10 + i, {"waf": 40.0, "sa": 2.0}, purpose=purpose, subject=1)
            for i in range(4)
        ]
        plan = replace(divide(48), candidates=1)
        assert candidates_of(Evaluation(problem, History(trials)), plan) == [2]
        assert candidates_of(Evaluation(problem, History([*trials, *later])), plan) == [2]
        if purpose is Purpose.PROVE:  # nor do they move what was chosen
            plan = replace(divide(48), candidates=2, rounds=1)
            assert choice_of(Evaluation(problem, History([*chosen, *later])), plan).winner == 2

    def test_that_fails_in_a_fresh_run_is_not_confirmed_whatever_the_others_say(self):
        def fails(trial: Trial, *, when: int) -> str | None:
            mine = trial.purpose is Purpose.PROVE and not trial.is_baseline
            return "killed" if mine and trial.round == when else None

        def verdict(when: int):
            job = run(48, objective="waf", function=bowl, noise=0.01,
                      fails=lambda trial: fails(trial, when=when))  # fmt: skip
            return conclude_of(job).verdict

        sound, failing = verdict(0), verdict(2)
        assert sound.confirmed and "failed" not in sound.why
        assert failing.p < 0.025 and failing.pairs == sound.pairs - 1 >= 3
        assert not failing.confirmed
        assert failing.why.endswith("; 1 of its fresh runs failed where the baseline's succeeded")

    def test_is_never_of_one_that_was_cut_off_even_if_few_others_are_left(self):
        history = History(
            [
                trial_of(1, {"waf": 4.0, "time": 10.0}, purpose=Purpose.BASELINE),
                trial_of(2, {"waf": 3.0, "time": 10.0}),
                trial_of(3, {"time": 40.0}, state=TrialState.CENSORED),
                trial_of(4, {}, state=TrialState.FAILED),
            ]
        )
        assert candidates_of(Evaluation(problem_of(objective="waf"), history), divide(48)) == [2]


class TestProof:
    def test_is_of_the_winner_against_the_baseline_side_by_side(self):
        job = run(48)
        prove = [t for t in job.log.trials() if t.purpose is Purpose.PROVE]
        winner = conclude_of(job).winner
        for one, other in zip(prove[::2], prove[1::2], strict=True):
            assert {one.subject, other.subject} == {1, winner}
            assert other.number == one.number + 1
        assert prove[-1].number == 48

    def test_who_goes_first_is_turned_round_in_every_second_pair(self):
        job = run(96)
        firsts = [t.is_baseline for t in job.log.trials() if t.purpose is Purpose.PROVE][::2]
        assert len(firsts) >= 4
        assert firsts[1::2] == [not first for first in firsts[::2]]

    def test_the_deciding_test_is_written_down_before_its_first_run(self):
        job = run(48)
        events = job.log.events
        declared = events.index("remember declared_test")
        first = next(t.number for t in job.log.trials() if t.purpose is Purpose.PROVE)
        assert events[declared + 1] == f"propose {first}"
        assert events.count("remember declared_test") == 1
        document = job.log.recall("declared_test")
        assert document["winner"] == conclude_of(job).winner
        assert document["pairs"] == divide(48).pairs
        again = Job(job.problem, job.budget, PretendBench(), job.log.cut(45))
        again.run()
        assert "remember declared_test" not in again.log.events

    def test_the_winner_does_not_change_while_it_is_proved(self):
        """Its proof goes badly, and it stays the one that is judged."""

        class Souring(PretendBench):
            def measure(self, trial: Trial):
                found = super().measure(trial)
                if trial.purpose is Purpose.PROVE and not trial.is_baseline:
                    found = {name: 50 * value for name, value in found.items()}
                    found["rate"] /= 2500
                return found

        job = job_of(problem_of(), 48, Souring(noise=0.05))
        conclusion = job.run()
        declared = job.log.recall("declared_test")["winner"]
        assert conclusion.winner == declared
        proved = {t.subject for t in job.log.trials() if t.purpose is Purpose.PROVE}
        assert proved == {1, declared}
        assert not conclusion.verdict.confirmed
        assert conclusion.verdict.fitness < 0

    def test_uses_fresh_runs_alone(self):
        job = run(48, noise=0.05)
        conclusion = conclude_of(job)
        pairs = proof_pairs(conclusion)
        prove = [t for t in job.log.trials() if t.purpose is Purpose.PROVE]
        assert [theirs for theirs, _ in pairs] == [t.metrics for t in prove if t.is_baseline]
        assert [mine for _, mine in pairs] == [t.metrics for t in prove if not t.is_baseline]
        cut = Evaluation(job.problem, History(job.log.trials()[:-1]))
        assert proof_pairs(replace(conclusion, evaluation=cut)) == pairs[:-1]  # half a pair
