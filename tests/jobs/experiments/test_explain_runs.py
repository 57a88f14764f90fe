"""Real runs that check an explanation: interleaved, kept, gone on with after an interruption."""

import json
import random
import shutil
from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import Engine

from api.app import make_app
from db.connection.engine import make_engine
from db.connection.migrate import upgrade_tables
from db.jobs.job_store import JobStore
from db.leases import LeaseHeld, acquire, release, this_process_name
from db.schema.job_row import JobKind, JobState
from db.trials.trial_log import StoredTrialLog
from jobs.execution.assembly import assemble
from jobs.execution.run_job import Queued, run_job, run_queued
from jobs.experiments.experiment import KeptRuns, MeasuredRun, RunsObserver
from jobs.experiments.explain import explanation_check
from jobs.experiments.kinds import made_ready
from jobs.experiments.told import told_of
from jobs.results.outcome import job_outcome, kept_report
from jobs.specification.named_files import specify
from sampler.bench.outcome import Outcome, TrialState
from sampler.bench.runner import LocalRunner
from sampler.bench.settings import Settings
from tests.support.api.callers import admin, submit
from tests.support.jobs.instant import Watcher as Progress
from tests.support.jobs.instant import write_space, write_workload
from tests.support.jobs.lost_commits import lose

pytestmark = pytest.mark.slow


def finished_in(engine: Engine, folder: Path, settings: Settings) -> int:
    """A job that is done, with an instant benchmark whose runs are recorded in the folder."""
    workload = write_workload(folder, record=folder / "measured", repeatable=True)
    specification = specify(
        workload=str(workload), space=str(write_space(folder)), objective="waf",
        strategy="random", trials=23,
    )  # fmt: skip
    job = JobStore(engine).create_job(specification.document(), specification.digest())
    assembly = assemble(specification, settings)
    run_job(engine, job, specification, assembly, settings, progress=Progress())
    return job


class Explained:
    """A finished job, whose benchmark leaves its record in a folder."""

    def __init__(self, engine: Engine, folder: Path, settings: Settings, job: int) -> None:
        self.engine, self.settings, self.id = engine, settings, job
        self.record = folder / "measured"
        self.store = JobStore(engine)
        self.ended: list[dict[str, Any]] = []
        self.stop_after = 1000

    def measure(self, *, runs: int = 3, steps: int = 2) -> Any:
        """Measures, and is interrupted after ``stop_after`` runs."""
        self.record.write_text("")
        left = self.stop_after

        def ended(run: MeasuredRun) -> None:
            nonlocal left
            self.ended.append(asdict(run))
            left -= 1
            if left == 0:
                raise KeyboardInterrupt

        asked = {"job": self.id, "runs": runs, "steps": steps, "margin": 0.1}
        check = explanation_check(asked, self.engine, self.settings)
        found = check.measure(self.settings, KeptRuns(), RunsObserver(ended=ended)).document
        return {name: each for name, each in found.items() if name != "job"}

    @property
    def measured(self) -> list[Any]:
        return [json.loads(line) for line in self.record.read_text().splitlines()]


@pytest.fixture(scope="module")
def on_sqlite(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, int]:
    """The folder of a finished job, with its database, of which each test has a copy."""
    folder = tmp_path_factory.mktemp("finished")
    engine = make_engine(folder / "rocktune.db")
    upgrade_tables(engine)
    settings = Settings(
        db_bench="db_bench", bench_dir=folder / "bench", lock=folder / "host.lock", free_bytes=0
    )
    job = finished_in(engine, folder, settings)
    engine.dispose()
    return folder, job


@pytest.fixture
def job(
    request: pytest.FixtureRequest, database_url: str, tmp_path: Path, settings: Settings
) -> Iterator[Explained]:
    folder, number = tmp_path, None
    if database_url.startswith("sqlite"):
        folder, number = request.getfixturevalue("on_sqlite")
        shutil.copy(folder / "rocktune.db", tmp_path / "rocktune.db")
    engine = make_engine(database_url)
    yield Explained(engine, folder, settings, number or finished_in(engine, folder, settings))
    engine.dispose()


@pytest.mark.one_database
def test_every_round_measures_each_configuration_and_all_is_kept(job: Explained):
    found = job.measure(runs=4)
    subjects = {"baseline", "step 1", "winner"}  # the minimal one is the first step's
    assert len(job.measured) == 4 * 3 == found["measured"]["runs"]["done"]
    rounds = [job.ended[at : at + 3] for at in range(0, 12, 3)]
    for number, runs in enumerate(rounds, start=1):
        assert {run["round"] for run in runs} == {number}
        assert {run["side"] for run in runs} == subjects
    assert len({tuple(run["side"] for run in runs) for runs in rounds}) > 1
    by_subject = {run["side"]: c for run, c in zip(job.ended, job.measured, strict=True)}
    assert by_subject["baseline"]["codec"] == "slow"
    assert by_subject["step 1"]["codec"] == "fast"
    assert by_subject["step 1"]["level"] == by_subject["baseline"]["level"]
    assert by_subject["winner"]["level"] != by_subject["baseline"]["level"]
    first, second = found["measured"]["steps"]
    assert first["fitness"]["low"] > 300
    assert second["fitness"]["low"] < 30
    assert found["measured"]["minimal"]["shown"]

    kept = job.store.result(job.id)
    assert kept["explanation"] == json.loads(json.dumps(found))
    finished = job_outcome(job.engine, job.id)
    assert finished.options is not None and finished.minimal is not None
    assert "Measured: 4 rounds on" in (kept_report(job.engine, job.id) or "")
    assert job.store.job(job.id).lease_owner is None


@pytest.mark.one_database
def test_a_run_that_counts_for_nothing_is_made_again(
    job: Explained, monkeypatch: pytest.MonkeyPatch
):
    real, first = LocalRunner.wait, iter([True])

    def wait(runner: LocalRunner, timeout: float) -> Outcome | None:
        outcome = real(runner, timeout)
        if outcome is not None and next(first, False):
            return Outcome(state=TrialState.LOST, failure="the machine's clock was set")
        return outcome

    monkeypatch.setattr(LocalRunner, "wait", wait)
    found = job.measure()
    assert len(job.measured) == 9 + 1
    assert found["measured"]["runs"] == {"done": 9, "total": 9}


@pytest.mark.one_database
def test_fewer_changes_that_failed_alone_are_not_said_to_be_as_good(
    job: Explained, monkeypatch: pytest.MonkeyPatch
):
    job.measure(runs=5)
    steps = [c for run, c in zip(job.ended, job.measured, strict=True) if run["side"] == "step 1"]
    real, first = LocalRunner.run, iter([True])

    def run(runner: LocalRunner, configuration: Any, **asked: Any) -> Outcome:
        outcome = real(runner, configuration, **asked)
        if dict(configuration) == steps[0] and next(first, False):
            return Outcome(state=TrialState.FAILED, failure="it crashed")
        return outcome

    monkeypatch.setattr(LocalRunner, "run", run)
    minimal = job.measure(runs=4)["measured"]["minimal"]
    assert not minimal["shown"]
    assert "1 of its runs failed, while the others succeeded" in minimal["why"]


@pytest.mark.one_database
def test_what_an_interruption_left_is_gone_on_with(job: Explained):
    job.stop_after = 4
    with pytest.raises(KeyboardInterrupt):
        job.measure()
    result = job.store.result(job.id)
    assert result["explanation"]["measured"] is None
    assert job.store.job(job.id).lease_owner is None
    left, job.ended = job.ended, []
    job.stop_after = 1000
    found = job.measure()
    assert len(job.measured) == 9 - 3, "the whole round counts, and not the run after it"
    assert found["measured"]["runs"] == {"done": 9, "total": 9}
    places = [(run["round"], run["side"]) for run in [*left[:3], *job.ended]]
    assert len(places) == len(set(places)) == 9
    assert [number for number, _ in places] == [1, 1, 1, 2, 2, 2, 3, 3, 3]
    kept = [job.store.recall(job.id, f"explanation-round-{number}") for number in (1, 2, 3)]
    told = [run for each in kept if each is not None for run in each["runs"]]
    assert told == json.loads(json.dumps([*left, *job.ended]))


@pytest.mark.one_database
def test_only_what_was_left_of_the_same_design_is_gone_on_with(job: Explained):
    job.measure()
    job.measure()  # that design is complete: whoever asks again wants new runs
    assert len(job.measured) == 9
    job.stop_after = 2
    with pytest.raises(KeyboardInterrupt):
        job.measure(runs=5)
    job.stop_after = 1000
    job.measure(runs=4)  # another design
    assert len(job.measured) == 12


@pytest.mark.one_database
@pytest.mark.parametrize(
    "other", [{"host": "elsewhere"}, {"build": {"version": "7.7.2"}}, {"host": ...}],
    ids=["another host", "another RocksDB", "an earlier version's, which told of neither"],
)  # fmt: skip
def test_what_another_host_or_rocksdb_has_measured_is_measured_anew(
    job: Explained, other: dict[str, Any]
):
    job.stop_after = 7
    with pytest.raises(KeyboardInterrupt):
        job.measure()
    first = job.store.recall(job.id, "explanation-round-1")
    known = {**first["experiment"], **other}
    lease = acquire(job.engine, job.id, this_process_name())
    told = {name: each for name, each in known.items() if each is not ...}
    StoredTrialLog(job.engine, lease).remember(
        "explanation-round-1", {**first, "experiment": told}
    )
    release(job.engine, lease)
    job.stop_after = 1000
    assert job.measure()["measured"]["runs"] == {"done": 9, "total": 9}
    assert len(job.measured) == 9


def test_a_job_of_the_service_measures_it_and_goes_on_with_what_is_kept(job: Explained):
    job.stop_after = 4
    with pytest.raises(KeyboardInterrupt):
        job.measure()
    job.record.write_text("")
    with admin(make_app(job.engine)) as client:
        number = submit(client, {"kind": "explain", "job": job.id, "runs": 3, "steps": 2})
        queued = Queued(job.engine, job.settings, lambda _: None, lambda: None)
        run_queued(queued, number, 1, made_ready)
        row = job.store.job(number)
        assert (row.state, row.error, row.lease_owner) == (JobState.DONE, None, None)
        assert row.standing["done"] == row.standing["total"] == 9
        found = client.get(f"/v1/jobs/{number}/result").json()
    assert len(job.measured) == 9 - 3
    assert found.pop("job") == job.id
    assert found["measured"]["runs"] == {"done": 9, "total": 9}
    result = job.store.result(job.id)
    assert result["explanation"] == found
    assert job.store.job(job.id).lease_owner is None
    told = told_of(JobKind.EXPLAIN, found)
    assert told.lines[0].startswith("9 of 9 runs succeeded, on ")
    assert len(told.tables[0].rows) == 3


@pytest.mark.parametrize("arrives", [True, False], ids=["answer lost", "commit lost"])
@pytest.mark.parametrize("database_url", ["postgresql"], indirect=True)
def test_a_job_of_the_service_outlasts_a_lost_database(
    job: Explained, monkeypatch: pytest.MonkeyPatch, arrives: bool
):
    with admin(make_app(job.engine)) as client:
        number = submit(client, {"kind": "explain", "job": job.id, "runs": 3, "steps": 2})
    job.record.unlink()
    chance = random.Random(1)
    broken = lose(
        job.engine, monkeypatch, lambda _: job.record.exists() and chance.random() < 0.4,
        arrives=arrives,
    )  # fmt: skip
    run_queued(
        Queued(job.engine, job.settings, lambda _: None, lambda: None), number, 1, made_ready
    )
    monkeypatch.undo()
    assert len(broken) > 8
    for each in (number, job.id):
        row = job.store.job(each)
        assert (row.state, row.error) == (JobState.DONE, None)
    assert len(job.measured) == 9
    result = job.store.result(job.id)
    assert result["explanation"]["measured"]["runs"]["done"] == 9


@pytest.mark.one_database
def test_a_job_of_the_service_waits_while_another_measures(job: Explained):
    with admin(make_app(job.engine)) as client:
        number = submit(client, {"kind": "explain", "job": job.id, "runs": 3, "steps": 2})
    lease, waited = acquire(job.engine, job.id, "somebody else"), 0

    def pause(_: float) -> None:
        nonlocal waited
        waited += 1
        release(job.engine, lease)

    run_queued(Queued(job.engine, job.settings, pause, lambda: None), number, 1, made_ready)
    assert waited
    assert job.store.job(number).state is JobState.DONE


@pytest.mark.one_database
def test_one_process_at_a_time(job: Explained):
    lease = acquire(job.engine, job.id, "somebody else")
    with pytest.raises(LeaseHeld):
        job.measure()
    assert job.measured == []
    release(job.engine, lease)
    assert job.measure()["measured"]["rounds"] == 3
