"""`kill -9` at every step of a trial: the job ends with the trials that it would have had anyway.

A step is a statement, or a commit, that the database is about to get, and what follows it; a file
about to be written; a folder made or removed; the host's lock; a process about to be started, or
its group ended. Each child of this process ends the trial that the one before it was killed in,
and is killed one step later in the trial that follows, until a trial has no more steps.
"""

import json
import os
from collections import Counter
from contextlib import suppress
from dataclasses import asdict
from pathlib import Path

import pytest
from sqlalchemy import Engine, event

from db.connection.engine import make_engine
from db.jobs.job_store import JobStore
from db.schema.job_row import JobState
from jobs.execution.assembly import assemble
from jobs.execution.run_job import run_job
from jobs.specification.specification import Specification
from optimizer.run.planning import RunProgress
from optimizer.trials.trial import Trial
from sampler.bench.outcome import TrialState
from sampler.bench.settings import Settings
from tests.support.db.stored_trials import trials_of
from tests.support.jobs.instant import SCRIPT, Watcher, codec_job, left_running, write_workload
from tests.support.sampler.killed_child import CHANGES_FILES, Steps, killed

pytestmark = pytest.mark.slow

TRIALS = 60  # more than a trial has steps: each is killed in one of its own
EVENTS = CHANGES_FILES | {"fcntl.flock", "subprocess.Popen", "os.killpg"}
STATEMENTS = ("before_cursor_execute", "commit", "checkin")


class OneTrialLater(Watcher):
    """Counts the steps of the second trial that ends, and then goes no further."""

    def __init__(self, steps: Steps) -> None:
        super().__init__()
        self._steps = steps

    def trial_ended(self, trial: Trial, standing: RunProgress) -> None:
        super().trial_ended(trial, standing)
        if self._steps.armed:
            self._steps.armed = False
            raise KeyboardInterrupt
        self._steps.armed = True


def specified(folder: Path) -> Specification:
    """A job whose benchmark says the same whenever it is asked, and records what it was asked."""
    folder.mkdir()
    record = f"printf '%s\\n' \"$given\" >> '{folder}/record'"
    workload = write_workload(folder, script=SCRIPT.format(wins="fast", record=record, noise=50))
    return codec_job(folder, workload, trials=TRIALS)


def go_on(
    url: str, job: int, specification: Specification, settings: Settings, watcher: Watcher,
    steps: Steps | None = None,
) -> None:  # fmt: skip
    engine = make_engine(url)
    if steps is not None:
        for name in STATEMENTS:
            count_statements(engine, name, steps)
    run_job(
        engine, job, specification, assemble(specification, settings), settings, progress=watcher
    )
    engine.dispose()


def count_statements(engine: Engine, name: str, steps: Steps) -> None:
    def about_to(*_: object) -> None:
        steps.take(name)

    event.listen(engine, name, about_to)


def described(trial: Trial) -> dict[str, object]:
    """All but the clocks and how often it was begun."""
    aside = ("bench_seconds", "started_at", "finished_at", "host", "attempt")
    return {name: value for name, value in asdict(trial).items() if name not in aside}


def test_its_job_ends_with_the_same_trials(
    database_url: str, tmp_path: Path, settings: Settings, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setenv("ROCKTUNE_BENCH_DIR", str(settings.bench_dir))  # marks what is started
    whole, pieces = specified(tmp_path / "whole"), specified(tmp_path / "pieces")
    engine = make_engine(database_url)
    first, second = (
        JobStore(engine).create_job(each.document(), each.digest()) for each in (whole, pieces)
    )
    engine.dispose()  # no connection may be shared with a child
    go_on(database_url, first, whole, settings, Watcher())
    ended: list[Trial] = []
    reading, writing = os.pipe()
    kills = 0
    while True:
        steps = Steps(kills + 1, armed=False, told=writing)

        def work(steps: Steps = steps) -> None:
            with suppress(KeyboardInterrupt):
                go_on(database_url, second, pieces, settings, OneTrialLater(steps), steps)

        if not killed(steps, work, events=EVENTS):
            break
        kills += 1
        assert left_running(str(settings.bench_dir)) == []
        now = trials_of(database_url, second)
        assert now[: len(ended)] == ended, "what had ended is as it was"
        assert sum(trial.state is TrialState.RUNNING for trial in now) <= 1
        ended = [trial for trial in now if trial.state is not TrialState.RUNNING]
    os.close(writing)
    with os.fdopen(reading) as told:
        assert set(told.read().split()) >= {*STATEMENTS, *EVENTS - {"os.rename", "os.link"}}
    go_on(database_url, second, pieces, settings, Watcher())
    check_same(trials_of(database_url, first), trials_of(database_url, second), kills)
    check_measured(tmp_path / "pieces" / "record", trials_of(database_url, second))
    engine = make_engine(database_url)
    row = JobStore(engine).job(second)
    engine.dispose()
    assert (row.state, row.lease_owner) == (JobState.DONE, None)
    assert list(settings.bench_dir.iterdir()) == []


def check_same(expected: list[Trial], found: list[Trial], kills: int) -> None:
    assert [described(trial) for trial in found] == [described(trial) for trial in expected]
    assert len(found) == TRIALS and {trial.state for trial in found} == {TrialState.DONE}
    assert 20 < kills < TRIALS - 2
    assert sum(trial.attempt - 1 for trial in found) <= kills


def check_measured(record: Path, trials: list[Trial]) -> None:
    """Each was measured once, and once more at most for each time that it was in flight."""
    measured = Counter(record.read_text().splitlines())
    once, most = Counter[str](), Counter[str]()
    for trial in trials:
        once[json.dumps(trial.configuration)] += 1
        most[json.dumps(trial.configuration)] += trial.attempt
    assert once <= measured <= most
