"""What an archive carries beside trials; archives that unpack to far more than they are."""

import gzip
import json
import tracemalloc
from collections.abc import Iterator
from dataclasses import asdict
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import Engine

from db.connection.engine import make_engine
from db.connection.migrate import upgrade_tables
from db.jobs.job_store import JobStore, restore_job
from db.leases import acquire, release, this_process_name
from db.trials.trial_log import StoredTrialLog
from jobs.archive import MOST_LINE_BYTES, read_archive, restore_archive, write_archive
from jobs.execution.assembly import assemble
from jobs.execution.run_job import run_job
from jobs.results.outcome import JobOutcome
from jobs.specification.named_files import specify
from jobs.specification.specification import Specification
from sampler.bench.settings import Settings
from sampler.common.errors import InputError
from tests.support.db.any_trials import plain_trial
from tests.support.jobs.instant import Watcher, codec_job, write_workload

DECIDED: dict[str, dict[str, Any]] = {
    "prior": {
        "jobs": [
            {"job": 3, "workload": "load", "of": 40,
             "trials": [{"point": {"level": 0.25}, "ratios": {"waf": -0.5}}]},
        ]
    },
    "hosts_set_aside": {"hosts": {"odd": "its baseline's time jumped by +100% and stayed there"}},
    "declared_test": {"winner": 7, "pairs": 3, "alpha": 0.025},
    "withdrawn": {"trials": [{"number": 5, "why": "odd was set aside", "metrics": {"waf": 2.5}}]},
}  # fmt: skip


@pytest.fixture
def asked(tmp_path: Path) -> Specification:
    return specified(tmp_path)


@pytest.fixture
def elsewhere(tmp_path: Path) -> Iterator[Engine]:
    """Another database, of which nobody of the first knows."""
    engine = make_engine(str(tmp_path / "other.db"))
    upgrade_tables(engine)
    yield engine
    engine.dispose()


def specified(folder: Path, **more: object) -> Specification:
    return codec_job(folder, write_workload(folder), **more)


def remembering(engine: Engine, job_id: int, documents: dict[str, dict[str, Any]]) -> None:
    lease = acquire(engine, job_id, this_process_name())
    log = StoredTrialLog(engine, lease)
    for name, body in documents.items():
        log.remember(name, body)
    release(engine, lease)


def head_of(path: Path) -> dict[str, Any]:
    head: dict[str, Any] = json.loads(gzip.decompress(path.read_bytes()).splitlines()[0])
    return head


def test_what_a_job_remembers_comes_back_with_it(
    database: Engine, elsewhere: Engine, tmp_path: Path, asked: Specification
):
    trials = [plain_trial(1), plain_trial(2)]
    job_id = restore_job(database, asked.document(), asked.digest(), None, trials)
    made_of_trials = {"ranking": {"parameters": []}, "report": {"html": "", "version": 0}}
    remembering(database, job_id, {**DECIDED, **made_of_trials})
    write_archive(database, job_id, tmp_path / "a.gz")
    other = restore_archive(elsewhere, tmp_path / "a.gz").job_id
    store = JobStore(elsewhere)
    assert {name: store.recall(other, name) for name in DECIDED} == DECIDED
    assert [store.recall(other, name) for name in made_of_trials] == [None, None]
    assert store.trials(other) == trials
    write_archive(elsewhere, other, tmp_path / "b.gz")
    assert (tmp_path / "a.gz").read_bytes() == (tmp_path / "b.gz").read_bytes()


def test_an_archive_of_a_job_that_remembers_nothing_is_what_it_always_was(
    database: Engine, elsewhere: Engine, tmp_path: Path, asked: Specification
):
    job_id = restore_job(database, asked.document(), asked.digest(), None, [plain_trial(1)])
    write_archive(database, job_id, tmp_path / "a.gz")
    assert set(head_of(tmp_path / "a.gz")) == {"rocktune_archive", "specification", "environment"}
    assert read_archive(tmp_path / "a.gz").documents == {}
    other = restore_archive(elsewhere, tmp_path / "a.gz").job_id
    assert JobStore(elsewhere).recall(other, "prior") is None


@pytest.mark.slow
@pytest.mark.one_database
def test_a_job_that_began_with_another_one_keeps_to_it_where_that_one_is_not(
    database: Engine, elsewhere: Engine, tmp_path: Path, settings: Settings
):
    def ran(engine: Engine, job_id: int, specification: Specification) -> JobOutcome:
        assembly = assemble(specification, settings)
        return run_job(engine, job_id, specification, assembly, settings, progress=Watcher())

    def stored(specification: Specification) -> int:
        return JobStore(database).create_job(specification.document(), specification.digest())

    earlier = specified(tmp_path, strategy="random", trials=30)
    ran(database, stored(earlier), earlier)
    warm = specified(tmp_path, strategy="guided", trials=14, warm_start="auto")
    job_id = stored(warm)
    whole = ran(database, job_id, warm)
    assert [row["trials"] > 10 for row in whole.result["warm_start"]] == [True]
    write_archive(database, job_id, tmp_path / "a.gz")

    other = restore_archive(elsewhere, tmp_path / "a.gz").job_id
    again = ran(elsewhere, other, warm)
    assert [trial.number for trial in again.trials] == list(range(1, 15)), "nothing was measured"
    told = ("warm_start", "best", "verdict")
    assert {name: again.result.get(name) for name in told} == {
        name: whole.result.get(name) for name in told
    }
    recalled = [
        JobStore(e).recall(n, "prior") for e, n in ((database, job_id), (elsewhere, other))
    ]
    assert recalled[0] == recalled[1] is not None


@pytest.mark.parametrize(
    ("documents", "why"),
    [
        ([], "its documents are not an object"),
        ({"newer": {}}, "its document 'newer' is unknown; another version wrote it"),
        ({"withdrawn": []}, "its document 'withdrawn' has no valid 'trials'"),
        ({"hosts_set_aside": {}}, "its document 'hosts_set_aside' has no valid 'hosts'"),
        ({"declared_test": {"winner": "7"}}, "its document 'declared_test' has no valid"),
        ({"prior": {"jobs": [{"job": 3}]}}, r"archive: prior\.jobs\[1\]\.workload: is missing; "),
        ({"prior": {"jobs": [3]}}, r"not a complete archive: prior\.jobs\[1\]: "),
        ({"withdrawn": {"trials": [float("nan")]}}, r"withdrawn\.trials\[0\] is nan"),
    ],
)
def test_documents_that_a_job_could_not_go_on_with_are_refused(
    tmp_path: Path, asked: Specification, documents: object, why: str
):
    specification = json.loads(json.dumps(asked.document()))
    head = {"rocktune_archive": 1, "environment": None, "specification": specification}
    text = json.dumps({**head, "documents": documents})
    (tmp_path / "odd.gz").write_bytes(gzip.compress(text.encode()))
    with pytest.raises(InputError, match=why):
        read_archive(tmp_path / "odd.gz")


MEBI = 2**20
MEMORY = 4 * MOST_LINE_BYTES


def line(document: object) -> bytes:
    return json.dumps(document).encode() + b"\n"


@cache
def head() -> bytes:
    """The first line of an archive."""
    document = specify(workload="load").document()
    return line({"rocktune_archive": 1, "environment": None, "specification": document})


def trial_line(number: int, why: str = "") -> bytes:
    return line(
        asdict(plain_trial(number)) | {"started_at": None, "finished_at": None, "why": why}
    )


def refused(path: Path, why: str) -> int:
    """The most memory in bytes that it took to refuse an archive, in one line of words."""
    tracemalloc.start()
    try:
        with pytest.raises(InputError, match=why) as caught:
            read_archive(path)
        most = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    told = str(caught.value)
    assert caught.value.field == "FILE" and "\n" not in told and len(told) < 500
    return most


@pytest.mark.parametrize("within", [False, True], ids=["as its head", "as a trial"])
@pytest.mark.parametrize("mebibytes", [32, 512])
def test_a_line_without_end_is_not_read_to_it(tmp_path: Path, within: bool, mebibytes: int):
    # What gzip packs may be in pieces, one after the other: 512 MiB of zeros are 0.5 MiB.
    path = tmp_path / "bomb.gz"
    first = gzip.compress(head() if within else b"")
    path.write_bytes(first + gzip.compress(b"0" * MEBI) * mebibytes)
    assert path.stat().st_size < MEBI
    assert refused(path, r"bomb\.gz' has a line of more than 16,777,216 bytes") < MEMORY


def test_the_same_line_again_and_again_ends_the_reading(tmp_path: Path):
    path = tmp_path / "bomb.gz"
    path.write_bytes(gzip.compress(head()) + gzip.compress(trial_line(1) * 1000) * 500)
    assert path.stat().st_size < 2 * MEBI
    assert refused(path, r"bomb\.gz' .* complete archive: two trials have the same") < 8 * MEBI


@pytest.mark.slow
def test_lines_that_pack_too_well_end_the_reading(tmp_path: Path):
    """Each is a trial, and shorter than a line may be."""
    path = tmp_path / "bomb.gz"
    memory = []
    for lines in (100, 200):
        many = (trial_line(1 + number, "0" * MEBI) for number in range(lines))
        path.write_bytes(b"".join(gzip.compress(each, 1) for each in (head(), *many)))
        memory.append(refused(path, r"bomb\.gz' unpacks to more than 200 times its size"))
    assert abs(memory[1] - memory[0]) < 16 * MEBI
    assert max(memory) < 3 * 64 * MEBI


def test_more_trials_than_any_job_has_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("jobs.archive.MOST_KEPT", 3)
    path = tmp_path / "many.gz"
    for count in (3, 4):
        lines = (head(), *map(trial_line, range(1, count + 1)))
        path.write_bytes(gzip.compress(b"".join(lines)))
        if count == 3:
            assert len(read_archive(path).trials) == 3
    refused(path, "it holds more than 3 trials")
