"""`rocktune schedule`: on a local database, where files of the user's own are read in."""

import json
from collections.abc import Callable

import pytest

from db.connection.engine import make_engine
from db.nightly.batches import batch_jobs, find_schedule
from tests.support.cli.terminal import Desk
from tests.support.jobs.night_scene import NIGHTLY, write_nightly

Here = Callable[..., int]


def test_a_schedule_from_its_making_to_its_end(
    desk: Desk, here: Here, capsys: pytest.CaptureFixture[str]
) -> None:
    file = write_nightly(desk.folder)
    at = ("--db", desk.database)
    when = ("--cron", "30 2 * * *", "--time-zone", "Europe/Berlin")
    assert here("schedule", "add", file, *when, *at) == 0
    assert "30 2 * * * in Europe/Berlin, next at " in capsys.readouterr().out
    assert here("schedule", "add", file, *when, *at) == 2
    assert "a schedule 'nightly' already exists" in capsys.readouterr().err
    assert here("schedule", "add", file, *when, *at, "--name", "second", "--missed", "skip") == 0
    capsys.readouterr()
    assert here("schedule", "list", *at) == 0
    shown = capsys.readouterr().out.splitlines()
    assert [line.split()[0] for line in shown] == ["schedule", "nightly", "second"]
    # The files were read: they may go.
    for name in ("nightly.toml", "workload.toml", "space.toml"):
        (desk.folder / name).unlink()
    assert here("schedule", "run", "nightly", *at) == 0
    assert capsys.readouterr().out == "batch 1 (nightly) is running\n"
    assert here("schedule", "run", "nightly", *at) == 2
    assert "NAME: batch 1 of this schedule has not ended" in capsys.readouterr().err
    engine = make_engine(desk.database)
    first = batch_jobs(engine, 1)["workload/space"]
    assert first.specification["workload"]["command"]["argv"][1] == str(desk.folder / "bench.sh")
    assert here("schedule", "show", "nightly", *at) == 0
    shown = capsys.readouterr().out
    assert "jobs: workload/space, again" in shown and "run on request" in shown
    assert here("schedule", "show", "nightly", *at, "--json") == 0
    document = json.loads(capsys.readouterr().out)
    assert [each["state"] for each in document["last"]] == ["running"]
    assert here("schedule", "delete", "nightly", *at) == 0
    assert find_schedule(engine, "nightly") is None
    engine.dispose()
    for what in ("show", "run", "delete"):
        capsys.readouterr()
        assert here("schedule", what, "nightly", *at) == 2
        assert "NAME: there is no schedule 'nightly'" in capsys.readouterr().err


def test_what_is_wrong_is_told_as_it_was_typed(
    desk: Desk, here: Here, capsys: pytest.CaptureFixture[str]
) -> None:
    file = write_nightly(desk.folder)
    at = ("--db", desk.database)
    wrong = ("--cron", "never", "--time-zone", "Nowhere")
    assert here("schedule", "add", file, *wrong, *at) == 2
    said = capsys.readouterr().err
    assert (
        "--time-zone: 'Nowhere' is not a known time zone" in said and "--cron: 'never' has" in said
    )
    assert here("schedule", "add", file, "--cron", "0 1 * * *", "--missed", "no", *at) == 2
    assert "--missed: 'no' is neither late nor skip" in capsys.readouterr().err
    write_nightly(desk.folder, NIGHTLY.replace("trials = 12", "trials = 2"))
    assert here("schedule", "add", file, "--cron", "0 1 * * *", *at) == 2
    assert "workload/space: trials: 2 are too few" in capsys.readouterr().err
    assert here("schedule", "list", *at) == 0
    assert capsys.readouterr().err == "no schedules\n"
