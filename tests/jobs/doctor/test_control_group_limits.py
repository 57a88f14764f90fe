"""Limits of control groups, of version 1 and 2, in made-up /proc and /sys."""

from pathlib import Path

import pytest

from sampler.machine.machine import read_cpu_state, read_memory_state
from tests.support.jobs.made_up import tree

NONE_OF_1 = "9223372036854771712\n"  # of version 1: as large as whole pages get
STAT_2 = "anon 5\nfile 60\nshmem 30\nactive_file 20\ninactive_file 10\n"
STAT_1 = "active_file 1\ninactive_file 1\ntotal_active_file 20\ntotal_inactive_file 10\n"


def machine(folder: Path, groups: str, files: dict[str, str]) -> tuple[Path, Path]:
    tree(folder / "proc", {"self/cgroup": groups})
    tree(folder / "sys" / "fs" / "cgroup", files)
    return folder / "proc", folder / "sys"


@pytest.mark.parametrize(
    ("groups", "files", "quota"),
    [
        ("0::/a/b\n", {"a/b/cpu.max": "150000 100000\n"}, 1.5),
        ("0::/a/b\n", {"a/b/cpu.max": "max 100000\n", "a/cpu.max": "50000 100000\n"}, 0.5),
        ("0::/not/shown/here\n", {"cpu.max": "300000 100000\n"}, 3.0),
        ("0::/\n", {"unified/cpu.max": "200000 100000\n"}, 2.0),
        ("2:cpu:/d\n0::/\n", {"cpu/d/cpu.cfs_quota_us": "25000\n",
                              "cpu/d/cpu.cfs_period_us": "100000\n"}, 0.25),
        ("2:cpu:/\n", {"cpu/cpu.cfs_quota_us": "-1\n", "cpu/cpu.cfs_period_us": "9\n"}, None),
        ("3:memory:/\n", {"cpu.max": "1 2\n"}, None),
        ("0::/\n", {"cpu.max": "max\n"}, None),
    ],
)  # fmt: skip
def test_processors(tmp_path: Path, groups: str, files: dict[str, str], quota: float | None):
    assert read_cpu_state(*machine(tmp_path, groups, files)).quota == quota


@pytest.mark.parametrize(
    ("groups", "files", "left"),
    [
        ("0::/a\n", {"a/memory.max": "100\n", "a/memory.current": "40\n"}, 60),
        # The page cache is dropped before memory is refused, but for what is in a tmpfs.
        ("0::/a\n", {"a/memory.max": "100\n", "a/memory.current": "95\n",
                     "a/memory.stat": STAT_2}, 35),
        # Above the limit is what is left nothing, and not less.
        ("0::/a\n", {"a/memory.max": "100\n", "a/memory.current": "140\n"}, 0),
        ("0::/a\n", {"a/memory.max": "100\n", "a/memory.high": "80\n",
                     "a/memory.current": "40\n"}, 40),
        # Of a group and its ancestors the one that leaves least.
        ("0::/a/b\n", {"a/b/memory.max": "100\n", "a/b/memory.current": "10\n",
                       "a/memory.max": "200\n", "a/memory.current": "190\n"}, 10),
        ("0::/a/b\n", {"a/b/memory.max": "max\n", "a/memory.max": "50\n",
                       "a/memory.current": "20\n"}, 30),
        ("0::/not/shown/here\n", {"memory.max": "70\n", "memory.current": "20\n"}, 50),
        ("5:memory:/d\n0::/\n", {"memory/d/memory.limit_in_bytes": "100\n",
                                 "memory/d/memory.usage_in_bytes": "95\n",
                                 "memory/d/memory.stat": STAT_1}, 35),
        ("5:memory:/\n", {"memory/memory.limit_in_bytes": NONE_OF_1,
                          "memory/memory.usage_in_bytes": "95\n"}, None),
        ("5:cpu:/\n", {"memory/memory.limit_in_bytes": "5\n"}, None),
        ("0::/\n", {"memory.max": "max\n", "memory.current": "7\n"}, None),
        ("0::/\n", {}, None),
    ],
)  # fmt: skip
def test_memory(tmp_path: Path, groups: str, files: dict[str, str], left: int | None):
    state = read_memory_state(*machine(tmp_path, groups, files))
    assert state.left_by_groups == left
    assert state.usable_bytes == left  # there is no meminfo


@pytest.mark.parametrize(("limit", "usable"), [("3072\n", 2072), ("9999999\n", 100 * 1024)])
def test_the_less_of_both_can_be_used(tmp_path: Path, limit: str, usable: int):
    files = {"memory.max": limit, "memory.current": "1000\n"}
    proc, sys = machine(tmp_path, "0::/\n", files)
    tree(proc, {"meminfo": "MemAvailable:  100 kB\n"})
    assert read_memory_state(proc, sys).usable_bytes == usable
