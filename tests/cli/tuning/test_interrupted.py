"""Ctrl-C, SIGTERM, and a second process for the same job."""

import os
import signal
import subprocess
from collections.abc import Iterator

import pytest

from db.connection.engine import make_engine
from db.jobs.job_store import JobStore
from db.schema.job_row import JobState
from sampler.bench.outcome import TrialState
from tests.support.cli.terminal import Desk
from tests.support.jobs.instant import (
    ended_within,
    left_running,
    pidfd,
    read_from,
    write_space,
    write_workload,
)

pytestmark = pytest.mark.slow

# The fifth run, and every one after it, stays until it is ended or `free` is there.
SCRIPT = """\
read -r given < "$1"
echo x >> {folder}/runs
while read -r _; do n=$((n + 1)); done < {folder}/runs
if test $n -ge 5 && ! test -e {folder}/free; then
  echo holds > {folder}/measured
  exec sleep 60
fi
printf '{{"waf": 2.0}}\\n'
"""


@pytest.fixture
def arguments(desk: Desk) -> list[object]:
    workload = write_workload(desk.folder, script=SCRIPT.format(folder=desk.folder))
    return ["tune", "--workload", workload, "--space", write_space(desk.folder), "--objective",
            "waf", "--strategy", "random", "--trials", 12, "--db", desk.database,
            "--out", desk.out, "--resume"]  # fmt: skip


@pytest.fixture
def pipe(desk: Desk) -> Iterator[int]:
    os.mkfifo(desk.folder / "measured")
    descriptor = os.open(desk.folder / "measured", os.O_RDWR)
    yield descriptor
    os.close(descriptor)


def in_its_fifth_trial(process: "subprocess.Popen[str]", pipe: int) -> None:
    assert read_from(pipe, process.pid) == b"holds\n"


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM], ids=lambda n: n.name)
def test_a_signal_ends_it_and_it_goes_on_later(
    desk: Desk, arguments: list[object], pipe: int, number: signal.Signals
):
    with desk.start(*arguments) as process:
        in_its_fifth_trial(process, pipe)
        process.send_signal(number)
        printed, said = process.communicate(timeout=60)
    assert (process.returncode, printed) == (130, "")
    assert said.splitlines()[-1] == (
        "rocktune: interrupted; 4 trials of job 1 are kept. "
        "Continue with the same command and --resume"
    )
    assert "Traceback" not in said
    assert left_running(desk.mark) == []
    assert list(desk.bench.iterdir()) == []
    engine = make_engine(desk.database)
    left = JobStore(engine).job(1)
    assert (left.state, left.why) == (JobState.CANCELLED, "interrupted; it can be resumed")
    assert left.lease_owner is None
    assert [trial.state for trial in JobStore(engine).trials(1)][-1] is TrialState.LOST
    (desk.folder / "free").touch()
    assert desk.run(*arguments).returncode == 3
    trials = JobStore(engine).trials(1)
    assert [trial.attempt for trial in trials] == [1] * 4 + [2] + [1] * 7
    assert JobStore(engine).job(1).state is JobState.DONE
    engine.dispose()
    assert (desk.folder / "runs").read_text().count("x") == 13


def test_one_whose_messages_nobody_reads_any_more_ends_and_goes_on_later(desk: Desk, pipe: int):
    """As of ``rocktune tune 2>&1 | head -1``."""
    os.mkfifo(desk.folder / "go")
    script = "echo holds > {0}/measured; read -r _ < {0}/go; printf '{{\"waf\": 2.0}}\\n'"
    workload = write_workload(desk.folder, script=script.format(desk.folder))
    asked = ["tune", "--workload", workload, "--space", write_space(desk.folder), "--objective",
             "waf", "--trials", 12, "--db", desk.database, "--out", desk.out]  # fmt: skip
    with desk.start(*asked) as process:
        in_its_fifth_trial(process, pipe)
        process.stderr.close()
        (desk.folder / "go").write_text("\n")
        assert process.wait(timeout=60) == 130
    assert left_running(desk.mark) == []
    engine = make_engine(desk.database)
    left = JobStore(engine).job(1)
    engine.dispose()
    assert (left.state, left.why) == (JobState.CANCELLED, "interrupted; it can be resumed")
    assert left.lease_owner is None


def test_a_kill_ends_the_benchmark_too(desk: Desk, arguments: list[object], pipe: int):
    with desk.start(*arguments) as process:
        in_its_fifth_trial(process, pipe)
        process.kill()
        process.communicate(timeout=60)
    # It would have slept for a minute.
    assert left_running(desk.mark) == []
    resumed = desk.run("resume", 1, "--db", desk.database)
    assert (resumed.returncode, resumed.stderr) == (0, "")
    engine = make_engine(desk.database)
    assert JobStore(engine).job(1).state is JobState.QUEUED
    engine.dispose()


def test_a_second_process_is_told_who_runs_it(desk: Desk, arguments: list[object], pipe: int):
    with desk.start(*arguments) as process:
        in_its_fifth_trial(process, pipe)
        second = desk.run(*arguments)
        assert (second.returncode, second.stdout) == (2, "")
        last = second.stderr.splitlines()[-1]
        assert last.startswith(f"rocktune: --resume: job 1 is being run by process {process.pid} ")
        assert process.poll() is None
        resumed = desk.run("resume", 1, "--db", desk.database)
        assert resumed.returncode == 2
        assert f"job 1 is being run by process {process.pid} " in resumed.stderr
        process.send_signal(signal.SIGINT)
        process.communicate(timeout=60)
    assert process.returncode == 130


def test_one_that_waits_for_the_host_can_be_interrupted(
    desk: Desk, arguments: list[object], pipe: int
):
    with desk.start(*arguments) as first:
        in_its_fifth_trial(first, pipe)
        with desk.start(*arguments, "--seed", 5) as second:
            waits_for_its_first_trial(desk, second.pid)
            second.send_signal(signal.SIGINT)
            said = second.communicate(timeout=60)[1]
        assert second.returncode == 130
        assert said.startswith("--resume: no job has just these options (the newest is job 1, ")
        assert "rocktune: interrupted; 0 trials of job 2 are kept" in said
        assert first.poll() is None
        first.send_signal(signal.SIGTERM)
        first.communicate(timeout=60)
    assert first.returncode == 130


def waits_for_its_first_trial(desk: Desk, pid: int) -> None:
    engine = make_engine(desk.database)
    with pidfd(pid) as process:
        assert process is not None
        while not (len(JobStore(engine).jobs()) == 2 and JobStore(engine).trials(2)):
            assert not ended_within(process, 0.01)
    engine.dispose()
