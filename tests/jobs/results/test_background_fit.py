"""The process that fits models for viewers: it steps back, tells what failed, and ends with us."""

import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import psutil
import pytest

from jobs.results.fits import FitFailed, end_fits, fitted
from tests.support import ROOT
from tests.support.jobs.service_desk import wait_until
from tests.support.jobs.small_fits import added, endless, failing, priority

pytestmark = pytest.mark.slow


def test_it_is_another_process_that_every_trial_goes_before(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.delenv("ROCKTUNE_STEP_BACK")
    process, nice, policy = fitted(priority)
    assert process != os.getpid()
    assert (nice, policy) == (19, os.SCHED_IDLE)
    assert os.sched_getscheduler(0) != os.SCHED_IDLE
    assert not psutil.pid_exists(process)


def test_where_nothing_is_measured_it_has_its_turn_on_a_busy_machine():
    _, nice, policy = fitted(priority)
    assert (nice - os.nice(0), policy) == (5, os.sched_getscheduler(0))


def test_many_at_once_get_what_each_asked_for():
    with ThreadPoolExecutor(3) as threads:
        assert list(threads.map(fitted, [added] * 3, range(3), range(10, 13))) == [10, 12, 14]


def test_what_failed_is_told_with_its_place():
    with pytest.raises(FitFailed, match=r"(?s)in failing.*KeyError: 'no such column'"):
        fitted(failing)
    assert fitted(added, 1, 2) == 3


def test_a_server_that_stops_ends_it(tmp_path: Path):
    with ThreadPoolExecutor(1) as threads:
        asked = threads.submit(fitted, endless, str(tmp_path / "told"))
        wait_until((tmp_path / "told").exists, seconds=60, what="the fit has begun")
        end_fits()
        with pytest.raises(FitFailed, match="was killed"):
            asked.result(60)
    assert not psutil.pid_exists(int((tmp_path / "told").read_text()))


def test_it_ends_with_a_server_that_is_killed(tmp_path: Path):
    told = tmp_path / "told"
    server = subprocess.Popen(
        [sys.executable, "-m", "tests.support.jobs.small_fits", str(told)], cwd=ROOT
    )
    try:
        wait_until(told.exists, seconds=60, what="the fit has begun")
    finally:
        server.kill()
        server.wait()
    child = int(told.read_text())
    wait_until(lambda: not psutil.pid_exists(child), seconds=60, what="the fit has ended")
