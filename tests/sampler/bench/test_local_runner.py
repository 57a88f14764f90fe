import contextlib
import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from sampler.bench.bench_folder import (
    make_trial_folder,
    nearest_folder,
    remove_leftovers,
    require_space,
)
from sampler.bench.command_bench import CommandBench
from sampler.bench.db_bench import DbBench
from sampler.bench.host_lock import host_lock
from sampler.bench.installed import InstalledDbBench
from sampler.bench.outcome import Outcome, TrialState
from sampler.bench.runner import LocalRunner
from sampler.bench.settings import Settings
from sampler.common.errors import InputError
from sampler.machine.machine import start_time
from sampler.workload.metric_table import MACHINE
from tests.support import ROOT
from tests.support.sampler.real_runs import command_bench, tiny_plan
from tests.support.sampler.watching import gone, make_fifo, open_to_others, read_line

FOREVER = "exec tail -f /dev/null"
Shell = Callable[..., LocalRunner]


def give_up(_: float) -> None:
    raise TimeoutError


@pytest.fixture
def shell(settings: Settings) -> Shell:
    """A runner whose benchmark is a shell script."""

    def make(script: str, *, timeout: float = 30, **changed: object) -> LocalRunner:
        bench = command_bench("/bin/sh", "-c", script, timeout=timeout)
        return LocalRunner(bench, settings.model_copy(update=changed), pause=give_up)

    return make


def left(settings: Settings) -> list[str]:
    return sorted(path.name for path in settings.bench_dir.iterdir())


def assert_free(settings: Settings) -> None:
    with host_lock(settings.lock, "next", pause=give_up):
        assert settings.lock.exists()


def outcome_of(runner: LocalRunner) -> Outcome:
    outcome = runner.wait(60)
    assert outcome is not None
    return outcome


GOOD = """echo '{"waf": 2.5}'"""


FAILED = {
    "echo no >&2; exit 3": "no",
    "exit 3": "exit status 3, no error message",
    "echo dying >&2; kill -KILL $$": "killed by SIGKILL: dying",
    "ulimit -c 0; kill -SEGV $$": "killed by SIGSEGV",
    "yes": "stopped: it printed too much",
}


@pytest.mark.parametrize("script", FAILED)
def test_every_failure_has_its_reason_and_leaves_nothing_behind(
    script: str, shell: Shell, settings: Settings
):
    outcome = shell(script).run({})
    assert (outcome.state, outcome.failure) == (TrialState.FAILED, FAILED[script])
    assert left(settings) == []


def test_all_that_a_trial_makes_is_for_its_owner_alone(shell: Shell, tmp_path: Path):
    shown = tmp_path / "shown"
    script = f"cd {{directory}}; echo 1 > made; find .. > {shown}; find .. -perm /077 >> {shown}"
    bench_dir = tmp_path / "not" / "there"
    assert shell(f"{script}; {GOOD}", bench_dir=bench_dir).run({}).state is TrialState.DONE
    assert sorted(shown.read_text().split()) == [
        "..", "../OPTIONS.ini", "../configuration.json", "../directory", "../directory/made",
        "../stderr", "../stdout",
    ]  # fmt: skip
    assert open_to_others(bench_dir) == []


@pytest.mark.parametrize(
    ("limit", "state", "reason"),
    [
        ({"timeout": 0.1}, TrialState.TIMED_OUT, "timed out after"),
        ({"free_bytes": 2**62}, TrialState.FAILED, "stopped: the disk of the bench folder was "),
    ],
)
def test_a_trial_that_breaks_a_limit_is_ended(limit, state, reason, shell, settings: Settings):
    outcome = shell(FOREVER, **limit).run({})
    assert outcome.state is state and outcome.failure.startswith(reason)
    assert left(settings) == []


def test_a_trial_too_slow_to_win_is_cut_off_and_its_time_is_kept(shell: Shell, settings: Settings):
    runner = shell(FOREVER)
    runner.start({}, cutoff_seconds=0.1)
    outcome = outcome_of(runner)
    assert outcome.state is TrialState.CENSORED
    assert outcome.metrics["time"] == outcome.bench_seconds
    assert set(outcome.metrics) <= {"time", *MACHINE}
    assert left(settings) == []


def test_a_cancelled_trial_leaves_nothing_and_frees_the_host(shell: Shell, settings: Settings):
    runner = shell(FOREVER)
    runner.start({})
    assert len(left(settings)) == 1
    runner.cancel()
    assert left(settings) == []
    with host_lock(settings.lock, "next", pause=give_up):
        runner.cancel()  # nothing is in flight: nothing happens


def test_an_interrupted_run_ends_its_trial(settings: Settings):
    class Interrupting(CommandBench):
        held_from = "begun"

        def settled(self, _: Path) -> bool:
            raise KeyboardInterrupt

    script = command_bench("/bin/sh", "-c", f"echo begun; {FOREVER}")
    benchmark = Interrupting(script.command, script.plan)
    with pytest.raises(KeyboardInterrupt):
        LocalRunner(benchmark, settings, pause=give_up).run({})
    assert left(settings) == []
    assert_free(settings)


def test_a_trial_in_flight_holds_the_host(shell: Shell, settings: Settings):
    runner = shell(FOREVER)
    runner.start({})
    with (
        pytest.raises(TimeoutError),
        host_lock(settings.lock, "other", pause=give_up),
    ):
        pass
    with pytest.raises(RuntimeError, match="in flight already"):
        runner.start({})
    runner.cancel()


def test_trials_follow_one_another(shell: Shell, settings: Settings):
    runner = shell(GOOD)
    assert [runner.run({}).metrics["waf"] for _ in range(3)] == [2.5, 2.5, 2.5]
    assert left(settings) == []


def test_waiting_for_nothing_is_a_mistake(shell: Shell):
    with pytest.raises(RuntimeError, match="no trial is in flight"):
        shell(GOOD).wait(0)


@pytest.mark.parametrize("how", ["ended by itself", "cancelled"])
def test_a_child_that_left_the_group_dies_with_the_trial(
    how: str, shell: Shell, settings: Settings, tmp_path: Path
):
    pipe = make_fifo(tmp_path / "pipe")
    last = FOREVER if how == "cancelled" else GOOD
    script = f"setsid sh -c 'echo $$ >{tmp_path}/pipe; kill -STOP $$' & {last}"
    runner = shell(script)
    runner.start({})
    child = int(read_line(pipe))
    assert start_time(child) is not None
    runner.cancel() if how == "cancelled" else outcome_of(runner)
    assert gone(child)
    assert left(settings) == []
    os.close(pipe)


def test_the_folders_of_dead_controllers_are_removed_and_no_others(settings: Settings):
    dead = subprocess.Popen(["true"])
    dead.wait()
    bench = settings.bench_dir
    mine = make_trial_folder(bench)
    for name in (f"trial-{dead.pid}-1-00ff", "trial-1-1-zz", "notes", "trial-x-1-00"):
        (bench / name / "db").mkdir(parents=True)
    assert remove_leftovers(bench) == 1
    assert left(settings) == sorted([mine.name, "trial-1-1-zz", "notes", "trial-x-1-00"])


def test_a_recycled_process_number_does_not_protect_a_leftover(settings: Settings):
    (settings.bench_dir / f"trial-{os.getpid()}-1-00ff").mkdir(parents=True)
    assert remove_leftovers(settings.bench_dir) == 1


def test_a_bench_folder_that_is_not_there_has_no_leftovers(settings: Settings):
    assert remove_leftovers(settings.bench_dir / "nowhere") == 0


def test_a_disk_too_full_is_refused_before_the_trial(settings: Settings):
    with pytest.raises(InputError, match=r"ROCKTUNE_BENCH_DIR: the disk of .* free some space"):
        require_space(settings.bench_dir, 2**62)


@pytest.mark.parametrize("below", ["", "deeper/still"])
def test_a_bench_folder_that_cannot_be_made_is_refused_by_name(
    below: str, shell: Shell, settings: Settings, tmp_path: Path
):
    (tmp_path / "file").write_text("not a folder")
    runner = shell(GOOD, bench_dir=tmp_path / "file" / below)
    with pytest.raises(InputError) as refused:
        runner.run({})
    assert refused.value.field == "ROCKTUNE_BENCH_DIR"
    assert_free(settings)


def test_a_bench_folder_that_cannot_be_looked_into_is_refused_by_name(
    shell: Shell, tmp_path: Path
):
    (tmp_path / "circle").symlink_to(tmp_path / "circle")
    for place in (tmp_path / "circle", tmp_path / ("x" * 300)):
        assert nearest_folder(place) == tmp_path
        with pytest.raises(InputError, match="cannot list") as refused:
            shell(GOOD, bench_dir=place).run({})
        assert refused.value.field == "ROCKTUNE_BENCH_DIR"


def test_whoever_waits_is_called_meanwhile_and_may_end_the_trial(shell: Shell, settings: Settings):
    def interrupted() -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        shell(FOREVER).run({}, meanwhile=interrupted)
    assert left(settings) == []
    assert_free(settings)


@pytest.mark.parametrize("name", ["./nowhere.sh", "no-such-benchmark"])
def test_a_benchmark_that_is_not_there_is_refused_by_name(name: str, settings: Settings):
    with pytest.raises(InputError, match=r"command\.argv: .* is not an executable") as refused:
        LocalRunner(command_bench(name), settings, pause=give_up).run({})
    assert refused.value.field == "workload.command.argv"
    assert left(settings) == []


def test_what_a_start_that_failed_held_is_free_again(shell: Shell, settings: Settings):
    good = shell(GOOD)
    broken = LocalRunner(good._benchmark, settings.model_copy(), pause=give_up)
    with pytest.raises(TypeError):
        broken.run({"write_buffer_size": object()})  # type: ignore[dict-item]
    assert left(settings) == []
    assert good.run({}).state is TrialState.DONE


@pytest.mark.db_bench
@pytest.mark.parametrize("doing", ["measures", "prepares"])
def test_a_killed_controller_takes_db_bench_with_it_and_the_next_runner_cleans_up(
    doing: str, installed: InstalledDbBench, settings: Settings
):
    controller = subprocess.Popen(
        [
            sys.executable,
            "-m",
            "tests.support.sampler.controller_of_a_trial",
            str(settings.bench_dir),
            str(settings.lock),
            doing,
        ],
        stdout=subprocess.PIPE,
        cwd=ROOT,
        env={**os.environ, "ROCKTUNE_SPEED_PROBE": "1"},
    )
    assert controller.stdout is not None
    assert read_line(controller.stdout.fileno()) == "started"
    children = Path(f"/proc/{controller.pid}/task/{controller.pid}/children").read_text()
    assert len(children.split()) == (2 if doing == "measures" else 1)  # the probe beside it
    leftover = left(settings)
    controller.kill()
    controller.communicate()
    assert all(gone(int(child)) for child in children.split())
    assert left(settings) == leftover != []
    assert open_to_others(settings.bench_dir / leftover[0]) == []
    assert json.loads(Path(f"{settings.lock}.{os.getuid()}").read_text())["pid"] == controller.pid
    runner = LocalRunner(DbBench(installed, tiny_plan(installed)), settings)
    assert runner.run({}).state is TrialState.DONE
    assert left(settings) == []


class TestWaitingForTheHost:
    def test_is_told_with_the_outcome(self, shell: Shell, settings: Settings):
        runner = shell("echo rate 5")
        assert runner.run({}).waited_seconds == 0.0
        others = contextlib.ExitStack()
        others.enter_context(host_lock(settings.lock, "theirs", pause=give_up))
        waits = 3

        def pause(_: float) -> None:
            nonlocal waits
            waits -= 1
            if not waits:
                others.close()

        runner = LocalRunner(runner._benchmark, settings, pause=pause)
        assert runner.run({}).waited_seconds > 0.0
        assert waits == 0
        assert runner.run({}).waited_seconds == 0.0
