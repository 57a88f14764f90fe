"""What a trial tells of the machine, and that the probe beside it is never left running."""

import json
import os
import subprocess
import sys
import time
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path

import psutil
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sampler.bench import runner as runner_module
from sampler.bench.db_bench import DbBench
from sampler.bench.installed import InstalledDbBench
from sampler.bench.outcome import Outcome, TrialState
from sampler.bench.runner import Conditions, LocalRunner
from sampler.bench.settings import Settings
from sampler.common.errors import InputError
from sampler.machine.host_load import CpuMoment, ProcessorTime, others_demand, read_moment
from sampler.machine.speed_probe import one_round, speed_of
from sampler.workload.metric_table import MACHINE, db_bench_metrics
from tests.support.sampler.real_runs import TINY, command_bench, tiny_plan
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


@pytest.fixture(autouse=True)
def _with_neighbours(monkeypatch: pytest.MonkeyPatch) -> None:
    """As in the product: the trials of other tests look at no other process."""
    monkeypatch.setattr(runner_module, "read_moment", read_moment)


@pytest.fixture
def run(settings: Settings) -> Run:
    """Measures a command: a script of Python, once the probe beside it has looked for a while."""

    def measure(
        script: str = AWAIT_PROBE, *, metrics: object = None, **changed: object
    ) -> Outcome:
        script = script.replace("{metrics}", json.dumps(metrics or {"x": 2.5}))
        bench = command_bench(PYTHON, "-c", script, timeout=60)
        where = settings.model_copy(update={"speed_probe": True, **changed})
        return LocalRunner(bench, where).run({})

    return measure


def probes() -> list[psutil.Process]:
    return [p for p in psutil.Process().children() if "speed_probe" in str(p.cmdline())]


def probe_of(watching: Conditions) -> psutil.Process:
    """Not any child of this process: services of other tests may run in it."""
    assert watching._probe is not None
    return psutil.Process(watching._probe.pid)


@pytest.mark.slow
def test_a_command_benchmark_is_told_both_after_its_own_metrics(run: Run):
    outcome = run()
    assert list(outcome.metrics) == ["x", *MACHINE]
    assert outcome.metrics[OTHERS] >= 0
    assert 0.01 < outcome.metrics[SPEED] < 100
    assert probes() == []


@pytest.mark.slow
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


@pytest.mark.parametrize(("name", "value"), [("frozen", True), ("executable", None)])
def test_where_there_is_no_interpreter_no_probe_is_started(
    name: str, value: object, bench_folder: Path, monkeypatch: pytest.MonkeyPatch
):
    """A frozen program would start itself."""
    monkeypatch.setattr(sys, name, value, raising=False)
    watching = Conditions(bench_folder, {}, probe=True)
    assert watching._probe is None
    assert SPEED not in watching.end()


@pytest.mark.slow
def test_counters_that_are_not_known_cost_a_reading_and_no_trial(
    run: Run, monkeypatch: pytest.MonkeyPatch
):
    def odd() -> CpuMoment:
        raise ValueError("invalid literal for int()")

    monkeypatch.setattr(runner_module, "read_moment", odd)
    assert list(run().metrics) == ["x", SPEED]


def test_the_probe_has_nothing_of_the_benchmarks_environment(
    bench_folder: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setenv("LD_PRELOAD", "/nowhere/own.so")
    watching = Conditions(bench_folder, {"MARK": "1"}, probe=True)
    started = probe_of(watching)
    # Between its start and its first instruction the kernel shows none.
    seen = next(filter(None, (started.environ() for _ in range(10_000))))
    watching.end()
    assert set(seen) - {"PWD", "SHLVL", "_"} == {"MARK", "PATH"}


def test_a_run_that_was_cut_off_tells_nothing_of_the_machine(
    run: Run, monkeypatch: pytest.MonkeyPatch
):
    """What the children of a killed wrapper used is known to nobody: it would count as others'."""
    monkeypatch.setattr(LocalRunner, "run", _cut_off)
    outcome = run("import os, sys; os.system(sys.executable + ' -c \"while 1: 0\"')")
    assert outcome.state is TrialState.CENSORED
    assert not set(MACHINE) & outcome.metrics.keys()


def _cut_off(runner: LocalRunner, configuration: dict[str, float]) -> Outcome:
    runner.start(configuration, cutoff_seconds=0.5)
    while not (outcome := runner.wait(10)):
        pass
    return outcome


def test_a_probe_that_hangs_is_killed(
    bench_folder: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
):
    hanging = tmp_path / "hanging.py"
    hanging.write_text("import signal; signal.pause()")
    monkeypatch.setattr(runner_module.speed_probe, "__file__", str(hanging))
    monkeypatch.setattr(runner_module, "_END_SECONDS", 0.05)
    watching = Conditions(bench_folder, {}, probe=True)
    started = probe_of(watching)
    assert SPEED not in watching.end()
    assert gone(started.pid)


def test_a_probe_that_cannot_be_killed_is_not_waited_for(
    bench_folder: Path, monkeypatch: pytest.MonkeyPatch
):
    """As one that writes to a disk which does not answer."""
    monkeypatch.setattr(runner_module, "_END_SECONDS", 0.05)
    watching = Conditions(bench_folder, {}, probe=True)
    started = probe_of(watching)
    started.suspend()
    with monkeypatch.context() as unkillable:
        unkillable.setattr(subprocess.Popen, "kill", lambda _: None)
        assert SPEED not in watching.end()
    assert watching._probe and watching._probe.poll() is None
    started.kill()
    watching._probe.wait()


def test_a_run_of_db_bench_is_told_of_others(settings: Settings, installed: InstalledDbBench):
    plan = tiny_plan(installed, num=200_000)
    outcome = LocalRunner(DbBench(installed, plan), settings).run({})
    assert OTHERS in outcome.metrics, outcome.failure
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
    monkeypatch.setattr("sampler.bench.process.tied", lambda *argv: list(argv))
    with pytest.raises(InputError, match="cannot be started"):
        runner.start({})
    assert probes() == []


_CONTROLLER = """\
import os, signal, sys
from pathlib import Path
from sampler.bench import process
from sampler.bench.runner import Conditions
if sys.argv[2] == "pipe":
    process.shutil.which = lambda _: None
watching = Conditions(Path(sys.argv[1]), {}, probe=True)
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


@pytest.mark.slow
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


@pytest.mark.slow
@pytest.mark.parametrize("crowd", [1, 6])
def test_a_busy_neighbour_counts_as_one_processor_whatever_it_gets(crowd: int):
    cpus = len(os.sched_getaffinity(0))
    with ExitStack() as ended:

        def loop() -> psutil.Process:
            # In sessions of their own, as trials are: the kernel may share by session.
            argv = [PYTHON, "-c", "print(flush=True)\nwhile True: pass"]
            started = subprocess.Popen(argv, stdout=subprocess.PIPE, start_new_session=True)
            ended.callback(started.communicate)
            ended.callback(started.kill)
            assert started.stdout is not None
            read_line(started.stdout.fileno())
            return psutil.Process(started.pid)

        neighbour, *_ = [loop() for _ in range(1 + crowd * cpus)]
        began = time.monotonic()
        first = read_moment()
        reading = time.monotonic() - began  # of what was not read at one instant, it is the error
        until = neighbour.cpu_times().user + 0.4
        while neighbour.cpu_times().user < until or time.monotonic() - began < 30 * reading:
            os.sched_yield()
        last = read_moment()
    # What else runs on this machine is left out, so that the figure is known.
    place = next(found for found in last.waited if found[0] == neighbour.pid)
    used = last.processes[place][1] - first.processes[place][1]
    spent = last.mine.since(first.mine)
    first = replace(first, mine=ProcessorTime(), kernel=frozenset(),
                    waited={place: first.waited[place]})  # fmt: skip
    last = replace(last, mine=ProcessorTime(used, spent.total - used), kernel=frozenset())
    wanted = others_demand(first, last, 0.0)
    got = others_demand(first, replace(last, waited={}), 0.0)
    assert wanted is not None and got is not None
    assert 0.8 < wanted * cpus < 1.15
    assert crowd == 1 or got < 0.75 * wanted


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
    stolen = 1 / (1 + 6)  # of what was asked for
    assert others_demand(first, last, 2.0) == pytest.approx((6 - 2 - 1) / 10 + stolen)
    assert others_demand(first, last, 50.0) == pytest.approx(stolen)
    assert others_demand(first, first, 0.0) is None


def test_what_others_waited_is_added_without_limit():
    own, neighbour = (8, 80), (9, 90)
    first = CpuMoment(
        mine=ProcessorTime(10, 90), own=0, waited={neighbour: {"9": 5.0, "10": 3.0, "12": 9.0}},
    )  # fmt: skip
    last = CpuMoment(
        mine=ProcessorTime(20, 90),
        own=0,
        # One of its threads ended, one was started, and one has a number that was another's.
        waited={neighbour: {"9": 12.0, "11": 8.0, "12": 1.0}, own: {"8": 50.0}},
    )
    assert others_demand(first, last, 6.0) == pytest.approx((10 - 6 + 7 + 8) / 10)


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
