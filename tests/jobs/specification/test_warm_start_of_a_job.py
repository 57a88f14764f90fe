"""`--warm-start`: which earlier jobs a stored job takes along, and that it keeps to them."""

from pathlib import Path

import pytest
from sqlalchemy import Engine

from db.jobs.job_store import JobStore
from jobs.execution.assembly import assemble
from jobs.execution.run_job import run_job
from jobs.results.outcome import JobOutcome
from jobs.specification.named_files import specify
from jobs.specification.request import parse_warm_start
from jobs.specification.resolved_job import DOCUMENT, prior_of, require_job, resolve
from jobs.specification.specification import Specification
from sampler.bench.settings import Settings
from sampler.common.errors import InputError
from sampler.machine.machine import host_name
from tests.support.jobs.instant import Watcher, codec_job, write_workload


class Bench:
    """Runs jobs of an instant benchmark, one after the other, in one store."""

    def __init__(self, engine: Engine, folder: Path, settings: Settings) -> None:
        self.engine, self.settings, self.store = engine, settings, JobStore(engine)
        self.folder, self.workload = folder, write_workload(folder)
        self.told: list[str] = []

    def specified(self, **more: object) -> Specification:
        return codec_job(self.folder, self.workload, **{"trials": 30} | more)

    def stored(self, specification: Specification) -> int:
        return self.store.create_job(specification.document(), specification.digest())

    def run(self, specification: Specification, job_id: int) -> JobOutcome:
        return run_job(
            self.engine, job_id, specification, assemble(specification, self.settings),
            self.settings, progress=Watcher(), told=self.told.append,
        )  # fmt: skip

    def done(self, **more: object) -> tuple[int, JobOutcome]:
        specification = self.specified(**more)
        job_id = self.stored(specification)
        return job_id, self.run(specification, job_id)


@pytest.fixture
def bench(database: Engine, tmp_path: Path, settings: Settings) -> Bench:
    return Bench(database, tmp_path, settings)


@pytest.mark.one_database
@pytest.mark.slow
def test_a_job_takes_similar_ones_along_and_says_so(bench: Bench) -> None:
    first, _ = bench.done()
    job_id, finished = bench.done(strategy="guided", warm_start="auto", trials=14)
    (row,) = finished.result["warm_start"]
    assert (row["job"], row["workload"]) == (first, "instant")
    assert 0 <= row["agreement"]["waf"] <= 1
    kept = bench.store.recall(job_id, DOCUMENT)
    (taken,) = kept["jobs"]
    assert len(taken["trials"]) == row["trials"] == taken["of"] + 1
    assert bench.told == [f"warm start: {row['trials']} of {row['of']} trials of job 1 (instant)"]
    assert "warm_start" not in bench.done(strategy="guided", trials=14)[1].result


@pytest.mark.one_database
@pytest.mark.slow
def test_what_was_taken_stays_whatever_becomes_of_the_store(bench: Bench) -> None:
    first, _ = bench.done()
    specification = bench.specified(strategy="guided", warm_start="auto", trials=14)
    job_id = bench.stored(specification)
    bench.run(specification, job_id)
    before = bench.store.recall(job_id, DOCUMENT)
    bench.done()  # another that would be taken now
    assert bench.store.delete_job(first)
    bench.run(specification, job_id)
    assert bench.store.recall(job_id, DOCUMENT) == before


@pytest.mark.slow
@pytest.mark.one_database
def test_only_what_is_similar_was_measured_here_and_is_enough(bench: Bench) -> None:
    bench.done(trials=12)  # too few configurations
    long, _ = bench.done()
    problem = assemble(bench.specified(), bench.settings).problem
    here = {host_name()}

    def found(hosts: set[str] | None) -> list[int]:
        return [job.job for job in prior_of(bench.store, 99, "auto", problem, hosts).jobs]

    assert found(here) == found(None) == [long]
    assert found({"elsewhere"}) == []
    assert prior_of(bench.store, long, "auto", problem, here).jobs == ()  # not itself
    with pytest.raises(InputError, match="fewer than 10 measured configurations"):
        prior_of(bench.store, 99, 1, problem, here)
    with pytest.raises(InputError, match="there is no job 77 in this database"):
        require_job(bench.store, 77)
    load = specify(trials=30, strategy="guided")
    other = resolve(load, None).problem
    assert prior_of(bench.store, 99, "auto", other, here).jobs == ()
    with pytest.raises(InputError, match="varies none of this job's parameters"):
        prior_of(bench.store, 99, long, other, here)


@pytest.mark.parametrize(
    ("given", "meant"),
    [(None, None), ("none", None), ("auto", "auto"), ("12", 12), (12, 12)],
)
def test_it_is_read(given: str | int | None, meant: str | int | None) -> None:
    assert parse_warm_start(given) == meant


@pytest.mark.parametrize("given", ["", "0", "-1", "best", "1.5", True, 0, "9" * 30])
def test_what_is_none_is_refused(given: str | int) -> None:
    with pytest.raises(InputError, match="neither auto, none nor the number of a job"):
        parse_warm_start(given)


def test_only_a_strategy_that_learns_from_it_takes_it() -> None:
    with pytest.raises(InputError, match="genetic cannot learn from earlier jobs; use guided"):
        specify(warm_start="auto", strategy="genetic")


def test_what_is_not_asked_for_changes_no_digest() -> None:
    plain = specify(strategy="guided")
    older = {k: v for k, v in plain.document().items() if k not in ("start_from", "warm_start")}
    assert Specification(**older).digest() == plain.digest()
    digests = [
        specify(strategy="guided", **more).digest()
        for more in ({"warm_start": "auto"}, {"warm_start": 3}, {"start_from": ["none"]})
    ]
    assert len({plain.digest(), *digests}) == 4
