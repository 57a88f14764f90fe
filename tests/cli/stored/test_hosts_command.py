"""`rocktune hosts` over a database: fingerprint, noise, speed, exclusion, and its exit status."""

import json

import pytest
from sqlalchemy import Engine

from cli.main import main
from cli.options.exits import Exit
from db.leases import see_host
from tests.support.jobs.host_jobs import host_baselines, keep_host_jobs
from tests.support.jobs.recorded_nights import Planted


def run(engine: Engine, *arguments: str) -> int:
    return main(["hosts", *arguments, "--db", engine.url.render_as_string(hide_password=False)])


def test_a_host_that_drifts_is_told_and_ends_with_3_when_its_newest_job_shows_it(
    database: Engine, capsys: pytest.CaptureFixture[str]
):
    assert run(database) == Exit.DONE
    assert capsys.readouterr().err == "no hosts\n"
    baselines = host_baselines(Planted(since=14, metrics={"machine_speed": 0.7}), jobs=30)
    keep_host_jobs(database, baselines[:14])
    assert run(database) == Exit.DONE
    for baseline in baselines[14:29]:
        keep_host_jobs(database, [baseline])
        if run(database) == Exit.ANSWER_IS_NO:
            break
    else:
        pytest.fail("the change was never told")
    capsys.readouterr()
    keep_host_jobs(database, [baselines[-1]])
    assert run(database) == Exit.DONE, "known before"
    shown = capsys.readouterr().out
    assert "bench-1: not seen in the last minute" in shown and "kernel 6.1.0" in shown
    assert "machine_speed" in shown and "worse since" in shown and "noise of" not in shown


def test_one_host_with_all_its_figures(database: Engine, capsys: pytest.CaptureFixture[str]):
    keep_host_jobs(database, host_baselines(Planted(), jobs=6))
    see_host(database, "bench-1", {"cpu": "an \x1b[31m one", "cores": 2}, 7)
    assert run(database, "bench-1") == Exit.DONE
    shown = capsys.readouterr().out
    assert "bench-1: measures for job 7" in shown and "cores 2" in shown and "\x1b" not in shown
    assert "noise of TIME" in shown and "no change in 6 jobs" in shown
    assert run(database, "bench-1", "--json") == Exit.DONE
    (document,) = json.loads(capsys.readouterr().out)
    assert document["name"] == "bench-1" and document["series"]


def test_an_unknown_host_is_bad_input(database: Engine, capsys: pytest.CaptureFixture[str]):
    assert run(database, "nobody") == Exit.BAD_INPUT
    assert "there is no host 'nobody'" in capsys.readouterr().err
