"""What is told of the machine beside every number."""

import os
from pathlib import Path

from sampler.machine import fingerprint


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
