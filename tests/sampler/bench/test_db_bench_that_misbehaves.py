"""A db_bench that does what none should, or is replaced, on a host with too little disk or memory.

The trial says so, ends in time, and leaves nothing.
"""

import os
import secrets
import signal
import time
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from sampler.bench.db_bench import DbBench
from sampler.bench.installed import find_db_bench, probe, require_same_version
from sampler.bench.outcome import EndedProcess, Outcome, TrialState
from sampler.bench.process import Limits
from sampler.bench.runner import LocalRunner
from sampler.bench.settings import Settings
from sampler.common.errors import InputError
from sampler.space.space import Configuration
from tests.support.sampler.bench_processes import bench_children
from tests.support.sampler.real_runs import tiny_plan
from tests.support.sampler.small_disk import SmallDisk, made_or_skipped, small_disk
from tests.support.sampler.watching import gone

pytestmark = pytest.mark.db_bench
REAL = '#!/bin/sh\nexec db_bench "$@"\n'
# As it should while it is tried, and otherwise when it is to measure.
WRAPPER = """#!/bin/sh
case "$*" in *--num=2000*) ;; *) exec db_bench "$@" ;; esac
{misbehave}
"""
FAILED, TIMED_OUT = TrialState.FAILED, TrialState.TIMED_OUT
NO_LINE = "db_bench printed no"
LIMIT_SECONDS, GENEROUS_SECONDS = 2, 60
KINDS = {
    "hangs": ("exec tail -f /dev/null", TIMED_OUT, "timed out after "),
    "hangs with what it has started": ("tail -f /dev/null & wait", TIMED_OUT, "timed out after "),
    "closes its output and hangs": ("exec sleep 999 >&- 2>&-", TIMED_OUT, "timed"),
    "is stopped": ("kill -STOP $$", TIMED_OUT, "timed out after "),
    "is stopped, not its child": ("sleep 999 & kill -STOP $$", TIMED_OUT, "timed out after "),
    "is stopped with what it started": (
        "setsid sh -c 'kill -STOP $$' & kill -STOP $$", TIMED_OUT, "timed out after "
    ),
    "prints a gigabyte": ("exec cat /dev/zero", FAILED, "printed too much"),
    "complains for a gigabyte": ("exec cat /dev/zero >&2", FAILED, "printed too much"),
    "prints nonsense": ("head -c 200000 /dev/urandom", FAILED, NO_LINE),
    "prints NUL": ("head -c 200000 /dev/zero", FAILED, NO_LINE),
    "prints broken UTF-8": (r"printf 'fillrandom \377\376 \355\240\200\n'", FAILED, NO_LINE),
    "says nothing": ("exit 0", FAILED, NO_LINE),
    "fails without a word": ("exit 3", FAILED, "exit status 3, no error message"),
    "complains in broken UTF-8": (r"printf '\377 is wrong\n' >&2; exit 1", FAILED, "is wrong"),
    "is cut off in the middle": ('db_bench "$@" | head -c 700', FAILED, NO_LINE),
}  # fmt: skip
# Some of the last are Linux's own, and not of every machine.
DEADLY = ["HUP", "INT", "QUIT", "ILL", "TRAP", "ABRT", "BUS", "FPE", "KILL", "USR1", "SEGV",
          "USR2", "PIPE", "ALRM", "TERM", "XCPU", "XFSZ", "SYS",
          *(name for name in ("STKFLT", "VTALRM", "PROF", "IO", "PWR")
            if hasattr(signal, f"SIG{name}"))]  # fmt: skip
# Between two looks, a quarter of a second, it may print as fast as the machine can.
MOST_PRINTED_BYTES = 2 * 2**30


@dataclass(frozen=True)
class Weighed(DbBench):
    """The real benchmark, which also weighs what the run has printed."""

    printed: list[int] = field(default_factory=list)

    def harvest(self, configuration: Configuration, folder: Path, ended: EndedProcess) -> Outcome:
        self.printed.append(sum((folder / name).stat().st_size for name in ("stdout", "stderr")))
        return super().harvest(configuration, folder, ended)


@pytest.fixture
def bench_dir(settings: Settings) -> Path:
    """Where trials are; a test may have them elsewhere."""
    return settings.bench_dir


@pytest.fixture(autouse=True)
def nothing_is_left(bench_dir: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setenv("ROCKTUNE_BENCH_DIR", str(bench_dir))  # marks what is started
    yield
    assert not list(bench_dir.glob("trial-*"))
    assert all(gone(child.pid) for child in bench_children({"here": bench_dir}))


def program_of(folder: Path, script: str) -> Path:
    folder.mkdir(exist_ok=True)
    program = folder / "db_bench"
    program.write_text(script)
    program.chmod(0o755)
    return program


def wrapped(folder: Path, script: str, **load: object) -> Weighed:
    installed = probe(find_db_bench(str(program_of(folder, script))))
    return Weighed(installed, tiny_plan(installed, **load))


def misbehaving(misbehave: str, folder: Path) -> Weighed:
    script = WRAPPER.format(misbehave=misbehave)
    return wrapped(folder, script, timeout_seconds=LIMIT_SECONDS)


@pytest.mark.parametrize("kind", KINDS)
def test_its_first_line_says_why(kind: str, tmp_path: Path, settings: Settings):
    misbehave, state, words = KINDS[kind]
    bench = misbehaving(misbehave, tmp_path)
    began = time.monotonic()
    outcome = LocalRunner(bench, settings).run({})
    took = time.monotonic() - began
    assert (outcome.state, outcome.metrics) == (state, {}), outcome.failure
    assert outcome.failure and words in outcome.failure.splitlines()[0]
    first, *others = outcome.failure.splitlines()
    assert all(line.isprintable() for line in (first, *others)) and len(others) < 10
    assert took < LIMIT_SECONDS + GENEROUS_SECONDS
    (printed,) = bench.printed
    assert printed < MOST_PRINTED_BYTES
    assert (printed > Limits(timeout_seconds=1).output_bytes) is ("gigabyte" in kind)


@pytest.mark.parametrize("name", DEADLY)
def test_a_signal_that_kills_it_is_named(name: str, tmp_path: Path, settings: Settings):
    number = int(signal.Signals[f"SIG{name}"])  # not every shell knows all names
    # What is ignored where the tests were begun (nohup) is ignored by whatever they begin.
    dies = f"ulimit -c 0; exec env --default-signal sh -c 'kill -{number} $$; exec sleep 5'"
    outcome = LocalRunner(misbehaving(dies, tmp_path), settings).run({})
    assert (outcome.state, outcome.failure) == (FAILED, f"killed by SIG{name}")


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


def in_memory_of(limit: str, folder: Path, settings: Settings) -> Outcome:
    misbehave = f'{limit}\nexec db_bench "$@"'
    bench = wrapped(folder, WRAPPER.format(misbehave=misbehave), **LOAD)
    return LocalRunner(bench, settings).run(LARGE)


def test_without_a_limit_the_same_load_is_in_memory_of(tmp_path: Path, settings: Settings):
    assert in_memory_of("true", tmp_path, settings).state is TrialState.DONE


def test_refused_memory_it_fails_in_its_own_words(tmp_path: Path, settings: Settings):
    # Address space, in KiB: enough to begin with, where not every thread reserves its own.
    limit = "ulimit -c 0; export MALLOC_ARENA_MAX=1; ulimit -v 650000"
    outcome = in_memory_of(limit, tmp_path, settings)
    assert (outcome.state, outcome.metrics) == (TrialState.FAILED, {})
    assert outcome.effective is not None, "it had opened its database"
    first, *_ = outcome.failure.splitlines()
    assert first.startswith("killed by SIGABRT: ") and "std::bad_alloc" in outcome.failure


def test_killed_by_the_kernel_for_want_of_memory_it_is_told(
    group: MemoryGroup, tmp_path: Path, settings: Settings
):
    group.limit(100 * 2**20)
    outcome = in_memory_of(f"echo $$ > {group.folder}/cgroup.procs", tmp_path, settings)
    assert group.killed() == 1
    assert outcome.effective is not None, "it had opened its database"
    assert (outcome.state, outcome.metrics) == (TrialState.FAILED, {})
    assert outcome.failure is not None and outcome.failure.startswith("killed by SIGKILL")


class TestFullDisk:
    """The disk is full: the trial says which."""

    @pytest.fixture
    def disk(self, tmp_path: Path) -> Iterator[SmallDisk]:
        # A trial is not begun with less than 256 MiB and four times its load.
        yield from made_or_skipped(small_disk(tmp_path / "disk", 272 * 2**20))

    @pytest.fixture
    def bench_dir(self, disk: SmallDisk) -> Path:
        return disk.folder / "bench"

    @pytest.mark.parametrize("left", [0, 2**20], ids=["as it opens", "while it loads"])
    def test_its_trial_names_the_disk(
        self, left: int, disk: SmallDisk, bench_dir: Path, tmp_path: Path, settings: Settings
    ):
        there = settings.model_copy(update={"bench_dir": bench_dir})
        assert there.free_bytes == 0, "db_bench itself finds it full"
        filler = disk.folder / "filler"  # taken just before it measures, but for what is left
        takes = f"cat /dev/zero > '{filler}' 2> /dev/null; truncate -s -{left} '{filler}'"
        full = WRAPPER.format(misbehave=f'{takes}\nexec db_bench "$@"')
        outcome = LocalRunner(wrapped(tmp_path, full), there).run({})
        assert (outcome.state, outcome.metrics) == (FAILED, {})
        assert outcome.failure == "stopped: the disk of the bench folder was nearly full"
        assert outcome.by_host, "and is no fault of the configuration"
        disk.free()
        again = LocalRunner(wrapped(tmp_path, REAL), there).run({})
        assert again.state is TrialState.DONE, again.failure


# As where the library under a program is replaced: the file stays, what it says does not.
OTHER_LIBRARY = """#!/bin/sh
[ -e "{mark}" ] || exec db_bench "$@"
{{ db_bench "$@" 2>&1 >&3 | sed 's/version [0-9]*/version 99/' >&2; }} 3>&1
"""


class TestReplacedProgram:
    """A db_bench that is upgraded while it measures: its runs are not mixed with the first's."""

    def test_another_file_is_refused_before_it_runs(self, tmp_path: Path, settings: Settings):
        runner = LocalRunner(wrapped(tmp_path, REAL), settings)
        assert runner.run({}).state is TrialState.DONE
        program = program_of(tmp_path, f"{REAL}# of today\n")
        with pytest.raises(InputError, match="db_bench was replaced during the job") as refused:
            runner.run({})
        assert refused.value.field == "db_bench" and "`warm_start`" in refused.value.problem
        # The same content is the same program, whatever its inode and times.
        fresh = program_of(tmp_path / "fresh", REAL)
        os.utime(fresh, (1, 1))
        fresh.replace(program)
        assert runner.run({}).state is TrialState.DONE
        program.unlink()
        with pytest.raises(InputError, match=r"cannot read .*db_bench: No such file"):
            runner.run({})

    def test_another_library_under_the_same_file_is_refused(
        self, tmp_path: Path, settings: Settings
    ):
        mark = tmp_path / "upgraded"
        runner = LocalRunner(wrapped(tmp_path, OTHER_LIBRARY.format(mark=mark)), settings)
        mark.touch()
        with pytest.raises(InputError, match=r"was RocksDB [0-9.]+ and is now RocksDB 99\."):
            runner.run({})
        assert not list(settings.bench_dir.glob("trial-*")), "nothing of the run is left"
        mark.unlink()
        assert runner.run({}).state is TrialState.DONE

    def test_what_says_no_version_is_not_doubted(self, tmp_path: Path):
        require_same_version(tmp_path, "7.8.3", None)
