from dataclasses import replace
from datetime import timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from optimizer.trials.trial import History, Phase, Purpose, Trial
from sampler.bench.outcome import Outcome, TrialState
from tests.support.optimizer.pretend_bench import trial_of

OPEN = (TrialState.RUNNING, TrialState.LOST)


def fill() -> list[Trial]:
    return [
        trial_of(1, purpose=Purpose.BASELINE),
        trial_of(2, phase=Phase.SAMPLE),
        trial_of(3, phase=Phase.SEARCH, state=TrialState.FAILED),
        trial_of(4, phase=Phase.SEARCH, state=TrialState.RUNNING),
        trial_of(5, purpose=Purpose.PROVE, phase=Phase.CONFIRM, subject=2),
        trial_of(6, purpose=Purpose.PROVE, phase=Phase.CONFIRM, subject=1),
    ]


class TestHistory:
    def test_gives_trials_of_a_purpose_and_phase_in_order(self):
        history = History(fill())
        assert [t.number for t in history.of(Purpose.CANDIDATE)] == [2, 3, 4]
        assert list(history.numbers(Purpose.CANDIDATE, Phase.SEARCH)) == [3, 4]
        assert [t.number for t in history.of(Purpose.PROVE)] == [5, 6]
        assert history.of(Purpose.SELECT) == []
        assert (history.finished, history.next_number, History().next_number) == (5, 7, 1)
        assert trial_of(4).digest in history and trial_of(99).digest not in history

    def test_a_trial_that_ends_takes_its_own_place(self):
        history = History(fill())
        history.put(replace(history[4], state=TrialState.DONE))
        assert [t.number for t in history] == [1, 2, 3, 4, 5, 6]
        assert history[4].done
        assert history.finished == 6
        assert list(history.numbers(Purpose.CANDIDATE)) == [2, 3, 4]
        assert history.unfinished() == []

    def test_a_trial_that_is_run_again_is_open_again(self):
        history = History([trial_of(1, state=TrialState.LOST)])
        assert [t.number for t in history.unfinished()] == [1]
        history.put(replace(history[1], state=TrialState.RUNNING, attempt=2))
        assert history.finished == 0
        assert history[1].attempt == 2

    @given(st.lists(st.tuples(st.integers(1, 8), st.sampled_from(list(TrialState)))))
    def test_counts_hold_after_any_replacements(self, puts):
        history, truth = History(), {}
        for number, state in puts:
            history.put(trial_of(number, state=state))
            truth[number] = state
        assert {t.number: t.state for t in history} == truth
        assert len(history) == len(truth)
        assert history.finished == sum(state not in OPEN for state in truth.values())
        assert {t.number for t in history.unfinished()} == {
            number for number, state in truth.items() if state in OPEN
        }
        assert sorted(history.numbers(Purpose.CANDIDATE)) == sorted(truth)


class TestTrial:
    def test_the_baseline_is_the_baseline_in_whatever_phase(self):
        first, *_, winner, against = fill()
        assert first.is_baseline and against.is_baseline
        assert not winner.is_baseline
        assert not trial_of(1).is_baseline

    def test_features_are_the_values_in_effect(self):
        trial = trial_of(2, configuration={"x": 1, "y": 2}, effective={"x": 5, "other": 9})
        assert trial.features == {"x": 5, "y": 2}
        assert replace(trial, effective=None).features == {"x": 1, "y": 2}

    @pytest.mark.parametrize("state", [TrialState.DONE, TrialState.FAILED, TrialState.CENSORED])
    def test_ends_with_everything_that_the_bench_said(self, state: TrialState):
        outcome = Outcome(
            state=state,
            metrics={"waf": 2.0},
            counters={"bytes": 3},
            effective={"x": 1},
            failure="words",
            warnings=("slow build",),
            bench_seconds=4.0,
            waited_seconds=90.0,
        )
        running = trial_of(3, state=TrialState.RUNNING)
        ended = running.ended(outcome, host="h", finished_at=running.started_at)
        aside = {"by_host", "waited_seconds"}  # for those who run it, and for when it began
        for name in Outcome.__dataclass_fields__.keys() - aside:
            assert getattr(ended, name) == getattr(outcome, name)
        assert ended.started_at == running.started_at + timedelta(seconds=90)
        assert (ended.host, ended.finished_at) == ("h", running.started_at)
        assert (ended.number, ended.configuration) == (running.number, running.configuration)
