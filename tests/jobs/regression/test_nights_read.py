"""How much of the database is read to compare the nights of a batch."""

from collections.abc import Iterator
from typing import Any

import pytest
from pydantic_core import from_json
from sqlalchemy import Engine, update

from db.connection.engine import make_engine, writing
from db.jobs.job_store import JobStore
from db.nightly.batches import BatchState, end_batch
from db.nightly.nights import Night, night_result, night_states, nights_of_batch
from db.schema.tables import batch
from jobs.regression.detection import regressions_of_batch
from tests.support.api.watched_nights import ITEM, keep_night
from tests.support.jobs.batch_nights import result

NIGHTS = 12
RANKING = 30_000  # bytes of a result that no night is compared by


class Read:
    """What an engine reads of documents."""

    bytes = 0

    def since(self) -> int:
        """Bytes since this was asked before."""
        found, self.bytes = self.bytes, 0
        return found


@pytest.fixture
def read() -> Read:
    return Read()


@pytest.fixture
def engine(database_url: str, read: Read, monkeypatch: pytest.MonkeyPatch) -> Iterator[Engine]:
    """An engine that counts the documents that it reads."""

    def counted(text: str | bytes) -> Any:
        read.bytes += len(text)
        return from_json(text)

    monkeypatch.setattr("db.connection.engine.from_json", counted)
    engine = make_engine(database_url)
    yield engine
    engine.dispose()


def measured(engine: Engine, waf: float, number: int = NIGHTS) -> dict[str, Any]:
    """One night of one job, as it is kept when it has ended; returns the job's whole result."""
    whole = {**result({"waf": waf, "sa": 1.1, "time": 3.0, "rate": 9.0}), "forest": RANKING * "x"}
    batch_id, job_id = keep_night(engine, whole, number, state=BatchState.RUNNING)
    items = [{"item": ITEM, "job": job_id, "result": night_result(whole)}]
    assert end_batch(engine, batch_id, BatchState.DONE, "", {"items": items})
    return whole


@pytest.fixture
def nights(engine: Engine) -> list[Night]:
    for number in range(NIGHTS):
        measured(engine, 2.0 + number / 100, number)
    return nights_of_batch(engine, "nightly")


@pytest.mark.usefixtures("nights")
def test_a_comparison_reads_what_nights_are_compared_by_and_a_second_one_nothing(
    engine: Engine, read: Read
):
    read.since()
    first = regressions_of_batch(engine, "nightly")
    assert len(first.nights) == NIGHTS
    assert 0 < read.since() < NIGHTS * RANKING / 5
    assert regressions_of_batch(engine, "nightly") is first
    assert read.since() == 0


@pytest.mark.usefixtures("nights")
def test_with_a_new_night_only_that_is_read(engine: Engine, read: Read):
    first = regressions_of_batch(engine, "nightly")
    measured(engine, 3.0)
    read.since()
    second = regressions_of_batch(engine, "nightly")
    assert second.nights[:NIGHTS] == first.nights and len(second.nights) == NIGHTS + 1
    assert 0 < read.since() < RANKING / 5
    assert list(second.nights) == nights_of_batch(engine, "nightly")


def test_a_job_that_went_on_after_its_night_is_told_as_it_is_now(
    engine: Engine, nights: list[Night]
):
    regressions_of_batch(engine, "nightly")
    changed = nights[7].items[ITEM].job_id
    whole = result({"waf": 99.0, "sa": 1.1, "time": 3.0, "rate": 9.0})
    JobStore(engine).save_result(changed, whole)
    again = regressions_of_batch(engine, "nightly")
    assert again.nights[7].items[ITEM].result == night_result(whole)
    others = [night for night in again.nights if night.batch_id != nights[7].batch_id]
    assert others == [night for night in nights if night.batch_id != nights[7].batch_id]


def test_a_job_that_was_deleted_is_told_as_its_night_kept_it(
    engine: Engine, nights: list[Night], read: Read
):
    assert JobStore(engine).delete_job(nights[0].items[ITEM].job_id)
    read.since()
    assert nights_of_batch(engine, "nightly") == nights
    assert read.since() < NIGHTS * RANKING / 5
    assert night_states(engine, "nightly")[nights[0].batch_id] == ()


def test_what_a_batch_has_not_kept_is_read_of_its_job(engine: Engine):
    whole = measured(engine, 2.0)
    with writing(engine) as connection:
        connection.execute(update(batch).values(result={"items": []}))
    (night,) = nights_of_batch(engine, "nightly")
    assert night.items[ITEM].result == night_result(whole)
