"""A db_bench that does what none should: the trial says so, ends in time, and leaves nothing."""

import signal
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from sampler.bench.db_bench import DbBench
from sampler.bench.installed import find_db_bench, probe
from sampler.bench.outcome import EndedProcess, Outcome, TrialState
from sampler.bench.process import Limits
from sampler.bench.runner import LocalRunner
from sampler.bench.settings import Settings
from sampler.space.space import Configuration
from tests.support.sampler.bench_processes import bench_children
from tests.support.sampler.real_runs import tiny_plan
from tests.support.sampler.watching import gone

pytestmark = pytest.mark.db_bench
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

    def harvest(
        self, configuration: Configuration, folder: Path, ended: EndedProcess, began: float
    ) -> Outcome:
        self.printed.append(sum((folder / name).stat().st_size for name in ("stdout", "stderr")))
        return super().harvest(configuration, folder, ended, began)


@pytest.fixture(autouse=True)
def nothing_is_left(settings: Settings, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setenv("ROCKTUNE_BENCH_DIR", str(settings.bench_dir))  # marks what is started
    yield
    assert not list(settings.bench_dir.glob("trial-*"))
    assert all(gone(child.pid) for child in bench_children({"here": settings.bench_dir}))


def misbehaving(misbehave: str, folder: Path) -> Weighed:
    program = folder / "db_bench"
    program.write_text(WRAPPER.format(misbehave=misbehave))
    program.chmod(0o755)
    installed = probe(find_db_bench(str(program)))
    return Weighed(installed, tiny_plan(installed, timeout_seconds=LIMIT_SECONDS))


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
