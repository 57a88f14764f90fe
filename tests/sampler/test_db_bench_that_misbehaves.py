"""A db_bench that does what none should: the trial says so, ends in time, and leaves nothing."""

from pathlib import Path

import pytest
from real_runs import tiny_plan

from sampler.db_bench import DbBench
from sampler.installed import find_db_bench, probe
from sampler.outcome import Outcome, TrialState
from sampler.runner import LocalRunner
from sampler.settings import Settings

pytestmark = pytest.mark.db_bench
# As it should while it is tried, and otherwise when it is to measure.
WRAPPER = """#!/bin/sh
case "$*" in *--num=2000*) ;; *) exec db_bench "$@" ;; esac
{misbehave}
"""
FAILED, TIMED_OUT = TrialState.FAILED, TrialState.TIMED_OUT
NO_LINE = "db_bench printed no"
KINDS = {
    "hangs": ("exec tail -f /dev/null", TIMED_OUT, "timed out after "),
    "hangs with what it has started": ("tail -f /dev/null & wait", TIMED_OUT, "timed out after "),
    "closes its output and hangs": ("exec sleep 999 >&- 2>&-", TIMED_OUT, "timed"),
    "prints a gigabyte": ("exec cat /dev/zero", FAILED, "printed without end"),
    "complains for a gigabyte": ("exec cat /dev/zero >&2", FAILED, "printed without end"),
    "prints nonsense": ("head -c 200000 /dev/urandom", FAILED, NO_LINE),
    "prints NUL": ("head -c 200000 /dev/zero", FAILED, NO_LINE),
    "prints broken UTF-8": (r"printf 'fillrandom \377\376 \355\240\200\n'", FAILED, NO_LINE),
    "says nothing": ("exit 0", FAILED, NO_LINE),
    "fails without a word": ("exit 3", FAILED, "exit status 3 without a word"),
    "complains in broken UTF-8": (r"printf '\377 is wrong\n' >&2; exit 1", FAILED, "is wrong"),
    "has too little memory": ("ulimit -v 40000; exec db_bench \"$@\"", FAILED, ""),
    "is cut off in the middle": ('db_bench "$@" | head -c 700', FAILED, NO_LINE),
}  # fmt: skip
DEADLY = ["HUP", "INT", "QUIT", "ILL", "TRAP", "ABRT", "BUS", "FPE", "KILL", "USR1", "SEGV",
          "USR2", "PIPE", "ALRM", "TERM", "XCPU", "XFSZ", "SYS"]  # fmt: skip


def measured(misbehave: str, folder: Path, settings: Settings) -> Outcome:
    program = folder / "db_bench"
    program.write_text(WRAPPER.format(misbehave=misbehave))
    program.chmod(0o755)
    installed = probe(find_db_bench(str(program)))
    plan = tiny_plan(installed, timeout_seconds=2)
    outcome = LocalRunner(DbBench(installed, plan), settings).run({})
    assert not list(settings.bench_dir.glob("trial-*"))
    return outcome


@pytest.mark.parametrize("kind", KINDS)
def test_its_first_line_says_why(kind: str, tmp_path: Path, settings: Settings):
    misbehave, state, words = KINDS[kind]
    outcome = measured(misbehave, tmp_path, settings)
    assert (outcome.state, outcome.metrics) == (state, {}), outcome.failure
    assert outcome.failure and words in outcome.failure.splitlines()[0]
    first, *others = outcome.failure.splitlines()
    assert all(line.isprintable() for line in (first, *others)) and len(others) < 10


@pytest.mark.parametrize("name", DEADLY)
def test_a_signal_that_kills_it_is_named(name: str, tmp_path: Path, settings: Settings):
    # What is ignored where the tests were begun (nohup) is ignored by whatever they begin.
    dies = f"ulimit -c 0; exec env --default-signal sh -c 'kill -{name} $$; exec sleep 5'"
    outcome = measured(dies, tmp_path, settings)
    assert (outcome.state, outcome.failure) == (FAILED, f"killed by SIG{name}")
