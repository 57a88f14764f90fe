from typing import Any

import pytest
from sqlalchemy import Engine

from db.jobs.job_queue import enqueue_job
from db.jobs.job_store import JobOrder, JobStore, count_by_state, read_jobs, standings
from db.leases import acquire, this_process_name
from db.schema.job_row import JobKind, JobState
from db.trials.trial_log import StoredTrialLog
from optimizer.run.planning import RunProgress
from optimizer.trials.trial import Phase
from sampler.common.errors import InputError


def specification(**more: Any) -> dict[str, Any]:
    names = {"workload": "load", "space": "default", "objective": "paper"}
    parts = {part: {"name": name, "help": "x" * 1000} for part, name in names.items()}
    return {**parts, "strategy": "genetic", "trials": 96, "minutes": None, **more}


def put(engine: Engine, **more: Any) -> int:
    return enqueue_job(
        engine, specification(**more), "d", why="waits", priority=3, submitter="ci"
    )[0]


def test_a_job_is_listed_with_what_it_is_about(database: Engine, store: JobStore):
    job_id = put(database)
    (listed,) = read_jobs(database, limit=10)
    row = store.job(job_id)
    assert (listed.id, listed.created_at, listed.updated_at) == (
        job_id, row.created_at, row.updated_at)  # fmt: skip
    assert (listed.state, listed.phase, listed.why, listed.error) == (
        JobState.QUEUED, None, "waits", None)  # fmt: skip
    assert (listed.priority, listed.submitter, listed.standing) == (3, "ci", None)
    assert listed.asked == row.asked == {
        "workload": "load", "space": "default", "objective": "paper", "strategy": "genetic",
        "title": None, "trials": 96}  # fmt: skip


def test_a_list_tells_the_kind_and_holds_one_alone(database: Engine):
    tunes = put(database)
    asked = {"workload": {"name": "load"}, "title": "A against B"}
    compares, _ = enqueue_job(database, asked, "d", why="waits", kind=JobKind.COMPARE)
    listed = read_jobs(database, limit=10)
    assert [(job.id, job.kind, job.asked["title"], job.asked["space"]) for job in listed] == [
        (compares, JobKind.COMPARE, "A against B", None),
        (tunes, JobKind.TUNE, None, "default"),
    ]
    for kind, number in ((JobKind.TUNE, tunes), (JobKind.COMPARE, compares)):
        assert [job.id for job in read_jobs(database, limit=10, kind=kind)] == [number]
    assert [job.id for job in read_jobs(database, limit=10, search="against")] == [compares]


@pytest.mark.parametrize("name", ["7", "1.0", "true", "null", 'a "b" \\c', "Größe", "", "[1]"])
def test_a_name_is_text_whatever_it_looks_like(database: Engine, name: str):
    put(database, workload={"name": name})
    (listed,) = read_jobs(database, limit=1)
    assert listed.asked["workload"] == name


@pytest.mark.parametrize("trials", [None, 12, 1_000_000])
def test_trials_are_a_number_or_nothing(database: Engine, trials: int | None):
    put(database, trials=trials)
    (listed,) = read_jobs(database, limit=1)
    assert listed.asked["trials"] == trials
    assert type(listed.asked["trials"]) is type(trials)


def test_pages_go_from_new_to_old(database: Engine):
    ids = [put(database) for _ in range(5)]
    first = [job.id for job in read_jobs(database, limit=2)]
    put(database)  # a new one does not shift the next page
    second = [job.id for job in read_jobs(database, limit=2, after=first[-1])]
    third = [job.id for job in read_jobs(database, limit=2, after=second[-1])]
    assert [first, second, third] == [ids[:2:-1], ids[2:0:-1], ids[:1]]
    assert read_jobs(database, limit=2, after=ids[0]) == []


def test_of_one_state_alone(database: Engine, store: JobStore):
    ids = [put(database) for _ in range(6)]
    for job_id in ids[::2]:
        store.set_state(job_id, JobState.FAILED, error="no\0disk")
    failed = read_jobs(database, limit=2, state=JobState.FAILED)
    assert [(job.id, job.error) for job in failed] == [
        (ids[4], "no\\x00disk"), (ids[2], "no\\x00disk")]  # fmt: skip
    rest = read_jobs(database, limit=2, state=JobState.FAILED, after=ids[2])
    assert [job.id for job in rest] == [ids[0]]
    assert read_jobs(database, limit=2, state=JobState.DONE) == []
    assert count_by_state(database) == {JobState.FAILED: 3, JobState.QUEUED: 3}


def test_how_far_it_is_comes_with_it(database: Engine):
    first, second = put(database), put(database)
    lease = acquire(database, first, this_process_name())
    log = StoredTrialLog(database, lease)
    log.enter(Phase.SEARCH, "search")
    standing = RunProgress(1, 0, 96, (2, 7.5), 9.5, {}, 0.5, None)
    log.finish(progress=standing)
    newest, oldest = read_jobs(database, limit=2)
    assert (newest.id, newest.standing) == (second, None)
    assert oldest.phase is Phase.SEARCH
    assert oldest.standing == standing.document()
    kept = standings(database)
    assert sorted(kept, key=str) == sorted(
        [(JobState.QUEUED, standing.document()), (JobState.QUEUED, None)], key=str
    )


def numbers(engine: Engine, **asked: Any) -> list[int]:
    """All jobs that are asked for, read in pages of two."""
    found: list[int] = []
    while True:
        page = read_jobs(engine, limit=2, after=found[-1] if found else None, **asked)
        found += [job.id for job in page]
        if len(page) < 2:
            return found


def standing_of(engine: Engine, job_id: int, fitness: float | None) -> None:
    best = None if fitness is None else (3, fitness)
    lease = acquire(engine, job_id, this_process_name(), seconds=60)
    log = StoredTrialLog(engine, lease)
    log.finish(progress=RunProgress(3, 0, 12, best, 1.0, {}, 1.0, None))


@pytest.mark.parametrize("order", JobOrder)
def test_pages_in_any_order_hold_every_job_once(database: Engine, order: JobOrder):
    names = ["load", "mixed", "load", "overwrite", "mixed", "load", "load"]
    made = [put(database, workload={"name": name}) for name in names]
    JobStore(database).set_state(made[2], JobState.CANCELLED)
    key = {
        "id": lambda job: job.id,
        "state": lambda job: job.state.value,
        "workload": lambda job: job.asked["workload"],
        "updated_at": lambda job: job.updated_at,
        "best": lambda _: 0,
    }[order.removeprefix("-")]
    found = numbers(database, order=order)
    by_id = {job.id: job for job in read_jobs(database, limit=100)}
    falling = order.startswith("-")
    assert found == sorted(made, key=lambda n: (key(by_id[n]), n), reverse=falling)


def test_the_best_job_comes_first_and_one_without_a_best_last(database: Engine):
    made = [put(database) for _ in range(5)]
    for job_id, fitness in zip(made, (10.5, None, -4.0, 200.0), strict=False):
        standing_of(database, job_id, fitness)
    assert numbers(database, order=JobOrder.BEST) == [made[n] for n in (3, 0, 2, 4, 1)]
    assert numbers(database, order=JobOrder.WORST) == [made[n] for n in (1, 4, 2, 0, 3)]


def test_jobs_are_found_by_what_they_are_called(database: Engine):
    first = put(database, workload={"name": "Mixed_50-50"})
    second = put(database, space={"name": "Größe 100%"}, strategy="lhs")
    third = put(database, objective={"name": "waf"})
    for text, found in {
        "mixed": [first], "MIXED_": [first], "_": [first], "%": [second], "größe": [second],
        "lhs": [second], "waf": [third], "ci": [third, second, first], "nothing": [],
        f"#{second}": [second], "waits": [third, second, first], "\\": [], "'": [],
    }.items():  # fmt: skip
        assert numbers(database, search=text) == found, text
    assert third in numbers(database, search=str(third))
    assert numbers(database, search="waf", state=JobState.DONE) == []


def test_a_page_behind_a_job_that_is_gone_is_refused_unless_by_number(database: Engine):
    made = put(database)
    assert read_jobs(database, limit=5, after=made + 1)
    with pytest.raises(InputError):
        read_jobs(database, limit=5, after=made + 1, order=JobOrder.BEST)
