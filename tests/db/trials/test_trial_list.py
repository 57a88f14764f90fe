from datetime import UTC, datetime
from typing import Any

import pytest
from sqlalchemy import Engine, event, insert

from db.connection.engine import reading, writing
from db.jobs.job_store import JobStore
from db.schema.tables import trial
from db.trials.trial_rows import TrialOrder, count_listed, proposal, read_listed
from optimizer.trials.trial import Phase, Purpose, Trial
from sampler.bench.outcome import TrialState
from sampler.common.errors import InputError

STATES = (TrialState.DONE, TrialState.DONE, TrialState.FAILED, TrialState.DONE)
WAF = {1: 2.0, 2: 1.0, 4: 2.0, 5: 3.0, 6: -1.0, 8: 1.0}


def trial_of(number: int) -> Trial:
    state = STATES[(number - 1) % 4]
    return Trial(
        number=number,
        phase=Phase.BASELINE if number == 1 else Phase.SAMPLE if number < 6 else Phase.SEARCH,
        purpose=Purpose.CANDIDATE,
        seed=number,
        configuration={"x": number},
        digest=str(number),
        point={"x": 0.5},
        state=state,
        metrics={"waf": WAF[number], "rate": 1.0, "p99": 7.0} if number in WAF else {},
        counters={"keys": 1.0},
        bench_seconds=float(number),
        finished_at=datetime(2026, 1, 1, tzinfo=UTC),
    )


@pytest.fixture
def job(database: Engine, store: JobStore) -> int:
    """Eight trials; beside it a job whose trials nobody asks for."""
    mine, other = (store.create_job({"name": name}, name) for name in ("mine", "other"))
    rows: list[dict[str, Any]] = [
        {**proposal(trial_of(number)), "job_id": job_id, "lease_epoch": 1}
        for job_id in (other, mine)
        for number in range(1, 9)
    ]
    with writing(database) as connection:
        connection.execute(insert(trial), rows)
    return mine


def pages(database: Engine, job: int, size: int, **asked: Any) -> list[int]:
    """All numbers, read page by page."""
    found: list[int] = []
    while True:
        after = found[-1] if found else None
        page = read_listed(database, job, limit=size, after=after, **asked)
        found += [each.number for each in page]
        if len(page) < size:
            return found


SORTED = {
    TrialOrder.NUMBER: [1, 2, 3, 4, 5, 6, 7, 8],
    TrialOrder.NEWEST: [8, 7, 6, 5, 4, 3, 2, 1],
    TrialOrder.WAF: [6, 2, 8, 1, 4, 5, 3, 7],
    TrialOrder.WAF_FALLING: [5, 1, 4, 2, 8, 6, 3, 7],
    TrialOrder.SA: [1, 2, 3, 4, 5, 6, 7, 8],
    TrialOrder.BENCH_FALLING: [8, 7, 6, 5, 4, 3, 2, 1],
}


@pytest.mark.parametrize("size", [1, 3, 50])
def test_pages_in_every_order_hold_every_trial_once(database: Engine, job: int, size: int):
    for order, numbers in SORTED.items():
        assert pages(database, job, size, order=order) == numbers, order


def test_a_page_may_be_of_one_state_and_phase(database: Engine, job: int):
    assert pages(database, job, 1, state=TrialState.FAILED) == [3, 7]
    assert pages(database, job, 2, phase=Phase.SAMPLE, order=TrialOrder.WAF) == [2, 4, 5, 3]
    both = {"phase": Phase.SEARCH, "state": TrialState.DONE}
    assert pages(database, job, 1, order=TrialOrder.WAF_FALLING, **both) == [8, 6]
    assert pages(database, job, 1, phase=Phase.CONFIRM) == []


def test_a_trial_is_read_whole_but_for_what_nobody_is_shown(database: Engine, job: int):
    (found,) = read_listed(database, job, limit=1, after=1)
    assert found.metrics == {"waf": 1.0, "rate": 1.0, "p99": 7.0}
    assert (found.configuration, found.bench_seconds) == ({"x": 2}, 2.0)
    assert (found.point, found.counters) == (None, {})


def test_a_page_begins_behind_a_trial_that_is_there(database: Engine, job: int):
    assert read_listed(database, job, limit=5, after=99) == []
    with pytest.raises(InputError, match="99"):
        read_listed(database, job, limit=5, after=99, order=TrialOrder.WAF)


def test_trials_are_counted_by_state_and_phase(database: Engine, job: int):
    states, phases = count_listed(database, job)
    assert states == {TrialState.DONE: 6, TrialState.FAILED: 2}
    assert phases == {Phase.BASELINE: 1, Phase.SAMPLE: 4, Phase.SEARCH: 3}
    assert count_listed(database, 99) == ({}, {})


@pytest.mark.parametrize("database_url", ["sqlite"], indirect=True)
@pytest.mark.parametrize(
    "asked",
    [{}, {"order": TrialOrder.WAF_FALLING}, {"state": TrialState.FAILED}, {"phase": Phase.SEARCH},
     {"state": TrialState.DONE, "order": TrialOrder.RATE}, {"after": 5, "order": TrialOrder.WAF}],
)  # fmt: skip
def test_no_row_is_looked_at_to_find_a_page(database: Engine, job: int, asked: dict[str, Any]):
    """Of SQLite; PostgreSQL would rather read a table of this size as a whole."""
    seen: list[tuple[str, Any]] = []
    event.listen(
        database, "before_cursor_execute", lambda *given: seen.append((given[2], given[3]))
    )
    read_listed(database, job, limit=2, **asked)
    count_listed(database, job)
    finding = [(sql, given) for sql, given in seen if "IN (" not in sql and sql != "BEGIN"]
    assert len(finding) >= 2
    with reading(database) as connection:
        for sql, given in finding:
            plan = connection.exec_driver_sql(f"EXPLAIN QUERY PLAN {sql}", given).all()
            said = " ".join(row[3] for row in plan)
            one = "number=?" in said  # the one that a page begins behind
            assert one or "USING COVERING INDEX" in said, said
