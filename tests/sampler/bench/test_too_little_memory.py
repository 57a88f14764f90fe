"""The real db_bench in less memory than its load asks for: it opens, and fails while it loads."""

import os
import secrets
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import pytest

from sampler.bench.db_bench import DbBench
from sampler.bench.installed import find_db_bench, probe
from sampler.bench.outcome import Outcome, TrialState
from sampler.bench.runner import LocalRunner
from sampler.bench.settings import Settings
from tests.support.sampler.real_runs import tiny_plan

pytestmark = pytest.mark.db_bench
LIMITED = """#!/bin/sh
case "$*" in *--num=2000*) {limit} ;; esac
exec db_bench "$@"
"""
# 1 GB in one memtable: write_buffer_size is of full scale, 64 times what is measured.
LOAD = {"value_size": 500_000}
LARGE = {"write_buffer_size": 64 * 2**31, "compression_type": "none"}
CGROUPS = Path("/sys/fs/cgroup")


@dataclass(frozen=True)
class MemoryGroup:
    """A control group whose processes together may have so much memory; of version 2 or 1."""

    folder: Path

    def limit(self, size_bytes: int) -> None:
        names = ("memory.max", "memory.limit_in_bytes")
        (name,) = (name for name in names if (self.folder / name).exists())
        (self.folder / name).write_text(str(size_bytes))
        for swap in ("memory.swap.max", "memory.swappiness"):
            if (self.folder / swap).exists():
                (self.folder / swap).write_text("0")

    def killed(self) -> int:
        """How many processes the kernel has killed in it for want of memory."""
        names = ("memory.events", "memory.oom_control")
        (text,) = ((self.folder / n).read_text() for n in names if (self.folder / n).exists())
        return next(int(line.split()[1]) for line in text.splitlines() if "oom_kill " in line)


@pytest.fixture
def group() -> Iterator[MemoryGroup]:
    unified = (CGROUPS / "cgroup.controllers").exists()
    root = CGROUPS if unified else CGROUPS / "memory"
    folder = root / f"rocktune-test-{os.getpid()}-{secrets.token_hex(4)}"
    made = MemoryGroup(folder)
    try:
        folder.mkdir()
        made.limit(2**30)
    except (OSError, ValueError) as error:
        with suppress(OSError):
            folder.rmdir()
        pytest.skip(f"no control group of its own can be made here: {error}")
    yield made
    folder.rmdir()


def measured(limit: str, folder: Path, settings: Settings) -> Outcome:
    program = folder / "db_bench"
    program.write_text(LIMITED.format(limit=limit))
    program.chmod(0o755)
    installed = probe(find_db_bench(str(program)))
    return LocalRunner(DbBench(installed, tiny_plan(installed, **LOAD)), settings).run(LARGE)


def test_without_a_limit_the_same_load_is_measured(tmp_path: Path, settings: Settings):
    assert measured("true", tmp_path, settings).state is TrialState.DONE


def test_refused_memory_it_fails_in_its_own_words(tmp_path: Path, settings: Settings):
    # Address space, in KiB: enough to begin with, where not every thread reserves its own.
    limit = "ulimit -c 0; export MALLOC_ARENA_MAX=1; ulimit -v 650000"
    outcome = measured(limit, tmp_path, settings)
    assert (outcome.state, outcome.metrics) == (TrialState.FAILED, {})
    assert outcome.effective is not None, "it had opened its database"
    assert outcome.failure is not None
    first, *_ = outcome.failure.splitlines()
    assert first.startswith("killed by SIGABRT: ") and "std::bad_alloc" in outcome.failure


def test_killed_by_the_kernel_for_want_of_memory_it_is_told(
    group: MemoryGroup, tmp_path: Path, settings: Settings
):
    group.limit(100 * 2**20)
    outcome = measured(f"echo $$ > {group.folder}/cgroup.procs", tmp_path, settings)
    assert group.killed() == 1
    assert outcome.effective is not None, "it had opened its database"
    assert (outcome.state, outcome.metrics) == (TrialState.FAILED, {})
    assert outcome.failure is not None and outcome.failure.startswith("killed by SIGKILL")
