import gzip
import json
import shlex
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
from jobs.execution.run_job import Queued, ready_to_tune, run_job
from jobs.experiments.sides import side_of_job
from jobs.queue.lifecycle import WrongState, delete_stored, resume_stored
from jobs.specification.named_files import named_places, specify
from jobs.specification.specification import Specification
from optimizer.trials.trial import Trial
from sampler.bench.settings import Settings
from sampler.common.errors import InputError
from sampler.workload.workload_file import load_workload, workload_document
from tests.support.db.any_trials import any_trials, plain_trial
from tests.support.db.threads import at_once
from tests.support.jobs.instant import Watcher, codec_job, write_workload


@pytest.fixture
def asked(tmp_path: Path) -> Specification:
    record = tmp_path / "measured"
    record.touch()
    return codec_job(tmp_path, write_workload(tmp_path, record=record))


def kept(engine: Engine, asked: Specification, trials: list[Trial]) -> int:
    return restore_job(engine, asked.document(), asked.digest(), {"cpu": "one"}, trials)


@pytest.mark.one_database
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
        other = restore_archive(elsewhere, part).job_id
        found = JobStore(elsewhere).newest_job_with(asked.digest())
        assert found.id == other
        stands = found.standing
        assert (stands["done"], stands["total"]) == (7, 12)
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

    for _ in range(3):
        assert store.delete_job(store.jobs()[0].id)
        found = at_once(lambda path: restore_archive(database, path), [tmp_path / "a.gz"] * 6)
        assert sum(isinstance(each, InputError) for each in found) == 5
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
    document = asked.document() | {"search": {**asked.search.model_dump(), "newer": 3}}
    head = json.dumps({**HEAD, "specification": document})
    (tmp_path / "newer.gz").write_bytes(gzip.compress(head.encode()))
    with pytest.raises(InputError, match="another version"):
        read_archive(tmp_path / "newer.gz")


def test_a_restored_job_waits_to_be_resumed(database: Engine, asked: Specification):
    row = JobStore(database).job(kept(database, asked, [plain_trial(1)]))
    assert (row.state, row.why) == (
        JobState.CANCELLED, "restored with 1 trials; resume it to continue"
    )  # fmt: skip


@pytest.mark.one_database
def test_a_torn_line_is_refused(database: Engine, tmp_path: Path, asked: Specification):
    job_id = kept(database, asked, [plain_trial(1), plain_trial(2)])
    write_archive(database, job_id, tmp_path / "a.gz")
    torn = gzip.decompress((tmp_path / "a.gz").read_bytes())[:-40]
    (tmp_path / "a.gz").write_bytes(gzip.compress(torn))
    with pytest.raises(InputError, match="not a complete archive"):
        read_archive(tmp_path / "a.gz")


@pytest.mark.one_database
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


class TestNamedPrograms:
    """An archive names programs; none runs here before somebody has trusted it by its name."""

    @pytest.fixture
    def archive(self, database: Engine, tmp_path: Path, asked: Specification) -> Path:
        write_archive(database, kept(database, asked, []), tmp_path / "a.gz")
        delete_stored(database, 1)
        return tmp_path / "a.gz"

    def test_a_restored_job_does_not_run_before_its_program_is_trusted(
        self, database: Engine, archive: Path, asked: Specification, settings: Settings
    ):
        argv = asked.workload["command"]["argv"]
        restored = restore_archive(database, archive)
        job_id, program = restored.job_id, argv[0]
        assert restored.waits
        assert [each.words() for each in restored.places] == [
            f"workload.command: {shlex.join(argv)}"
        ]
        told = f"job {job_id} was restored from an archive that names {shlex.quote(program)}, "
        queued = Queued(database, settings, pause=lambda _: None, check=lambda: None)
        for refused in (
            lambda: resume_stored(database, job_id),
            lambda: ready_to_tune(queued, JobStore(database).job(job_id), lambda: None),
            lambda: side_of_job(database, job_id, "--a"),
        ):
            with pytest.raises((InputError, WrongState)) as said:
                refused()
            assert told in str(said.value)
        with pytest.raises(InputError, match="--trust-program: the archive does not name '/else'"):
            restore_archive(database, archive, trusted=["/else"])
        again = restore_archive(database, archive, trusted=[program])
        assert (again.job_id, again.new, again.waits) == (job_id, False, False)
        resume_stored(database, job_id)
        assert JobStore(database).job(job_id).state is JobState.QUEUED
        with pytest.raises(InputError, match="has the same specification"):
            restore_archive(database, archive, trusted=[program])

    def test_one_that_is_trusted_at_once_waits_for_nothing(
        self, database: Engine, archive: Path, asked: Specification
    ):
        argv = asked.workload["command"]["argv"]
        restored = restore_archive(database, archive, trusted=[argv[0]])
        assert restored.new and not restored.waits
        resume_stored(database, restored.job_id)

    def test_each_of_several_names_is_trusted_for_itself(self, database: Engine, tmp_path: Path):
        asked = specify(workload="load-quick", trials=20, db_bench="/opt/7.9/db_bench")
        flags = {"report_file": "/root/.profile"}
        asked = asked.model_copy(update={"workload": {**asked.workload, "flags": flags}})
        write_archive(database, kept(database, asked, []), tmp_path / "a.gz")
        delete_stored(database, 1)
        job_id = restore_archive(database, tmp_path / "a.gz", trusted=["/root/.profile"]).job_id
        with pytest.raises(WrongState, match=r"names /opt/7\.9/db_bench, which nobody"):
            resume_stored(database, job_id)
        assert not restore_archive(
            database, tmp_path / "a.gz", trusted=["/opt/7.9/db_bench"]
        ).waits
        resume_stored(database, job_id)


@pytest.mark.parametrize(
    ("workload", "changed", "places"),
    [
        ("load", {}, []),
        ("warlo-command", {}, []),
        (
            "warlo-command",
            {"command": {"argv": ["{python}", "-c", "1\x1b"], "timeout_seconds": 5.0}},
            ["workload.command: '{python}' -c '1'"],
        ),
        ("load", {"flags": {"env_uri": "x://y"}}, ["workload.flags.env_uri: x://y"]),
        (
            "load",
            {"benchmarks": ["replay"], "measured": ["replay"], "trace": "/t.bin"},
            ["workload.trace: /t.bin"],
        ),
        (
            "read-quick",
            {"prepare": {"flags": {"report_file": "/r"}}},
            ["workload.prepare.flags.report_file: /r"],
        ),
    ],
)
def test_all_that_a_job_would_use_by_name_is_found(
    workload: str, changed: dict[str, Any], places: list[str]
):
    document = workload_document(load_workload(workload))
    more = {n: {**document.get(n, {}), **v} if n == "prepare" else v for n, v in changed.items()}
    asked = specify(workload="load-quick", trials=20)
    asked = asked.model_copy(update={"workload": {**document, **more}})
    assert [each.words() for each in named_places(asked)] == places
