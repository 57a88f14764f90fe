import json
from pathlib import Path

import pytest
from sqlalchemy import Engine, insert

from cli.operations.nights import nights_command
from cli.options.exits import Exit
from db.connection.transactions import writing
from db.jobs.job_store import JobStore
from db.nightly.nights import nights_of_batch as stored_nights
from db.schema.job_row import JobState
from db.schema.tables import batch, job
from jobs.regression.detection import detect_regressions
from sampler.common.errors import InputError
from tests.support.jobs.batch_nights import FIRST, nights_of, result

BASE = {"waf": 2.3, "sa": 0.62, "time": 1.1, "rate": 110_000.0}


def keep(engine: Engine, name: str, times: list[float]) -> None:
    for night in nights_of([result(BASE | {"time": each}) for each in times]):
        (item,) = night.items
        job_id = JobStore(engine).create_job(night.items[item].result["job"], "digest")
        JobStore(engine).save_result(job_id, night.items[item].result)
        JobStore(engine).set_state(job_id, JobState.DONE)
        with writing(engine) as connection:
            number = connection.execute(
                insert(batch)
                .values(name=name, state="done", why="", document={}, digest="d",
                        created_at=night.at, ended_at=night.at)
                .returning(batch.c.id)
            ).scalar_one()  # fmt: skip
            connection.execute(
                job.update().where(job.c.id == job_id).values(batch_id=number, batch_item=item)
            )


def run(engine: Engine, name: str = "nightly", **given: object) -> int:
    url = engine.url.render_as_string(hide_password=False)
    settings = {"last": 14, "false_alarms": 1.0, "out": None, "as_json": False} | given
    return nights_command(name=name, db=url, **settings)  # type: ignore[arg-type]


def test_steady_then_slower(
    database: Engine, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    steady = [1.1 + 0.002 * (night % 3) for night in range(14)]
    keep(database, "steady", steady)
    assert run(database, "steady") == Exit.DONE
    shown = capsys.readouterr().out
    assert "TIME of the default" in shown and "14 nights, 4 series" in shown

    slower = next(
        nights for nights in range(15, 25)
        if watched(steady + [1.4] * (nights - 14))
    )  # fmt: skip
    keep(database, "nightly", steady + [1.4] * (slower - 14))
    page = tmp_path / "nights.html"
    assert run(database, out=page) == Exit.ANSWER_IS_NO
    shown = capsys.readouterr().out
    assert "load/default: since 2026-11-15" in shown and "1.4!" in shown
    assert "Written to" in shown and "<svg" in page.read_text()
    assert run(database, as_json=True, last=3) == Exit.ANSWER_IS_NO
    document = json.loads(capsys.readouterr().out)
    assert document == detect_regressions(stored_nights(database, "nightly")).document()
    assert document["worsened"] and document["findings"][0]["since"] == (
        FIRST.replace(day=15).isoformat()
    )


def watched(times: list[float]) -> bool:
    return detect_regressions(
        nights_of([result(BASE | {"time": each}) for each in times])
    ).worsened


def test_refusals(database: Engine) -> None:
    with pytest.raises(InputError, match="no batch named 'other' has ended"):
        run(database, "other")
    with pytest.raises(InputError, match="--false-alarms: must be above 0"):
        run(database, false_alarms=0.0)
