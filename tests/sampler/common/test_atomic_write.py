"""Files that hold a user's data are their owner's alone, whatever the umask."""

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from sampler.common.atomic_write import (
    FOR_ALL,
    atomic_write,
    make_private_folder,
    private_writer,
    write_output,
    write_private,
)
from tests.support.sampler.watching import open_to_others


@pytest.fixture(params=[0o000, 0o022])
def folder(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Path]:
    before = os.umask(request.param)
    make_private_folder(tmp_path / "made")
    yield tmp_path / "made"
    os.umask(before)


def mode_of(path: Path) -> int:
    return path.stat().st_mode & 0o777


def test_what_is_made_is_for_its_owner_alone(folder: Path):
    atomic_write(folder / "atomic", b"1")
    write_output(folder / "output", b"2")
    write_private(folder / "text", "3")
    with private_writer(folder / "written") as file:
        file.write(b"4")
    make_private_folder(folder / "inner", exist_ok=True)
    assert [path.name for path in sorted(folder.iterdir())] == [
        "atomic", "inner", "output", "text", "written",
    ]  # fmt: skip
    assert [path.read_bytes() for path in sorted(folder.iterdir()) if path.is_file()] == [
        b"1", b"2", b"3", b"4",
    ]  # fmt: skip
    assert open_to_others(folder) == []


def test_a_file_that_is_replaced_keeps_its_mode(folder: Path):
    for mode in (0o640, 0o600, 0o444):
        shared = folder / f"{mode:o}"
        shared.write_bytes(b"old")
        shared.chmod(mode)
        write_output(shared, b"new")
        assert (shared.read_bytes(), mode_of(shared)) == (b"new", mode)


def test_what_says_nothing_of_anybody_s_data_is_for_all(folder: Path):
    write_output(folder / "address", b"tcp://1.2.3.4:8786", mode=FOR_ALL)
    assert mode_of(folder / "address") == 0o644


def test_what_cannot_be_written_leaves_nothing(folder: Path):
    (folder / "there").mkdir()
    with pytest.raises(OSError, match="Is a directory"):
        atomic_write(folder / "there", b"1")
    assert [path.name for path in folder.iterdir()] == ["there"]
