import math
from collections.abc import Mapping
from dataclasses import replace
from datetime import UTC
from itertools import count
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from sqlalchemy import Engine, event

from db.jobs.job_store import JobStore
from db.leases import acquire, this_process_name
from db.schema.types import safe_text
from db.trials.trial_log import StoredTrialLog
from optimizer.trials.trial import Trial
from sampler.bench.outcome import TrialState
from tests.support.db.any_trials import any_trial
from tests.support.db.writing_process import ended_trial, proposed_trial


class TestTheWayOfATrial:
    def test_is_proposed_then_finished(self, log: StoredTrialLog):
        assert log.trials() == []
        log.propose(proposed_trial(1))
        assert log.trials() == [proposed_trial(1)]
        log.finish(ended_trial(1))
        assert log.trials() == [ended_trial(1)]

    def test_several_may_be_in_flight_and_end_in_any_order(self, log: StoredTrialLog):
        for number in (3, 1, 2):
            log.propose(proposed_trial(number))
        log.finish(ended_trial(3))
        assert log.trials() == [proposed_trial(1), proposed_trial(2), ended_trial(3)]

    def test_jobs_do_not_see_each_other(
        self, database: Engine, store: JobStore, log: StoredTrialLog
    ):
        other_lease = acquire(database, store.create_job({}, "d"), this_process_name())
        other = StoredTrialLog(database, other_lease)
        log.propose(proposed_trial(1))
        assert other.trials() == []
        other.propose(proposed_trial(1))
        other.finish(ended_trial(1))
        assert log.trials() == [proposed_trial(1)]

    @pytest.mark.parametrize("state", [s for s in TrialState if s is not TrialState.RUNNING])
    def test_it_may_end_in_any_way(self, log: StoredTrialLog, state: TrialState):
        ended = replace(ended_trial(1), state=state, metrics={}, failure=f"it was {state}")
        log.propose(proposed_trial(1))
        log.finish(ended)
        assert log.trials() == [ended]

    def test_each_write_takes_three_statements(self, database: Engine, log: StoredTrialLog):
        statements: list[str] = []
        event.listen(database, "before_cursor_execute", lambda *seen: statements.append(seen[2]))
        log.propose(proposed_trial(1))
        proposing = len(statements)
        log.finish(ended_trial(1))
        assert max(proposing, len(statements) - proposing) <= 3

    def test_a_main_metric_is_a_real_column(self, database: Engine, log: StoredTrialLog):
        log.propose(proposed_trial(2))
        log.finish(ended_trial(2))
        with database.connect() as connection:
            found = connection.exec_driver_sql("SELECT waf, sa, memory FROM trial").one()
        assert tuple(found) == (3.0, 2.5, None)


class TestRunningAgain:
    @pytest.mark.parametrize("before", [TrialState.LOST, TrialState.RUNNING])
    def test_a_lost_or_running_trial_is_replaced_whole(
        self, log: StoredTrialLog, before: TrialState
    ):
        log.propose(proposed_trial(1))
        if before is TrialState.LOST:
            log.finish(replace(ended_trial(1), state=before, failure="its host died"))
        again = replace(proposed_trial(5), number=1, attempt=2)
        log.propose(again)
        assert log.trials() == [again]
        log.finish(replace(ended_trial(5), number=1, attempt=2))
        assert log.trials() == [replace(ended_trial(5), number=1, attempt=2)]

    @pytest.mark.parametrize(
        "state", [s for s in TrialState if s not in (TrialState.LOST, TrialState.RUNNING)]
    )
    def test_an_ended_trial_is_not(self, log: StoredTrialLog, state: TrialState):
        ended = replace(ended_trial(1), state=state)
        log.propose(proposed_trial(1))
        log.finish(ended)
        with pytest.raises(ValueError, match="trial 1 has already ended"):
            log.propose(replace(proposed_trial(5), number=1, attempt=2))
        assert log.trials() == [ended]


class TestTakingBack:
    def test_what_was_measured_is_run_again_and_stays_beside(self, log: StoredTrialLog):
        for number in (1, 2, 3):
            log.propose(proposed_trial(number))
            log.finish(ended_trial(number))
        log.withdraw([ended_trial(1), ended_trial(3)], "its host was set aside")
        assert [t.state for t in log.trials()] == [
            TrialState.LOST, TrialState.DONE, TrialState.LOST,
        ]  # fmt: skip
        assert log.trials()[0].failure == "its host was set aside"
        kept = log.recall("withdrawn")
        assert [(each["number"], each["metrics"]) for each in kept["trials"]] == [
            (number, dict(ended_trial(number).metrics)) for number in (1, 3)
        ]
        again = replace(proposed_trial(1), attempt=2)
        log.propose(again)
        assert log.trials()[0] == again

    def test_all_or_none(self, log: StoredTrialLog):
        for number in (1, 2):
            log.propose(proposed_trial(number))
        log.finish(ended_trial(1))
        with pytest.raises(ValueError, match="trial 2 has no outcome of attempt 1"):
            log.withdraw([ended_trial(1), ended_trial(2)], "gone")
        assert log.trials() == [ended_trial(1), proposed_trial(2)]
        assert log.recall("withdrawn") is None

    def test_a_second_time_adds_to_what_is_kept(self, log: StoredTrialLog):
        for number in (1, 2):
            log.propose(proposed_trial(number))
            log.finish(ended_trial(number))
            log.withdraw([ended_trial(number)], f"for the {number}. time")
        kept = log.recall("withdrawn")
        assert kept is not None and [each["number"] for each in kept["trials"]] == [1, 2]


class TestMistakes:
    def test_finishing_what_was_never_proposed(self, log: StoredTrialLog):
        with pytest.raises(KeyError, match="trial 4 was never proposed"):
            log.finish(ended_trial(4))
        assert log.trials() == []

    def test_finishing_twice(self, log: StoredTrialLog):
        log.propose(proposed_trial(1))
        log.finish(ended_trial(1))
        with pytest.raises(ValueError, match="trial 1 has already ended: done"):
            log.finish(replace(ended_trial(1), metrics={"waf": 0.1}))
        assert log.trials() == [ended_trial(1)]

    def test_finishing_an_attempt_that_was_given_up(self, log: StoredTrialLog):
        log.propose(proposed_trial(1))
        again = replace(proposed_trial(1), attempt=2)
        log.propose(again)
        with pytest.raises(ValueError, match="attempt 2 is in flight, not 1"):
            log.finish(ended_trial(1))
        assert log.trials() == [again]

    def test_finishing_without_an_outcome(self, log: StoredTrialLog):
        log.propose(proposed_trial(1))
        with pytest.raises(ValueError, match="no outcome"):
            log.finish(proposed_trial(1))

    @pytest.mark.parametrize(
        "wrong",
        [
            {"state": TrialState.DONE},
            {"seed": 2**63},
            {"seed": -1},
            {"configuration": {"a": math.nan}},
            {"point": {"a": math.inf}},
        ],
    )
    def test_proposing_what_cannot_be_kept(self, log: StoredTrialLog, wrong: dict[str, Any]):
        with pytest.raises(ValueError, match=r"running|63 bits|nan|inf"):
            log.propose(replace(proposed_trial(1), **wrong))
        assert log.trials() == []


class TestDocuments:
    def test_are_kept_by_name_and_replaced(self, log: StoredTrialLog):
        assert log.recall("ranking") is None
        log.remember("ranking", {"order": ["b", "a"], "r2": 0.5})
        log.remember("declared_test", {"alpha": 0.05})
        log.remember("ranking", {"order": ["a", "b"], "r2": None})
        assert log.recall("ranking") == {"order": ["a", "b"], "r2": None}
        assert log.recall("declared_test") == {"alpha": 0.05}

    def test_that_are_not_finite_are_refused(self, log: StoredTrialLog):
        log.remember("ranking", {"r2": 0.5})
        with pytest.raises(ValueError, match=r"ranking\.r2 is nan"):
            log.remember("ranking", {"r2": math.nan})
        assert log.recall("ranking") == {"r2": 0.5}


def safe(value: Any) -> Any:
    if isinstance(value, str):
        return safe_text(value)
    if isinstance(value, Mapping):
        return {safe_text(key): safe(item) for key, item in value.items()}
    return tuple(map(safe_text, value)) if isinstance(value, tuple) else value


def without_what_is_not_finite(values: Mapping[str, float]) -> dict[str, float]:
    return {name: value for name, value in safe(values).items() if math.isfinite(value)}


numbers = count(1)


@pytest.mark.slow
@settings(
    deadline=None, max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(any_trial)
def test_any_trial_comes_back_as_it_was(log: StoredTrialLog, drawn: Trial):
    state = TrialState.DONE if drawn.state is TrialState.RUNNING else drawn.state
    ended = replace(drawn, number=next(numbers), given=False, state=state)
    proposed = replace(
        ended, state=TrialState.RUNNING, metrics={}, counters={}, effective=None, failure=None,
        warnings=(), bench_seconds=0.0, host=None, finished_at=None,
    )  # fmt: skip

    log.propose(proposed)
    in_flight = log.trials()[-1]
    log.finish(ended)
    kept = log.trials()[-1]

    texts = ("digest", "why", "configuration", "point", "effective", "failure", "warnings", "host")
    assert in_flight == replace(
        proposed, **{name: safe(getattr(proposed, name)) for name in texts}
    )
    expected = replace(
        ended,
        **{name: safe(getattr(ended, name)) for name in texts},
        metrics=without_what_is_not_finite(ended.metrics),
        counters=without_what_is_not_finite(ended.counters),
    )
    assert kept == expected
    # 1 == 1.0 == True: the types and the order of the options are kept too.
    assert repr(kept.configuration) == repr(expected.configuration)
    assert repr(kept.point) == repr(expected.point)
    assert repr(kept.effective) == repr(expected.effective)
    for moment in (kept.started_at, kept.finished_at):
        assert moment is None or moment.tzinfo is UTC
