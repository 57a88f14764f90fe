"""The service, killed at random moments while it runs one job. `make prove-crash` does it more."""

import random
from pathlib import Path

import pytest

from tests.support.cli.launched import forked
from tests.support.jobs.crash_bench import NAME, SPACE, RecordedBench
from tests.support.jobs.crash_job import CrashedJob
from tests.support.jobs.service_desk import ServiceDesk

pytestmark = pytest.mark.slow

KILLS = 2
TRIALS = 20


def test_no_trial_is_lost_or_measured_twice(database_url: str, tmp_path: Path):
    desk = ServiceDesk(tmp_path, database_url, launch=forked)
    bench = RecordedBench(tmp_path, desk.workloads)
    on_server = database_url.startswith("postgresql")
    chance = random.Random(f"kills/{on_server}")
    body = {"workload": NAME, "space": SPACE, "objective": "waf", "trials": TRIALS}
    crashed = CrashedJob(desk, body, split=on_server, chance=chance, bench=bench)
    try:
        for kill in range(KILLS):
            crashed.kill(chance.uniform(0, 0.3), progress=2 if kill % 2 else 0)
        bench.takes(5, 20)
        tally = crashed.finish(seconds=120)
    finally:
        crashed.close()
    assert tally.wrong() == 0, tally
    assert (tally.kills, tally.trials) == (KILLS, TRIALS), tally
