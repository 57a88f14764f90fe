"""What webhooks are told of nights: times that were missed, regressions found and gone."""

import math
from typing import Any

import pytest
from sqlalchemy import Engine

from db.jobs.job_store import JobStore
from db.nightly.batches import BatchState, batch_result
from db.webhooks import EVENTS, Delivery, add_webhook, read_deliveries
from jobs.batch import batch_run as ending
from jobs.batch.batch_run import end_batch_now
from jobs.queue.lifecycle import cancel_stored
from jobs.schedule import fire_due, keep_schedule
from jobs.webhooks import event_text
from tests.support.api.watched_nights import keep_night
from tests.support.jobs.batch_nights import result
from tests.support.jobs.night_scene import Clock, plan_of
from tests.support.jobs.worker_scene import Scene


@pytest.fixture
def told(database: Engine) -> Any:
    """What is told from now on of nights, the oldest first."""
    add_webhook(database, "https://chat.example.com/x", EVENTS, "whsec_AAAA", None)

    def read() -> list[Delivery]:
        rows = reversed(read_deliveries(database))
        return [each for each in rows if each.event not in ("job_ended", "winner_proven")]

    return read


@pytest.mark.one_database
@pytest.mark.slow
@pytest.mark.parametrize("missed", ["late", "skip"])
def test_a_missed_time_is_told_and_one_that_is_kept_is_not(
    scene: Scene, clock: Clock, told: Any, missed: str
) -> None:
    keep_schedule(
        scene.engine, plan_of(scene), name="nightly", cron="30 2 * * *", time_zone="UTC",
        missed=missed,
    )  # fmt: skip
    clock.set("2026-03-28 02:31")
    assert len(fire_due(scene.engine)) == 1
    assert told() == []
    for row in JobStore(scene.engine).jobs():
        cancel_stored(scene.engine, row.id)
    end_batch_now(scene.engine, 1)
    clock.set("2026-03-29 09:00")
    assert len(fire_due(scene.engine)) == 1
    assert fire_due(scene.engine) == []
    (found,) = told()
    about = found.about["schedule"]
    assert found.event == "schedule_missed"
    assert (about["name"], about["at"]) == ("nightly", "2026-03-29T02:30:00+00:00")
    assert about["batch"] == (2 if missed == "late" else None)
    assert about["why"] in event_text(found.event, found.about)


@pytest.mark.one_database
@pytest.mark.slow
def test_a_time_at_which_the_batch_before_still_runs_is_told(
    scene: Scene, clock: Clock, told: Any
) -> None:
    keep_schedule(
        scene.engine, plan_of(scene), name="nightly", cron="30 2 * * *", time_zone="UTC",
        missed="late",
    )  # fmt: skip
    for day in (28, 29, 30):
        clock.set(f"2026-03-{day} 02:30")
        fire_due(scene.engine)
    assert [each.about["schedule"]["at"][:10] for each in told()] == ["2026-03-29", "2026-03-30"]
    assert "has not ended" in told()[0].about["schedule"]["why"]


def night(engine: Engine, number: int, waf: float) -> int:
    """A night whose job has ended, and whose batch is still to be ended."""
    level = waf * (1 + 0.01 * math.sin(7 * number))
    found = result(
        {"waf": level, "sa": 1.0 + 0.01 * math.cos(5 * number), "time": 3.0, "rate": 1.0}
    )
    found["trials"] = {"total": 90}
    return keep_night(engine, found, number, state=BatchState.RUNNING)[0]


@pytest.mark.slow
def test_a_regression_is_told_when_it_is_found_and_when_it_is_gone(
    database: Engine, told: Any
) -> None:
    levels = [2.0] * 16 + [3.0] * 14 + [2.0] * 14
    for number, waf in enumerate(levels):
        document = end_batch_now(database, night(database, number, waf))
        kept = batch_result(database, document["batch"])
        assert kept["watch"] == document["watch"]
        assert document["watch"]["nights"][-1]["batch"] == document["batch"], "it is one of them"
        assert end_batch_now(database, document["batch"])["watch"] == document["watch"]
    found, gone = told()
    assert (found.event, gone.event) == ("regression_found", "regression_gone")
    assert 16 <= found.about["batch"]["id"] - 1 < 24 and 30 <= gone.about["batch"]["id"] - 1 < 38
    (finding,) = found.about["findings"]
    assert (finding["metric"], finding["worse"], finding["batch"]) == (
        "waf", True, found.about["batch"]["id"]
    )  # fmt: skip
    text = event_text(found.event, found.about)
    assert text.startswith("Batch nightly, night of 2026-11-") and "WAF of the default" in text
    assert "better" in event_text(gone.event, gone.about)


@pytest.mark.one_database
def test_what_gets_better_and_was_not_worse_is_no_news(database: Engine, told: Any) -> None:
    for number, waf in enumerate([3.0] * 16 + [2.0] * 10):
        document = end_batch_now(database, night(database, number, waf))
    assert document["watch"]["findings"] and told() == []


@pytest.mark.one_database
def test_killed_before_it_is_judged_a_night_is_judged_by_who_goes_on(
    database: Engine, told: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    last = [night(database, number, waf) for number, waf in enumerate([2.0] * 16 + [4.0] * 3)]
    for batch_id in last[:-1]:
        end_batch_now(database, batch_id)
    before = len(told())

    def killed(*_: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch, pytest.raises(KeyboardInterrupt):
        patch.setattr(ending, "end_batch", killed)
        end_batch_now(database, last[-1])
    assert batch_result(database, last[-1]) is None and len(told()) == before
    assert end_batch_now(database, last[-1])["watch"] is not None
