"""What a trial tells of the machine, and that the probe beside it is never left running."""

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import psutil
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sampler.bench.bench_plan import BenchPlan
from sampler.bench.command_bench import CommandBench
from sampler.bench.db_bench import DbBench
from sampler.bench.installed import InstalledDbBench
from sampler.common.errors import InputError
from sampler.machine.host_load import CpuMoment, ProcessorTime, others_share
from sampler.machine.speed_probe import one_round, speed_of
from sampler.runner import conditions
from sampler.runner.conditions import Conditions
from sampler.runner.outcome import Outcome, TrialState
from sampler.runner.runner import LocalRunner
from sampler.runner.settings import Settings
from sampler.space.space import default_values
from sampler.space.space_file import load_space
from sampler.workload.metric_units import MACHINE, db_bench_metrics
from sampler.workload.workload import Command, Workload
from tests.support.sampler.real_runs import TINY, tiny_plan
from tests.support.sampler.watching import gone, read_line

OTHERS, SPEED = MACHINE
PYTHON = sys.executable
# Ends once the probe beside it has used 80 ms of processor time: some 50 rounds and its start.
AWAIT_PROBE = """
import json, psutil, time
beside = [p for p in psutil.Process().parent().children() if "speed_probe" in str(p.cmdline())]
while beside and beside[0].cpu_times().user + beside[0].cpu_times().system < 0.08: pass
print(json.dumps({metrics}))
"""
Run = Callable[..., Outcome]


@pytest.fixture
def run(settings: Settings) -> Run:
    """Measures a command: a script of Python, once the probe beside it has looked for a while."""

    def measure(
        script: str = AWAIT_PROBE, *, metrics: object = None, **changed: object
    ) -> Outcome:
        script = script.replace("{metrics}", json.dumps(metrics or {"x": 2.5}))
        command = Command(argv=(PYTHON, "-c", script), timeout_seconds=60)
        workload = Workload(name="own", command=command, settle="none", scale=1)
        plan = BenchPlan(workload, load_space("default"), default_values("library"))
        where = settings.model_copy(update={"speed_probe": True, **changed})
        return LocalRunner(CommandBench(command, plan), where).run({})

    return measure


def probes() -> list[psutil.Process]:
    return [p for p in psutil.Process().children() if "speed_probe" in str(p.cmdline())]


def test_a_command_benchmark_is_told_both_after_its_own_metrics(run: Run):
    outcome = run()
    assert list(outcome.metrics) == ["x", *MACHINE]
    assert 0 <= outcome.metrics[OTHERS] <= 1
    assert 0.01 < outcome.metrics[SPEED] < 100
    assert probes() == []


def test_what_a_benchmark_prints_itself_stands(run: Run):
    printed = {SPEED: 7.0, "x": 1.0, OTHERS: 0.5}
    assert run(metrics=printed).metrics == printed


def test_a_failed_trial_has_no_metrics(run: Run):
    outcome = run("import sys; sys.exit(3)")
    assert (outcome.state, outcome.metrics) == (TrialState.FAILED, {})


def test_the_probe_can_be_switched_off(run: Run, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("ROCKTUNE_SPEED_PROBE", "0")
    assert list(run(speed_probe=Settings().speed_probe).metrics) == ["x", OTHERS]


@pytest.mark.parametrize("python", ["/bin/false", "/bin/cat", "/nowhere/python"])
def test_a_probe_that_fails_costs_a_reading_and_no_trial(
    python: str, run: Run, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(sys, "executable", python)
    outcome = run("print('{metrics}')")
    assert (outcome.state, list(outcome.metrics)) == (TrialState.DONE, ["x", OTHERS])


def test_a_probe_that_hangs_is_killed(
    bench_folder: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
):
    hanging = tmp_path / "hanging.py"
    hanging.write_text("import signal; signal.pause()")
    monkeypatch.setattr(conditions.speed_probe, "__file__", str(hanging))
    monkeypatch.setattr(conditions, "_END_SECONDS", 0.05)
    watching = Conditions(bench_folder, os.environ, probe=True)
    (started,) = psutil.Process().children()
    assert SPEED not in watching.end()
    assert gone(started.pid)


def test_a_run_of_db_bench_is_told_both(settings: Settings, installed: InstalledDbBench):
    plan = tiny_plan(installed, num=200_000)
    where = settings.model_copy(update={"speed_probe": True})
    outcome = LocalRunner(DbBench(installed, plan), where).run({})
    assert set(MACHINE) <= outcome.metrics.keys(), outcome.failure
    assert not set(MACHINE) & {*db_bench_metrics(TINY)}  # so nothing can be asked of them


def test_a_cancelled_trial_and_one_that_cannot_start_leave_no_probe(
    settings: Settings, installed: InstalledDbBench, monkeypatch: pytest.MonkeyPatch
):
    where = settings.model_copy(update={"speed_probe": True})
    runner = LocalRunner(DbBench(installed, tiny_plan(installed, num=2_000_000)), where)
    runner.start({})
    (started,) = probes()
    runner.cancel()
    assert gone(started.pid)
    monkeypatch.setattr(DbBench, "prepare", lambda *_: ["/nowhere/db_bench"])
    monkeypatch.setattr("sampler.runner.process.tied", lambda *argv: list(argv))
    with pytest.raises(InputError, match="cannot be started"):
        runner.start({})
    assert probes() == []


_CONTROLLER = """\
import os, signal, sys
from pathlib import Path
from sampler.runner import process
from sampler.runner.conditions import Conditions
if sys.argv[2] == "pipe":
    process.shutil.which = lambda _: None
watching = Conditions(Path(sys.argv[1]), dict(os.environ), probe=True)
if sys.argv[2] == "kernel":
    os.set_inheritable(watching._probe.stdin.fileno(), True)
    forever = "exec tail -f /dev/null >/dev/null"
    other = os.posix_spawn("/bin/sh", ["sh", "-c", forever], {"PATH": os.environ["PATH"]})
    print(other, flush=True)
print(watching._probe.pid, flush=True)
signal.pause()
"""


@pytest.mark.parametrize("by", ["pipe", "kernel"])
def test_a_killed_controller_leaves_no_probe(by: str, bench_folder: Path):
    """Its standard input ends; where something else holds that open, the kernel ends it."""
    argv = [sys.executable, "-c", _CONTROLLER, str(bench_folder), by]
    controller = subprocess.Popen(argv, stdout=subprocess.PIPE)
    assert controller.stdout is not None
    numbers = [int(read_line(controller.stdout.fileno())) for _ in range(1 + (by == "kernel"))]
    controller.kill()
    controller.wait()
    controller.stdout.close()
    try:
        assert gone(numbers[-1])
    finally:
        for other in numbers[:-1]:
            psutil.Process(other).kill()
    assert list(bench_folder.iterdir()) == []


def test_a_neighbours_processor_time_is_others(run: Run):
    busy = subprocess.Popen([sys.executable, "-c", "while True: pass"])
    try:
        before, cpus = psutil.Process(busy.pid).cpu_times(), len(os.sched_getaffinity(0))
        outcome = run()
        after = psutil.Process(busy.pid).cpu_times()
    finally:
        busy.kill()
        busy.wait()
    # It used at most this before and after the measured process, beside which it ran.
    used = (after.user - before.user) / (outcome.bench_seconds + 1.0) / cpus
    assert outcome.metrics[OTHERS] > 0.5 * used


def test_others_are_all_but_the_process_and_the_kernel():
    thread, neighbour = (2, 5), (9, 90)
    first = CpuMoment(
        mine=ProcessorTime(10, 90, 1), own=0, processes={thread: ("kworker", 3.0)},
    )  # fmt: skip
    last = CpuMoment(
        mine=ProcessorTime(16, 92, 2, 1),
        own=99,  # of the controller: it counts as others
        processes={thread: ("kworker", 4.0), neighbour: ("other", 2.0)},
        kernel=frozenset({thread}),
    )
    assert others_share(first, last, 2.0) == pytest.approx((6 - 2 - 1 + 1) / 10)
    assert others_share(first, last, 50.0) == 0
    assert others_share(first, first, 0.0) is None


@given(st.floats(0.1, 10), st.integers(10, 40))
def test_a_machine_twice_as_fast_has_twice_the_speed(factor: float, count: int):
    rounds = [(1e-4, 5e-5, 3e-5, 2e-5)] * count
    usual = speed_of(rounds)
    faster = speed_of([[seconds / factor for seconds in each] for each in rounds])
    assert usual is not None and faster == pytest.approx(usual * factor)
    # Less than half of the rounds may have been disturbed.
    assert speed_of([*rounds, *[(1.0, 1.0, 1.0, 1.0)] * (count - 2)]) == pytest.approx(usual)
    assert speed_of(rounds[:9]) is None


def test_a_round_takes_processor_time_in_every_piece(tmp_path: Path):
    with (tmp_path / "file").open("wb") as file:
        assert all(spent > 0 for spent in one_round(file.fileno()))
