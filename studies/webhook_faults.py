"""Counts what comes of webhooks and jobs while receivers fail: `make prove-webhooks`.

On SQLite and PostgreSQL a real worker runs jobs beside a real receiver on loopback. What takes
days is done by a clock that is set ahead. Writes docs/results/webhook_faults.md, and ends with
status 1 where a job was harmed, an event lost, or one sent again after it was acknowledged.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from datetime import timedelta
from functools import partial
from pathlib import Path
from unittest import mock

from sqlalchemy import Engine

from db.connection.engine import make_engine, present
from db.connection.migrate import upgrade_tables
from db.jobs.job_store import JobStore
from db.schema.job_row import JobState
from db.webhooks import EVENTS, add_webhook, read_deliveries
from jobs import webhooks, worker
from jobs.queue.service_settings import ServiceSettings
from jobs.webhooks import deliver_due, new_secret
from sampler.bench.settings import Settings
from studies.faults.crash_table import DATABASES, database
from studies.study import made_by
from tests.support import ROOT, unused_port
from tests.support.jobs.receiver import Receiver, receiving
from tests.support.jobs.service_desk import wait_until
from tests.support.jobs.worker_scene import Scene, at_work

PAGE = ROOT / "docs" / "results" / "webhook_faults.md"
JOBS, TRIALS = 5, 12
ANSWER, FIRST, LONGEST = 0.5, 0.2, 1.0  # seconds, instead of 10, 10 and 3600
ALLOWS = ServiceSettings(webhook_allow="127.0.0.1")
WORDS = {
    "well": "well: acknowledges at once",
    "down": "down: nobody listens",
    "slow": "slow: never answers",
    "drip": "drips: a header byte after byte, for ever",
    "500": "answers 500",
    "redirect": "redirects to another receiver",
    "huge": "answers with 1 GiB",
    "half": "closes in the middle of its status",
    "cut": "closes after the status 200, in a header",
}
STEPS = {
    "post": "well; the worker is killed (-9) as it would send",
    "end_attempt": "well; it is killed between the answer and its record",
}
KILLED = """
import os, signal, sys
from db.connection.engine import make_engine
from jobs.queue.service_settings import ServiceSettings
from jobs import webhooks
def killed(*_, **__): os.kill(os.getpid(), signal.SIGKILL)
setattr(webhooks, sys.argv[2], killed)
webhooks.deliver_due(make_engine(sys.argv[1]), ServiceSettings(webhook_allow="127.0.0.1"))
"""


@dataclass(frozen=True)
class Row:
    """What came of one fault."""

    database: str
    fault: str
    jobs: str  # what came of the jobs beside it; empty where there were none
    seconds: float | None  # what they took
    events: int
    attempts: int
    lost: int
    again: int  # sent again after an acknowledgement
    given_up: int
    excused: bool = False  # whether `lost` and `again` are as documented

    @property
    def fine(self) -> bool:
        """Whether all is as it should be."""
        unharmed = self.jobs in ("", f"{JOBS} done, {JOBS * TRIALS} trials, each once")
        return unharmed and (self.excused or self.lost == self.again == 0)


def counted(kind: str, fault: str, engine: Engine, receiver: Receiver, **more: object) -> Row:
    """A row, from what the receiver has acknowledged and the outbox tells."""
    told = read_deliveries(engine)
    acknowledged = receiver.acknowledged
    values: dict[str, object] = {"jobs": "", "seconds": None, **more}
    return Row(
        database=kind,
        fault=fault,
        events=len(told),
        attempts=sum(each.attempts for each in told),
        lost=len(told) - len(acknowledged),
        again=sum(acknowledged.values()) - len(acknowledged),
        given_up=sum(each.state == "given_up" for each in told),
        **values,  # type: ignore[arg-type]
    )


def beside_jobs(kind: str, fault: str, engine: Engine, url: str, folder: Path) -> Row:
    """Jobs of a real worker while the receiver fails; then it is well again."""
    port = unused_port()
    receiver = Receiver(port=port)
    add_webhook(engine, receiver.url, EVENTS, new_secret(), None)
    settings = Settings(bench_dir=folder / "bench", lock=folder / "lock", free_bytes=0)
    scene = Scene(engine, url, folder, settings)
    jobs = [scene.submit(trials=TRIALS) for _ in range(JOBS)]
    soon = mock.patch.multiple(webhooks, FIRST_SECONDS=FIRST, LONGEST_SECONDS=LONGEST)
    with soon, receiving() as elsewhere:
        receiver.elsewhere = elsewhere.url
        began = time.monotonic()
        with at_work(scene, service=ALLOWS):
            with receiving(fault, port, receiver) if fault != "down" else nullcontext():
                for job in jobs:
                    scene.await_state(job, JobState.DONE)
                seconds = time.monotonic() - began
                wait_until(
                    lambda: sum(e.attempts for e in read_deliveries(engine)) >= JOBS,
                    seconds=60, what="it was tried some times",
                )  # fmt: skip
            with receiving("well", port, receiver):
                wait_until(
                    lambda: all(e.state != "waiting" for e in read_deliveries(engine)),
                    seconds=60, what="nothing waits any more",
                )  # fmt: skip
                time.sleep(2 * LONGEST)  # what would be sent again comes within it
        assert elsewhere.got == [], "a redirect was followed"
    for job in jobs:
        scene.check_done(job, TRIALS)  # asserts that each trial was measured once
    measured = len((folder / "record").read_text().splitlines())
    told = f"{len(jobs)} done, {measured} trials, each once"
    return counted(kind, WORDS[fault], engine, receiver, jobs=told, seconds=seconds)


def ended_jobs(engine: Engine, url: str) -> None:
    """A webhook, and jobs that have ended since."""
    add_webhook(engine, url, EVENTS, new_secret(), None)
    for _ in range(JOBS):
        job = JobStore(engine).create_job({"workload": {"name": "load"}}, "d")
        JobStore(engine).set_state(job, JobState.FAILED, error="the disk is full")


@contextmanager
def clock() -> Iterator[Callable[[timedelta], None]]:
    """Sets the clock of deliveries ahead."""
    passed = [timedelta()]

    def ahead(by: timedelta) -> None:
        passed[0] += by

    with mock.patch.object(webhooks, "present", lambda engine: present(engine) + passed[0]):
        yield ahead


def gone_for(kind: str, hours: int, engine: Engine, url: str, folder: Path) -> Row:
    """Nobody listens for so long; then for another day somebody does."""
    del url, folder
    receiver = Receiver(port=unused_port())
    ended_jobs(engine, receiver.url)
    minute = timedelta(minutes=1)
    with clock() as ahead:
        for _ in range(60 * hours):
            deliver_due(engine, ALLOWS)
            ahead(minute)
        with receiving("well", receiver.port, receiver):
            for _ in range(60 * 24):
                deliver_due(engine, ALLOWS)
                ahead(minute)
    late = hours > ALLOWS.webhook_retry_hours
    return counted(kind, f"gone for {hours} hours", engine, receiver, excused=late)


def killed_at(kind: str, step: str, engine: Engine, url: str, folder: Path) -> Row:
    """The worker's process is killed at a step; another one goes on."""
    del folder
    with receiving() as receiver, clock() as ahead:
        ended_jobs(engine, receiver.url)
        done = subprocess.run([sys.executable, "-c", KILLED, url, step], cwd=ROOT, check=False)
        assert done.returncode == -9, done
        for _ in range(5):
            deliver_due(engine, ALLOWS)
            ahead(timedelta(minutes=1))
    excused = step == "end_attempt"
    assert len(set(receiver.ids)) == JOBS, "what is sent again has the same number"
    return counted(kind, STEPS[step], engine, receiver, excused=excused)


def rows_on(kind: str) -> Iterator[Row]:
    """All faults on a database of a kind, each on an empty one."""
    runs = [
        *(partial(beside_jobs, kind, fault) for fault in WORDS),
        *(partial(gone_for, kind, hours) for hours in (23, 25)),
        *(partial(killed_at, kind, step) for step in STEPS),
    ]
    for run in runs:
        with tempfile.TemporaryDirectory(prefix="hooks-") as temporary:
            folder = Path(temporary)
            with database(kind, folder) as url:
                engine = make_engine(url)
                upgrade_tables(engine)
                try:
                    yield run(engine, url, folder)
                finally:
                    engine.dispose()


def page(rows: list[Row]) -> str:
    """The page."""
    lines = [
        "# Webhooks whose receivers fail",
        "",
        f"{made_by('make prove-webhooks')}.",
        "",
        f"A real worker runs {JOBS} jobs of {TRIALS} trials of an instant command while a real "
        "receiver on loopback fails; then it is well again. The end of each job is one event. "
        f"So that this takes minutes, an answer is waited for {ANSWER} s instead of 10, and the "
        f"waits between attempts begin at {FIRST} s and end at {LONGEST:g} s instead of 10 and "
        "3600. *Gone* and *killed* have the real waits and a clock that is set ahead, and no "
        "worker's jobs beside them. The seconds are coarse: receiver, worker and jobs share one "
        "process here, and other work may run on the machine.",
        "",
        "*Lost*: never acknowledged. *Again*: sent once more after an acknowledgement (2xx).",
        "",
        "| receiver | database | jobs | seconds of the jobs | events | attempts | lost | again "
        "| given up |",
        "|---|---|---|--:|--:|--:|--:|--:|--:|",
    ]
    for row in rows:
        seconds = "-" if row.seconds is None else f"{row.seconds:.1f}"
        lines.append(
            f"| {row.fault} | {row.database} | {row.jobs or '-'} | {seconds} | {row.events} "
            f"| {row.attempts} | {row.lost} | {row.again} | {row.given_up} |"
        )
    lines += [
        "",
        f"An event is given up {ALLOWS.webhook_retry_hours:g} hours after it happened "
        "(`ROCKTUNE_WEBHOOK_RETRY_HOURS`); the log of deliveries says so. A worker that is killed "
        "between the answer and its record cannot know that it came: this one message is sent "
        "again, with the same `webhook-id`, by which a receiver can tell.",
    ]  # fmt: skip
    return "\n".join(lines) + "\n"


def main() -> int:
    """Strikes every fault and writes the page; the exit status."""
    webhooks.ANSWER_SECONDS, worker._ROUND_SECONDS = ANSWER, 0.1
    rows = []
    for kind in DATABASES:
        for row in rows_on(kind):
            print(row, flush=True)
            rows.append(row)
    PAGE.write_text(page(rows), encoding="utf-8")
    wrong = [row for row in rows if not row.fine]
    for row in wrong:
        print(f"wrong: {row}", file=sys.stderr)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
