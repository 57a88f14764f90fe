"""Archives that unpack to far more than they are: refused, in little memory."""

import gzip
import json
import tracemalloc
from dataclasses import asdict
from functools import cache
from pathlib import Path

import pytest

from jobs.archive import MOST_LINE_BYTES, read_archive
from jobs.specification.named_files import specify
from sampler.common.errors import InputError
from tests.support.db.any_trials import plain_trial

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
