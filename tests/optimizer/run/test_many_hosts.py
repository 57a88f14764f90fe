"""A job on many hosts: side by side, fairly compared, whatever comes and goes."""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import replace
from functools import cache

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from optimizer.budget import budget
from optimizer.budget.budget import divide
from optimizer.confirmation.choice import blocks_of
from optimizer.evaluation.evaluation import Evaluation
from optimizer.run import steps
from optimizer.run.ports import ControllerStops, LeaseLost, TrialLostError
from optimizer.strategies.changes import simplified_version
from optimizer.trials.trial import Purpose
from sampler.bench.outcome import TrialState
from sampler.common.errors import InputError
from tests.support.optimizer.pretend_bench import ListLog, Watcher, bowl, flat, problem_of
from tests.support.optimizer.pretend_hosts import (
    PretendHost,
    PretendHosts,
    by_host,
    machines,
    tuned,
)

pytestmark = [
    pytest.mark.usefixtures("quick_ranking", "unranked", "unsimplified"),
    pytest.mark.slow,
]


@cache
def run(count: int, trials: int, strategy: str = "random"):
    """A whole job, for all tests that look at it."""
    hosts = PretendHosts(machines(count))
    return tuned(problem_of(strategy), trials, hosts), hosts


class TestSideBySide:
    def test_all_hosts_measure_at_once(self):
        _, hosts = run(4, 200)
        assert hosts.most_at_once == 4

    def test_four_hosts_take_little_more_than_a_quarter_of_the_time(self):
        alone, four = (
            PretendHosts(machines(1)),
            PretendHosts([PretendHost(f"h{i}") for i in "abcd"]),
        )
        alone.function = four.function = flat
        tuned(problem_of("random"), 240, alone)
        tuned(problem_of("random"), 240, four)
        assert alone.seconds / four.seconds > 3.7

    def test_the_budget_is_kept_exactly(self):
        for count, trials in ((2, 400), (4, 200), (20, 60)):
            assert len(run(count, trials)[0].history) == trials

    def test_every_host_that_explores_measures_its_own_baseline_first(self):
        conclusion, _ = run(4, 200)
        for trials in by_host(list(conclusion.history)).values():
            first = [t.purpose for t in sorted(trials, key=lambda t: t.number)][:3]
            assert first == [Purpose.BASELINE] * 3

    def test_the_baseline_is_repeated_on_each_host(self):
        conclusion, _ = run(2, 400)
        for trials in by_host(list(conclusion.history)).values():
            explored = [t for t in trials if t.purpose is Purpose.CANDIDATE]
            repeats = [t for t in trials if t.purpose is Purpose.BASELINE][3:]
            assert len(repeats) >= len(explored) // divide(400).repeat_every - 1
            assert repeats

    def test_more_hosts_than_a_small_job_can_use_do_not_eat_it(self):
        conclusion, _ = run(20, 60)
        assert len(conclusion.history.of(Purpose.CANDIDATE)) > 20

    def test_what_is_compared_in_a_round_was_measured_on_one_host(self):
        conclusion, _ = run(4, 200)
        size = 1 + conclusion.plan.candidates
        for purpose, whole in ((Purpose.SELECT, size), (Purpose.PROVE, 2)):
            rounds = blocks_of(conclusion.history, purpose, whole)
            assert all(len({t.host for t in trials}) == 1 for trials in rounds.values())
            assert all(len(trials) == whole for trials in rounds.values())
        pairs = blocks_of(conclusion.history, Purpose.PROVE, 2).values()
        assert len({trials[0].host for trials in pairs}) == 4

    def test_hosts_that_wait_do_not_learn_the_models_anew(self, monkeypatch):
        asked = []

        def counted(*given):
            asked.append(given)
            return simplified_version(*given)

        monkeypatch.setattr(budget, "_PER_SIMPLIFIED", 4)
        monkeypatch.setattr(steps, "simplified_version", counted)
        hosts = PretendHosts(machines(4))
        conclusion = tuned(problem_of("random"), 200, hosts)
        simplified = len(conclusion.history.simplified)
        assert hosts.most_at_once == 4 and simplified > 0
        assert len(asked) <= simplified + 4

    def test_no_draw_is_out_when_the_ranking_is_made(self):
        watcher, log = Watcher(), ListLog()
        tuned(problem_of("genetic"), 120, PretendHosts(machines(4)), log=log, watcher=watcher)
        at = log.events.index("remember ranking")
        begun = [e.split()[1] for e in log.events[:at] if e.startswith("propose")]
        ended = [e.split()[1] for e in log.events[:at] if e.startswith("finish")]
        assert Counter(begun) == Counter(ended)


class TestFair:
    def test_the_slowest_host_does_not_lose_what_it_measured(self):
        conclusion, _ = run(4, 200)
        raw = [t.metrics["time"] for t in conclusion.history.of(Purpose.BASELINE)]
        assert max(raw) / min(raw) > 1.5  # without own baselines it would
        problem = problem_of("random")
        candidates = conclusion.history.of(Purpose.CANDIDATE)
        scored = Evaluation(problem, conclusion.history).comparable(candidates)
        for value, trial in scored:
            alone = bowl(trial.configuration)
            truth = problem.objective.fitness(alone, bowl({**problem.space.start}))
            assert value == pytest.approx(truth, abs=150)

    def test_a_real_gain_is_proven_across_hosts(self):
        conclusion, _ = run(3, 72, "genetic")
        assert conclusion.verdict is not None and conclusion.verdict.confirmed

    def test_nothing_is_proven_where_nothing_is_better(self):
        confirmed = 0
        for seed in range(12):
            hosts = PretendHosts(machines(3, noise=0.05), function=flat, seed=seed)
            verdict = tuned(problem_of("random", seed=seed), 48, hosts).verdict
            confirmed += verdict is not None and verdict.confirmed
        assert confirmed <= 2  # at 2.5% each, more than two of twelve come once in 300


class TestComingAndGoing:
    def test_a_host_that_dies_loses_nothing(self):
        hosts = PretendHosts([*machines(2), PretendHost("mortal", there=(0, 155))])
        conclusion = tuned(problem_of("random"), 100, hosts)
        assert all(trial.has_outcome for trial in conclusion.history)
        assert len(conclusion.history) == 100
        again = [trial for trial in conclusion.history if trial.attempt > 1]
        assert [trial.host for trial in again] and "mortal" not in {t.host for t in again}

    def test_a_host_that_comes_later_is_used(self):
        hosts = PretendHosts([*machines(1), PretendHost("late", there=(200, math.inf))])
        conclusion = tuned(problem_of("random"), 100, hosts)
        there = by_host(list(conclusion.history))["late"]
        assert {t.purpose for t in there} >= {Purpose.BASELINE, Purpose.CANDIDATE}

    @pytest.mark.parametrize("phase", [Purpose.SELECT, Purpose.PROVE])
    def test_half_a_round_is_begun_again_where_its_host_went_away(self, phase: Purpose):
        whole, _ = run(2, 96)
        second = blocks_of(whole.history, phase, 4 if phase is Purpose.SELECT else 2)[2]
        begun = sorted(t.started_at for t in second)[1]
        gone = (begun - min(t.started_at for t in whole.history)).total_seconds() + 0.5
        victim = second[0].host
        hosts = PretendHosts(
            [replace(m, there=(0, gone)) if m.name == victim else m for m in machines(2)]
        )
        log = ListLog()
        conclusion = tuned(problem_of("random"), 96, hosts, log=log)
        assert any(event.startswith("withdraw") for event in log.events)
        rounds = blocks_of(conclusion.history, phase, len(second))
        assert all(len({t.host for t in trials}) == 1 for trials in rounds.values())
        assert len(conclusion.history) == 96
        assert all(trial.has_outcome for trial in conclusion.history)

    @settings(max_examples=6, deadline=None)
    @given(st.lists(st.tuples(st.floats(0, 400), st.floats(1, 600)), min_size=1, max_size=4))
    def test_whatever_comes_and_goes_the_job_ends_whole(self, spans):
        coming = [
            PretendHost(f"g{i}", there=(start, start + length))
            for i, (start, length) in enumerate(spans)
        ]
        hosts = PretendHosts([PretendHost("steady", there=(300, math.inf)), *coming])
        log = ListLog()
        conclusion = tuned(problem_of("random"), 48, hosts, log=log)
        assert [t.number for t in log.trials()] == list(range(1, 49))
        assert all(trial.has_outcome for trial in log.trials())
        assert list(conclusion.history) == log.trials() or sorted(
            conclusion.history, key=lambda t: t.number
        ) == list(log.trials())


class TestSetAside:
    def jumping(self) -> PretendHosts:
        odd = PretendHost("odd", jump=700, jumps=2.0)
        return PretendHosts([*machines(2), odd])

    def test_a_host_whose_baseline_jumps_is_set_aside_and_its_trials_run_again(self):
        log, watcher = ListLog(), Watcher()
        conclusion = tuned(problem_of("random"), 400, self.jumping(), log=log, watcher=watcher)
        assert watcher.aside == ["odd"]
        assert "jumped" in log.documents["hosts_set_aside"]["hosts"]["odd"]
        wrong = [
            t
            for t in conclusion.history.of(Purpose.CANDIDATE)
            if t.host == "odd" and t.metrics["time"] > 1.9 * bowl(t.configuration)["time"]
        ]
        assert not wrong, "measured after 700 s on a host that is twice as slow"
        assert len(conclusion.history) == 400

    def test_a_job_that_goes_on_remembers_who_is_aside(self):
        log, hosts = ListLog(), self.jumping()
        tuned(problem_of("random"), 400, hosts, log=log)
        cut = log.cut(380)
        cut.documents = dict(log.documents)
        again = PretendHosts(self.jumping().machines, seconds=hosts.seconds)
        tuned(problem_of("random"), 400, again, log=cut)
        assert "odd" not in {host for _, host in again.started}

    def test_a_host_far_noisier_than_the_others_is_set_aside(self):
        watcher = Watcher()
        hosts = PretendHosts([*machines(3), PretendHost("noisy", noise=0.4)])
        tuned(problem_of("random"), 600, hosts, watcher=watcher)
        assert watcher.aside == ["noisy"]

    def test_quiet_hosts_stay(self):
        for seed in range(2):
            watcher = Watcher()
            hosts = PretendHosts(machines(4, noise=0.05), seed=seed)
            tuned(problem_of("random", seed=seed), 300, hosts, watcher=watcher)
            assert watcher.aside == []

    def test_the_last_host_is_never_set_aside(self):
        watcher = Watcher()
        hosts = PretendHosts([PretendHost("odd", jump=300, jumps=2.0)])
        tuned(problem_of("random"), 200, hosts, watcher=watcher)
        assert watcher.aside == []

    @pytest.mark.parametrize("jumps", [1.4, 4.0])
    def test_where_it_stays_slower_one_run_more_is_enough_to_tell(self, jumps: float):
        hosts = PretendHosts([PretendHost("odd", jump=300, jumps=jumps)])
        conclusion = tuned(problem_of("random"), 200, hosts)
        baselines = conclusion.history.of(Purpose.BASELINE)
        assert sum(trial.why == "repeat: the last run differs" for trial in baselines) == 1

    def test_a_host_on_which_the_baseline_fails_is_to_blame_itself(self):
        watcher = Watcher()
        broken = PretendHost("broken", fails=lambda _trial: "disk error")
        conclusion = tuned(
            problem_of("random"), 60, PretendHosts([*machines(2), broken]), watcher=watcher
        )
        assert watcher.aside == ["broken"]
        assert "broken" not in {t.host for t in conclusion.history.of(Purpose.CANDIDATE)}

    def test_a_baseline_that_fails_everywhere_is_the_jobs_fault(self):
        def fails(_trial: object) -> str:
            return "no such option"

        hosts = PretendHosts([PretendHost(name, fails=fails) for name in "ab"])
        with pytest.raises(InputError, match="no such option"):
            tuned(problem_of("random"), 60, hosts)


class TestControllers:
    def test_the_next_controller_takes_over_what_is_in_flight(self):
        log, hosts = ListLog(), PretendHosts(machines(3))
        with pytest.raises(ControllerStops):
            tuned(problem_of("random"), 60, hosts, log=log, watcher=StopsAt(20))
        assert hosts.left == 3
        conclusion = tuned(problem_of("random"), 60, hosts, log=log)
        assert not hosts.attachable
        assert all(trial.attempt == 1 for trial in conclusion.history)
        assert len(hosts.started) == 60, "nothing was begun twice"

    def test_what_cannot_be_taken_over_is_run_again(self):
        log, hosts = ListLog(), PretendHosts(machines(3))
        with pytest.raises(ControllerStops):
            tuned(problem_of("random"), 60, hosts, log=log, watcher=StopsAt(20))
        hosts.attachable.clear()
        conclusion = tuned(problem_of("random"), 60, hosts, log=log)
        assert Counter(t.attempt for t in conclusion.history) == {1: 57, 2: 3}

    def test_a_trial_that_is_lost_without_end_ends_the_job_which_then_goes_on(self):
        log, problem = ListLog(), problem_of("random")
        odd = PretendHost("odd", loses=lambda trial: trial.number == 7)
        for attempts in (50, 100):
            with pytest.raises(TrialLostError, match="trial 7 was lost 50 times: odd went away"):
                tuned(problem, 24, PretendHosts([odd]), log=log)
            assert (log.kept[7].attempt, len(log.kept)) == (attempts, 7)
        conclusion = tuned(problem, 24, PretendHosts([PretendHost("odd")]), log=log)
        assert (log.kept[7].attempt, log.kept[7].state) == (101, TrialState.DONE)
        assert len(conclusion.history) == 24

    def test_attempts_of_earlier_controllers_do_not_count(self):
        log = ListLog()
        tuned(problem_of("random"), 24, PretendHosts(machines(1)), log=log)
        log.kept[24] = replace(log.kept[24], state=TrialState.LOST, attempt=777)
        tuned(problem_of("random"), 24, PretendHosts(machines(1)), log=log)
        assert (log.kept[24].attempt, log.kept[24].state) == (778, TrialState.DONE)

    def test_a_controller_that_was_replaced_lets_the_hosts_go_on(self):
        hosts = PretendHosts(machines(3))
        with pytest.raises(LeaseLost):
            tuned(problem_of("random"), 60, hosts, log=ListLog(taken_over_at="finish 20"))
        assert (hosts.left, hosts.cancelled) == (2, 0)

    def test_a_job_that_fails_or_is_cancelled_leaves_nothing_running(self):
        hosts = PretendHosts(machines(3))
        with pytest.raises(KeyboardInterrupt):
            tuned(problem_of("random"), 60, hosts, watcher=StopsAt(20, KeyboardInterrupt))
        assert hosts.cancelled == 3


class StopsAt(Watcher):
    """Raises when so many trials have begun."""

    def __init__(self, count: int, error: type[BaseException] = ControllerStops) -> None:
        super().__init__()
        self.count, self.error = count, error

    def tick(self) -> None:
        super().tick()
        if len(self.started) >= self.count:
            self.started.clear()
            raise self.error
