import gzip
import json
import threading
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from sqlalchemy import Engine

from db.connection.engine import make_engine
from db.connection.migrate import upgrade_tables
from db.jobs.job_store import JobStore, restore_job
from db.schema.job_row import JobState
from jobs.archive import read_archive, restore_archive, write_archive
from jobs.execution.assembly import assemble
from jobs.execution.run_job import run_job
from jobs.specification.named_files import specify
from jobs.specification.specification import Specification
from optimizer.trials.trial import Trial
from sampler.common.errors import InputError
from sampler.runner.settings import Settings
from tests.support.db.any_trials import any_trials, plain_trial
from tests.support.jobs.instant import Watcher, write_space, write_workload


@pytest.fixture
def asked(tmp_path: Path) -> Specification:
    record = tmp_path / "measured"
    record.touch()
    return specify(
        workload=str(write_workload(tmp_path, record=record)),
        space=str(write_space(tmp_path)),
        objective="waf",
        strategy="random",
        trials=12,
    )


def kept(engine: Engine, asked: Specification, trials: list[Trial]) -> int:
    return restore_job(engine, asked.document(), asked.digest(), {"cpu": "one"}, trials)


@pytest.mark.slow
@given(any_trials)
@settings(
    deadline=None, max_examples=30, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
def test_any_trial_comes_back_but_for_counters_of_zero(
    database: Engine, tmp_path: Path, asked: Specification, given: list[Trial]
):
    job_id = kept(database, asked, given)
    assert write_archive(database, job_id, tmp_path / "a.gz") == len(given)
    archive = read_archive(tmp_path / "a.gz")
    assert archive.specification.document() == asked.document()
    assert archive.environment == {"cpu": "one"}
    stored = JobStore(database).trials(job_id)
    assert list(archive.trials) == [
        replace(each, counters={name: n for name, n in each.counters.items() if n})
        for each in stored
    ]


def test_the_same_trials_give_the_same_file(
    database: Engine, tmp_path: Path, asked: Specification
):
    job_id = kept(database, asked, [plain_trial(1), plain_trial(2)])
    for name in ("a.gz", "b.gz"):
        write_archive(database, job_id, tmp_path / name)
    assert (tmp_path / "a.gz").read_bytes() == (tmp_path / "b.gz").read_bytes()
    assert {path.name for path in tmp_path.glob("*.gz*")} == {"a.gz", "b.gz"}


def test_a_restored_job_goes_on_where_it_stopped(
    database: Engine, tmp_path: Path, asked: Specification, settings: Settings
):
    job_id = JobStore(database).create_job(asked.document(), asked.digest())
    whole = run_job(
        database, job_id, asked, assemble(asked, settings), settings, progress=Watcher()
    )
    write_archive(database, job_id, tmp_path / "whole.gz")
    part = tmp_path / "part.gz"
    with gzip.open(tmp_path / "whole.gz", "rt") as file:
        part.write_bytes(gzip.compress("".join(file.readlines()[:8]).encode()))
    elsewhere = make_engine(str(tmp_path / "other.db"))
    try:
        upgrade_tables(elsewhere)
        other = restore_archive(elsewhere, part)
        found = JobStore(elsewhere).newest_job_with(asked.digest())
        assert found is not None and found.id == other
        stands = found.standing
        assert stands is not None and (stands["done"], stands["total"]) == (7, 12)
        again = run_job(
            elsewhere, other, asked, assemble(asked, settings), settings, progress=Watcher()
        )
    finally:
        elsewhere.dispose()
    assert list(again.trials[:7]) == list(whole.trials[:7])
    proposals = [[(t.number, t.digest, t.seed) for t in each.trials] for each in (again, whole)]
    assert proposals[0] == proposals[1]


def test_the_same_job_is_not_restored_twice(
    database: Engine, tmp_path: Path, asked: Specification
):
    job_id = kept(database, asked, [plain_trial(1)])
    write_archive(database, job_id, tmp_path / "a.gz")
    with pytest.raises(
        InputError, match=f"job {job_id} in this database has the same specification"
    ):
        restore_archive(database, tmp_path / "a.gz")


def test_of_many_that_restore_it_at_once_one_does(
    database: Engine, tmp_path: Path, asked: Specification
):
    store = JobStore(database)
    job_id = kept(database, asked, [plain_trial(1)])
    write_archive(database, job_id, tmp_path / "a.gz")

    def at_once(ready: threading.Barrier) -> bool:
        ready.wait()
        try:
            return bool(restore_archive(database, tmp_path / "a.gz"))
        except InputError:
            return False

    for _ in range(5):
        assert store.delete_job(store.jobs()[0].id)
        with ThreadPoolExecutor(6) as threads:
            assert sum(threads.map(at_once, [threading.Barrier(6)] * 6)) == 1
        assert len(store.jobs()) == 1


def test_two_trials_of_one_number_are_refused_and_nothing_is_kept(
    database: Engine, asked: Specification
):
    with pytest.raises(ValueError, match="two trials share a number"):
        kept(database, asked, [plain_trial(1), plain_trial(1)])
    assert JobStore(database).newest_job_with(asked.digest()) is None


@pytest.mark.parametrize(
    "content",
    [
        b"plain",
        b"",
        gzip.compress(b""),
        gzip.compress(b"[1]\n"),
        gzip.compress(b'{"rocktune_archive": 99}\n'),
        gzip.compress(b'{"rocktune_archive": 1}\n'),
        gzip.compress(b"not json\n"),
        gzip.compress(b"\xff\xfe\n"),
        gzip.compress(b'{"rocktune_archive": 1, "specification": {}}\n')[:-12],
    ],
    ids=["plain", "empty", "nothing", "a list", "newer", "no job", "no JSON", "no text", "torn"],
)
def test_what_is_no_archive_is_refused_by_name(tmp_path: Path, content: bytes):
    path = tmp_path / "odd.gz"
    path.write_bytes(content)
    with pytest.raises(InputError, match=r"odd\.gz"):
        read_archive(path)


HEAD = {"rocktune_archive": 1, "environment": None}


@pytest.mark.parametrize(
    ("change", "lines", "why"),
    [
        ({"rocktune_archive": 2}, [], "not an archive of schema 1"),
        ({"environment": ...}, [], "not a complete archive: 'environment'"),
        ({"environment": [1]}, [], "environment is not an object"),
        ({}, [{}, {}], "two trials have the same number"),
        ({}, [{"started_at": "2026-01-01T00:00:00"}], "no time zone"),
        ({}, [{"seed": None, "newer": 1}], "unexpected keyword argument 'newer'"),
        ({}, [{"metrics": []}], "not a complete archive"),
        ({}, [{"started_at": 0}], "not a complete archive"),
        ({}, [{"configuration": {"size": float("nan")}}], "configuration"),
    ],
)
def test_what_no_database_would_take_is_refused(
    tmp_path: Path, asked: Specification, change: dict[str, Any], lines: list[Any], why: str
):
    document = json.loads(json.dumps(asked.document()))
    head = {**HEAD, "specification": document, **change}
    head = {name: value for name, value in head.items() if value is not ...}
    good = asdict(plain_trial(1)) | {"started_at": None, "finished_at": None}
    text = "\n".join(json.dumps(each) for each in [head, *({**good, **line} for line in lines)])
    (tmp_path / "odd.gz").write_bytes(gzip.compress(text.encode()))
    with pytest.raises(InputError, match=why):
        read_archive(tmp_path / "odd.gz")


def test_a_setting_that_this_version_does_not_know_is_refused(
    tmp_path: Path, asked: Specification
):
    document = asked.document() | {"search": {**asked.search, "newer": 3}}
    head = json.dumps({**HEAD, "specification": document})
    (tmp_path / "newer.gz").write_bytes(gzip.compress(head.encode()))
    with pytest.raises(InputError, match="another version"):
        read_archive(tmp_path / "newer.gz")


def test_a_restored_job_waits_to_be_resumed(database: Engine, asked: Specification):
    row = JobStore(database).job(kept(database, asked, [plain_trial(1)]))
    assert (row.state, row.why) == (
        JobState.CANCELLED, "restored with 1 trials; resume it to continue"
    )  # fmt: skip


def test_a_torn_line_is_refused(database: Engine, tmp_path: Path, asked: Specification):
    job_id = kept(database, asked, [plain_trial(1), plain_trial(2)])
    write_archive(database, job_id, tmp_path / "a.gz")
    torn = gzip.decompress((tmp_path / "a.gz").read_bytes())[:-40]
    (tmp_path / "a.gz").write_bytes(gzip.compress(torn))
    with pytest.raises(InputError, match="not a complete archive"):
        read_archive(tmp_path / "a.gz")


def test_what_cannot_be_written_is_refused(database: Engine, tmp_path: Path, asked: Specification):
    job_id = kept(database, asked, [])
    (tmp_path / "file").touch()
    for place in ("nowhere/a.gz", "file/a.gz", "x" * 300):
        with pytest.raises(InputError, match="cannot write"):
            write_archive(database, job_id, tmp_path / place)
    with pytest.raises(InputError, match="is not a file"):
        write_archive(database, job_id, tmp_path)
    with pytest.raises(KeyError, match="there is no job 99"):
        write_archive(database, 99, tmp_path / "a.gz")
