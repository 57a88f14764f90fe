import random
from itertools import islice

import pytest

from db.jobs.job_store import JobStore
from optimizer.trials.trial import Trial
from sampler.bench.outcome import TrialState
from tests.support.db.writing_process import ended_trial, proposed_trial, started

RUNS, KILLS = 20, 3


@pytest.mark.slow
def test_eight_writers_in_two_processes_never_fail(database_url: str, store: JobStore):
    jobs = [store.create_job({}, "d") for _ in range(8)]
    with (
        started("write", database_url, RUNS, *jobs[:4]) as one,
        started("write", database_url, RUNS, *jobs[4:]) as two,
    ):
        for process in (one, two):
            assert len(process.stdout.read().split()) == 4 * RUNS
        assert [one.wait(), two.wait()] == [0, 0]
    for job_id in jobs:
        assert store.trials(job_id) == [ended_trial(number) for number in range(1, RUNS + 1)]


def whole(trial: Trial) -> bool:
    return trial in (proposed_trial(trial.number), ended_trial(trial.number))


@pytest.mark.slow
def test_a_killed_writer_loses_nothing_that_it_has_acknowledged(
    database_url: str, store: JobStore
):
    job_id = store.create_job({}, "d")
    acknowledged: list[int] = []
    for seed in range(KILLS):
        with started("write", database_url, 0, job_id) as writer:
            # The writer runs on while these are read: the kill meets it anywhere in a write.
            lines = islice(writer.stdout, random.Random(seed).randint(1, 60))
            acknowledged += map(int, lines)
            writer.kill()
            acknowledged += map(int, writer.stdout.read().split())
        trials = store.trials(job_id)
        assert [trial.number for trial in trials] == list(range(1, len(trials) + 1))
        assert all(whole(trial) for trial in trials)
        done = {trial.number for trial in trials if trial.state is TrialState.DONE}
        assert done >= set(acknowledged)
        assert len(trials) - len(acknowledged) <= KILLS  # at most the one in flight, for each kill
