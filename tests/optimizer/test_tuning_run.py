"""The run of a whole job: what is measured, in which order, and what may go wrong."""

from dataclasses import replace
from itertools import pairwise

import pytest
from pretend_bench import (
    STRATEGY_NAMES,
    Job,
    ListLog,
    PretendBench,
    bowl,
    candidates,
    flat,
    job_of,
    problem_of,
    trial_of,
)

from optimizer.budget import divide
from optimizer.choosing import candidates_of, winner_of
from optimizer.conclusion import conclude, proof_pairs
from optimizer.history import History
from optimizer.objective import Limit, Objective, Term
from optimizer.planning import Budget, plan_of
from optimizer.ports import LeaseLost
from optimizer.trial import Phase, Purpose, Trial
from sampler.errors import InputError
from sampler.outcome import Outcome, TrialState

pytestmark = pytest.mark.usefixtures("quick_ranking")
SIZES = (12, 16, 24, 48, 96)


def purposes(job: Job) -> list[Purpose]:
    return [trial.purpose for trial in job.log.trials()]


def run(trials: int = 24, strategy: str = "random", objective="paper", **bench) -> Job:
    job = job_of(problem_of(strategy, objective=objective), trials, PretendBench(**bench))
    job.run()
    return job


@pytest.mark.parametrize("strategy", STRATEGY_NAMES)
@pytest.mark.parametrize("trials", SIZES)
class TestBudgetOfTrials:
    def test_is_spent_to_the_last_run(self, strategy: str, trials: int):
        job = run(trials, strategy, noise=0.02)
        assert [trial.number for trial in job.log.trials()] == list(range(1, trials + 1))
        assert len(job.bench.started) == trials
        assert all(trial.done for trial in job.log.trials())
        plan = divide(trials)
        found = purposes(job)
        assert found.count(Purpose.CANDIDATE) == plan.explore
        assert found.count(Purpose.SELECT) == plan.select_runs
        assert found.count(Purpose.PROVE) == 2 * plan.pairs


class TestOrder:
    def test_phases_come_in_their_order(self):
        assert run(48, "genetic").log.phases == list(Phase)

    @pytest.mark.parametrize("trials", [48, 60, 64, 96, 120])
    def test_phases_are_entered_once_whatever_the_size(self, trials: int):
        assert run(trials, "genetic", objective="waf").log.phases == list(Phase)

    def test_a_strategy_that_only_draws_has_neither_ranking_nor_search(self):
        assert run(48, "lhs").log.phases == [Phase.BASELINE, Phase.SAMPLE, Phase.CONFIRM]

    def test_the_watcher_is_told_what_is_kept(self):
        job = run(24)
        assert job.watcher.phases == job.log.phases
        assert [t.number for t in job.watcher.started] == list(range(1, 25))
        assert [t for t, _ in job.watcher.ended] == list(job.log.trials())

    def test_every_trial_is_kept_before_it_runs_and_again_when_it_ended(self):
        job = run(12)
        writes = [event for event in job.log.events if event.split()[0] in ("propose", "finish")]
        assert writes == [f"{what} {n}" for n in range(1, 13) for what in ("propose", "finish")]

    def test_trials_tell_who_measured_them_when_and_from_what(self):
        job = run(12)
        moments = [(t.started_at, t.finished_at) for t in job.log.trials()]
        assert all(start < finish for start, finish in moments)
        assert all(a[1] <= b[0] for a, b in pairwise(moments))
        assert {t.host for t in job.log.trials()} == {"pretended-host"}
        assert [t.based_on for t in job.log.trials()] == list(range(12))
        assert all(t.why for t in job.log.trials())

    def test_the_watcher_gets_ticks_while_a_trial_runs(self):
        assert run(12, waits=3).watcher.ticks == 12 * 3


class TestBaseline:
    def test_is_measured_first_and_again_at_intervals(self):
        job = run(96)
        plan, found = divide(96), purposes(job)
        assert found[: plan.first] == [Purpose.BASELINE] * plan.first
        rest = found[plan.first : plan.first + plan.exploring]
        at = [i for i, purpose in enumerate(rest) if purpose is Purpose.BASELINE]
        step = plan.repeat_every + 1
        assert at == [step * i - 1 for i in range(1, len(at) + 1)]
        assert len(at) == plan.exploring - plan.explore >= 4

    def test_repeats_are_of_the_same_configuration(self):
        job = run(96)
        default = job.problem.space.default_configuration()
        for trial in job.log.trials():
            assert trial.is_baseline == (trial.configuration == default)

    def test_that_cannot_be_measured_ends_the_job_in_the_benchmarks_words(self):
        said = "Opening database\nInvalid argument: no such column"
        job = job_of(problem_of(), 24, PretendBench(fails=lambda _: said))
        with pytest.raises(InputError, match="no such column") as refused:
            job.run()
        assert refused.value.field == "baseline"
        assert "Opening database" not in str(refused.value)
        assert [trial.number for trial in job.log.trials()] == [1, 2]

    def test_that_fails_once_is_forgiven(self):
        job = run(24, fails=lambda t: "hiccup" if t.number == 1 else None)
        assert len(job.log.trials()) == 24

    def test_that_times_out_ends_the_job(self):
        with pytest.raises(InputError, match=r"baseline: .*timed out"):
            run(12, timeout=1.0)

    def test_without_a_metric_of_the_objective_ends_the_job_at_once(self):
        job = job_of(
            problem_of(objective=Objective("mine", (Term("latency", "min"),))), 24, PretendBench()
        )
        with pytest.raises(InputError, match=r"objective \(mine\).*'latency'.*rate, sa"):
            job.run()
        assert len(job.log.trials()) == 1

    def test_without_a_metric_of_a_limit_ends_the_job_at_once(self):
        objective = Objective("mine", (Term("waf", "min"),), (Limit("memry", at_most=1.0),))
        job = job_of(problem_of(objective=objective), 24, PretendBench())
        with pytest.raises(InputError, match="memry"):
            job.run()
        assert len(job.log.trials()) == 1


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
        favourite = conclude_of(run(48)).winner
        rounds = [
            t.number
            for t in run(48).log.trials()
            if t.purpose is Purpose.SELECT and t.subject == favourite
        ]
        job = run(48, fails=lambda t: "crash" if t.number == rounds[-1] else None)
        assert len(rounds) == 2
        assert conclude_of(job).winner not in (None, favourite)

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
        objective = Objective("o", (Term("waf", "min"),), (Limit("sa", at_least=1.25),))
        job = run(48, objective=objective)
        winner = job.log.kept[conclude_of(job).winner]
        assert winner.metrics["sa"] >= 1.25
        admissible = [t for t in candidates(job.log.trials()) if t.metrics["sa"] >= 1.25]
        assert winner.metrics["waf"] == min(t.metrics["waf"] for t in admissible)


def conclude_of(job: Job):
    history = History(job.log.trials())
    return conclude(job.problem, plan_of(job.problem, job.budget, history), history)


class TestChoice:
    def test_the_best_few_are_measured_again_each_as_often_as_the_baseline(self):
        job = run(48)
        plan = divide(48)
        subjects = [t.subject for t in job.log.trials() if t.purpose is Purpose.SELECT]
        best = sorted(candidates(job.log.trials()), key=lambda t: t.metrics["waf"])
        expected = {1, *(t.number for t in best[: plan.candidates])}
        size = len(expected)
        for start in range(0, len(subjects), size):
            assert set(subjects[start : start + size]) == expected
        assert len(subjects) == plan.rounds * size

    def test_the_order_within_a_round_is_drawn(self):
        orders = set()
        for seed in range(8):
            job = job_of(problem_of(seed=seed), 24, PretendBench())
            job.run()
            select = [t for t in job.log.trials() if t.purpose is Purpose.SELECT]
            orders.add([t.is_baseline for t in select].index(True))
        assert len(orders) > 1

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
        assert conclusion.winner == min(true, key=true.get)

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
        assert candidates_of(problem_of(objective="waf"), plan, history) == [2, 3]
        assert winner_of(problem_of(objective="waf"), plan, history) == 2

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
        assert winner_of(problem_of(objective=objective), plan, history) == 2

    @pytest.mark.parametrize("purpose", [Purpose.SELECT, Purpose.PROVE])
    def test_is_among_the_candidates_as_they_stood_when_exploration_ended(self, purpose: Purpose):
        """Later baselines would weigh the terms otherwise, and turn the order."""
        objective = Objective("two", (Term("waf", "min"), Term("sa", "min")))
        problem = problem_of(objective=objective)
        trials = [
            trial_of(1, {"waf": 4.0, "sa": 2.0}, purpose=Purpose.BASELINE),
            trial_of(2, {"waf": 3.0, "sa": 2.0}),
            trial_of(3, {"waf": 4.0, "sa": 1.6}),
        ]
        later = [
            trial_of(10 + i, {"waf": 40.0, "sa": 2.0}, purpose=purpose, subject=1)
            for i in range(4)
        ]
        plan = replace(divide(48), candidates=1)
        assert candidates_of(problem, plan, History(trials)) == [2]
        assert candidates_of(problem, plan, History([*trials, *later])) == [2]

    def test_is_not_moved_by_baselines_of_the_proof(self):
        objective = Objective("two", (Term("waf", "min"), Term("sa", "min")))
        problem = problem_of(objective=objective)
        two, three = {"waf": 3.0, "sa": 2.0}, {"waf": 4.0, "sa": 1.6}
        select = {"phase": Phase.CONFIRM, "purpose": Purpose.SELECT}
        trials = [
            trial_of(1, {"waf": 4.0, "sa": 2.0}, purpose=Purpose.BASELINE),
            trial_of(2, two),
            trial_of(3, three),
            trial_of(4, two, subject=2, **select),
            trial_of(5, three, subject=3, **select),
        ]
        proof = [
            trial_of(10 + i, {"waf": 40.0, "sa": 2.0}, purpose=Purpose.PROVE, subject=1)
            for i in range(4)
        ]
        plan = replace(divide(48), candidates=2, rounds=1)
        assert winner_of(problem, plan, History(trials)) == 2
        assert winner_of(problem, plan, History([*trials, *proof])) == 2

    def test_is_never_of_one_that_was_cut_off_even_if_few_others_are_left(self):
        history = History(
            [
                trial_of(1, {"waf": 4.0, "time": 10.0}, purpose=Purpose.BASELINE),
                trial_of(2, {"waf": 3.0, "time": 10.0}),
                trial_of(3, {"time": 40.0}, state=TrialState.CENSORED),
                trial_of(4, {}, state=TrialState.FAILED),
            ]
        )
        assert candidates_of(problem_of(objective="waf"), divide(48), history) == [2]


class TestProof:
    def test_is_of_the_winner_against_the_baseline_side_by_side(self):
        job = run(48)
        prove = [t for t in job.log.trials() if t.purpose is Purpose.PROVE]
        winner = conclude_of(job).winner
        for one, other in zip(prove[::2], prove[1::2], strict=True):
            assert {one.subject, other.subject} == {1, winner}
            assert other.number == one.number + 1
        assert prove[-1].number == 48

    def test_who_goes_first_in_a_pair_is_drawn(self):
        job = run(96)
        firsts = [t.is_baseline for t in job.log.trials() if t.purpose is Purpose.PROVE][::2]
        assert set(firsts) == {True, False}

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

    def test_it_is_not_declared_anew_when_the_proof_goes_on(self):
        job = run(48)
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

    def test_neither_do_wild_baselines_in_the_proof_change_it(self):
        class Wild(PretendBench):
            def measure(self, trial: Trial):
                found = super().measure(trial)
                if trial.purpose is Purpose.PROVE and trial.is_baseline:
                    found["waf"] *= 1 + trial.number % 7
                    found["time"] *= 3
                return found

        job = job_of(problem_of(), 48, Wild(noise=0.05))
        job.run()
        plan, trials = divide(48), job.log.trials()
        first = next(i for i, t in enumerate(trials) if t.purpose is Purpose.PROVE)
        winners = {
            winner_of(job.problem, plan, History(trials[:length]))
            for length in range(first, len(trials) + 1)
        }
        assert len(winners) == 1

    def test_uses_fresh_runs_alone(self):
        job = run(48, noise=0.05)
        conclusion = conclude_of(job)
        pairs = proof_pairs(conclusion.history, conclusion.winner)
        prove = [t for t in job.log.trials() if t.purpose is Purpose.PROVE]
        assert [theirs for theirs, _ in pairs] == [t.metrics for t in prove if t.is_baseline]
        assert [mine for _, mine in pairs] == [t.metrics for t in prove if not t.is_baseline]

    def test_a_half_made_pair_does_not_count(self):
        job = run(24)
        history = History(job.log.trials()[:-1])
        assert len(proof_pairs(history, conclude_of(job).winner)) == divide(24).pairs - 1

    def test_a_true_improvement_is_confirmed(self):
        verdict = conclude_of(run(48, noise=0.02)).verdict
        assert verdict.confirmed
        assert verdict.fitness > 500


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
        job = Job(problem_of(), Budget(minutes=minutes), PretendBench(**bench))
        job.run()
        return job

    def test_become_trials_by_the_baselines_time(self):
        job = self.job(24, function=self.even)
        assert len(job.log.trials()) == 48
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

    def test_do_not_depend_on_when_the_job_is_resumed(self):
        job = self.job(20, function=self.even)
        again = Job(job.problem, job.budget, PretendBench(self.even), job.log.cut(1))
        again.run()
        assert [t.digest for t in again.log.trials()] == [t.digest for t in job.log.trials()]


class TestInterruption:
    @pytest.mark.parametrize("error", [KeyboardInterrupt(), OSError("disk gone"), LeaseLost()])
    @pytest.mark.parametrize("number", [1, 9, 22])
    def test_of_a_running_trial_cancels_it_and_passes_on(self, number: int, error):
        job = job_of(problem_of(), 24, PretendBench(raises={number: error}))
        with pytest.raises(type(error)):
            job.run()
        assert job.bench.cancelled == [number]
        assert job.log.kept[number].state is TrialState.RUNNING
        assert len(job.log.trials()) == number

    def test_by_the_watcher_cancels_too(self):
        job = job_of(problem_of(), 24, PretendBench(waits=2))

        def interrupt() -> None:
            raise KeyboardInterrupt

        job.watcher.tick = interrupt
        with pytest.raises(KeyboardInterrupt):
            job.run()
        assert job.bench.cancelled == [1]

    def test_can_be_resumed_to_the_same_end(self):
        job = job_of(problem_of(), 24, PretendBench(raises={9: KeyboardInterrupt()}))
        with pytest.raises(KeyboardInterrupt):
            job.run()
        job.bench.raises = {}
        again = Job(job.problem, job.budget, PretendBench(), job.log)
        assert again.run().winner == conclude_of(run(24)).winner
        assert [t.digest for t in job.log.trials()] == [t.digest for t in run(24).log.trials()]

    @pytest.mark.parametrize("write", ["propose 5", "finish 5", "enter sample", "enter confirm"])
    def test_by_another_controller_leaves_nothing_running(self, write: str):
        job = job_of(problem_of(), 24)
        job.log.taken_over_at = write
        with pytest.raises(LeaseLost, match=write):
            job.run()
        assert job.bench.running is None
        started = len(job.bench.started)
        assert started == {"propose 5": 4, "finish 5": 5, "enter sample": 3}.get(write, started)
        assert len(job.log.trials()) <= started

    def test_before_the_test_is_declared_starts_no_proof(self):
        job = job_of(problem_of(), 24)
        job.log.taken_over_at = "remember declared_test"
        with pytest.raises(LeaseLost):
            job.run()
        assert Purpose.PROVE not in {t.purpose for t, _ in job.bench.started}


class TestTheListLog:
    """The protocols can be met by a list: and this list is as strict as they are."""

    def test_refuses_to_overwrite_a_measurement(self):
        log = ListLog({1: trial_of(1)})
        with pytest.raises(ValueError, match="ended"):
            log.propose(trial_of(1, state=TrialState.RUNNING))
        with pytest.raises(ValueError, match="ended"):
            log.finish(trial_of(1))

    def test_refuses_to_take_back_what_has_no_outcome(self):
        log = ListLog({1: trial_of(1), 2: trial_of(2, state=TrialState.RUNNING)})
        with pytest.raises(ValueError, match="not ended"):
            log.withdraw([trial_of(1), trial_of(2)], "gone")
        assert log.trials()[0] == trial_of(1)

    def test_refuses_what_was_never_proposed(self):
        with pytest.raises(KeyError):
            ListLog().finish(trial_of(1))
