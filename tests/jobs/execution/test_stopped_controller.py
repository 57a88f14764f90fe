"""A controller that sleeps through its lease, as a paused machine does."""

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from sqlalchemy import Engine

from db.jobs.job_store import JobStore
from db.leases import LeaseHeld
from db.schema.job_row import JobState
from jobs.execution.assembly import assemble
from jobs.execution.run_job import run_job
from jobs.specification.named_files import specify
from optimizer.run.planning import RunProgress
from optimizer.trials.trial import Trial
from sampler.bench.settings import Settings
from tests.support import ROOT
from tests.support.jobs.instant import (
    Watcher,
    left_running,
    read_from,
    write_space,
    write_workload,
)

# Once the file `hold` is there, a run says so and waits for a word through the pipe `gate`.
SCRIPT = """\
read -r given < "$1"
if test -e {folder}/hold; then
  echo held > {folder}/measured
  read -r word < {folder}/gate
else
  echo measured > {folder}/measured
fi
echo '{{"waf": 2.0}}'
"""


@contextmanager
def controller_of(url: str, job: int, folder: Path) -> Iterator[subprocess.Popen[str]]:
    program = ROOT / "tests/support/jobs/controller.py"
    process = subprocess.Popen(
        [sys.executable, str(program), url, str(job), str(folder)],
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        stdout=subprocess.PIPE,
        text=True,
    )
    with process:
        try:
            yield process
        finally:
            process.kill()


@pytest.mark.slow
def test_writes_nothing_once_its_job_was_taken_over(
    database: Engine, database_url: str, tmp_path: Path, settings: Settings
):
    os.mkfifo(tmp_path / "gate")
    os.mkfifo(tmp_path / "measured")
    workload = write_workload(tmp_path, script=SCRIPT.format(folder=tmp_path))
    specification = specify(
        workload=str(workload), space=str(write_space(tmp_path)), objective="waf",
        strategy="random", trials=60,
    )  # fmt: skip
    assembly = assemble(specification, settings)
    store = JobStore(database)
    job = store.create_job(specification.document(), specification.digest())
    # Open at both ends, so that nobody waits for the other side.
    pipe, gate = (os.open(tmp_path / name, os.O_RDWR) for name in ("measured", "gate"))
    theirs = tmp_path / "theirs"
    theirs.mkdir()
    with controller_of(database_url, job, theirs) as controller:
        seen = b""
        while b"held" not in seen:
            seen += read_from(pipe, controller.pid)
            if seen.count(b"\n") >= 5:
                (tmp_path / "hold").touch()
        controller.send_signal(signal.SIGSTOP)
        os.waitid(os.P_PID, controller.pid, os.WSTOPPED)
        (tmp_path / "hold").unlink()
        before = store.trials(job)
        lives = pytest.raises(LeaseHeld, match=f"process {controller.pid} on")
        with lives:  # and its lease has not run out
            run_job(database, job, specification, assembly, settings, progress=Watcher())
        with database.begin() as connection:
            connection.exec_driver_sql("UPDATE job SET lease_expires_at = '2000-01-01 00:00:00'")
        said = []

        class Wakes(Watcher):
            def trial_ended(self, trial: Trial, standing: RunProgress) -> None:
                super().trial_ended(trial, standing)
                if len(self.ended) == 10:
                    os.write(gate, b"go on\n")
                    controller.send_signal(signal.SIGCONT)
                    said.append(controller.communicate(timeout=60)[0])

        finished = run_job(database, job, specification, assembly, settings, progress=Wakes())
    os.close(pipe)
    os.close(gate)
    assert said == [f"lost: job {job} was taken over by {me()}\n"]
    assert store.job(job).state is JobState.DONE
    assert store.trials(job) == list(finished.trials)
    flying = before[-1].number
    assert list(finished.trials)[: flying - 1] == before[:-1]
    attempts = {trial.number: trial.attempt for trial in finished.trials}
    assert attempts == {number: 2 if number == flying else 1 for number in range(1, 61)}
    assert left_running(str(theirs)) == []
    assert list((theirs / "bench").iterdir()) == []


def me() -> str:
    return f"process {os.getpid()} on {os.uname().nodename}"
