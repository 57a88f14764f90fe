"""What is told of the machine beside every number."""

import os
from pathlib import Path

import pytest

from sampler.machine import machine
from sampler.machine.machine import fingerprint


def test_it_tells_what_the_system_itself_tells(tmp_path: Path):
    told = fingerprint(tmp_path)
    assert told["cores"] == len(os.sched_getaffinity(0))
    assert told["kernel"] == os.uname().release
    total = next(
        line for line in Path("/proc/meminfo").read_text().splitlines() if "MemTotal" in line
    )
    assert told["memory_bytes"] == int(total.split()[1]) * 1024


def test_the_file_system_is_that_of_the_bench_folder_even_before_it_is_made(tmp_path: Path):
    assert fingerprint(Path("/proc/nothing/here"))["file_system"] == "proc"
    made, unmade = fingerprint(tmp_path), fingerprint(tmp_path / "not" / "yet")
    assert (made["disk"], made["file_system"]) == (unmade["disk"], unmade["file_system"])


def test_a_mount_point_with_a_space_holds_its_folders(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    proc, place = tmp_path / "proc", tmp_path / "a disk"
    (proc / "self").mkdir(parents=True)
    escaped = str(place).replace(" ", "\\040")
    lines = ["/dev/sda1 / ext4 rw 0 0", f"/dev/sdb1 {escaped} xfs rw 0 0"]
    (proc / "self/mounts").write_text("".join(f"{line}\n" for line in lines))
    monkeypatch.setattr(machine, "PROC", proc)
    assert machine.file_system(place / "bench") == ("/dev/sdb1", "xfs")
    assert machine.file_system(tmp_path / "a") == ("/dev/sda1", "ext4")
