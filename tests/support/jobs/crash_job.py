"""One job of the service, killed again and again, and the count of what went wrong."""

import random
import time
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from sqlalchemy.exc import OperationalError

from db.connection.engine import make_engine
from db.jobs.job_store import JobStore
from db.schema.job_row import JobState
from optimizer.trials.trial import Trial
from sampler.bench.outcome import TrialState
from tests.support.jobs.crash_bench import RecordedBench, marked, written
from tests.support.jobs.service_desk import ServiceDesk, ServiceProcess, wait_until

_OPEN = (TrialState.RUNNING, TrialState.LOST)
_STEPS_AT_MOST = 120.0


@dataclass
class Tally:
    """What went wrong; all of it must be nothing. And what may happen, for the table."""

    lost: int = 0
    duplicates: int = 0
    repeated_too_often: int = 0
    orphans: int = 0
    wrong_end: int = 0
    kills: int = 0
    trials: int = 0
    repeated: int = 0
    notes: list[str] = field(default_factory=list)

    def wrong(self) -> int:
        return (
            self.lost + self.duplicates + self.repeated_too_often + self.orphans + self.wrong_end
        )

    def note(self, what: str) -> None:
        self.notes.append(what)


class CrashedJob:
    """A job over HTTP whose processes are killed.

    Args:
        split: The server and the worker are two processes.
        bench: Its record, where there is one.
    """

    def __init__(
        self,
        desk: ServiceDesk,
        body: Mapping[str, Any],
        *,
        split: bool,
        chance: random.Random,
        bench: RecordedBench | None,
        told: Callable[[dict[str, Any]], None] = lambda _: None,
    ) -> None:
        self.desk, self.split, self.chance, self.bench = desk, split, chance, bench
        self.told = told
        self.tally = Tally()
        self.asked = int(body["trials"])
        self.engine = make_engine(desk.url)
        self.store = JobStore(self.engine)
        self.running: dict[str, ServiceProcess] = {}
        self.ended: dict[int, Trial] = {}
        self.dead_tokens: set[str] = set()
        self._start(*self.parts)
        address = self.running[self.parts[0]].address()
        self.job_id = int(self.desk.call("POST", f"{address}/v1/jobs", dict(body))["id"])

    @property
    def parts(self) -> tuple[str, ...]:
        return ("server", "worker") if self.split else ("serve",)

    def _start(self, *parts: str) -> None:
        commands = {
            "serve": ("serve", "--port", "0"),
            "server": ("serve", "--port", "0", "--no-worker", "--migrate"),
            "worker": ("worker", "--migrate"),
        }
        for part in parts:
            self.running[part] = self.desk.start(*commands[part])

    def kill(self, after: float, progress: int) -> None:
        """Waits, then kills some of the processes and starts them again at once.

        Args:
            after: Seconds to wait.
            progress: Before that, waits until so many trials have begun.
        """
        self._await_progress(progress)
        time.sleep(after)
        parts = self.chance.choice(
            [("server",), ("worker",), ("server", "worker")] if self.split else [("serve",)]
        )
        self._look_for_orphans()
        before = set(marked(self.desk.bench).values())
        for part in parts:
            self.running[part].process.kill()
        for part in parts:
            self.running[part].process.wait()
        self.tally.kills += 1
        if parts != ("server",):
            self.dead_tokens = before | set(marked(self.desk.bench).values())
            if self.bench:
                self.dead_tokens |= {run.token for run in self.bench.runs()}
        stored = self._stored()
        self._start(*parts)
        self._compare(stored)
        self.told({"kill": self.tally.kills, "of": parts, "ended": len(self.ended)})

    def _await_progress(self, count: int) -> None:
        if not count:
            return
        goal = self._begun() + count
        what = f"{count} more trials begun, after {self.tally.kills} kills"
        wait_until(lambda: self._begun() >= goal, seconds=_STEPS_AT_MOST, what=what)

    def _begun(self) -> int:
        if self.bench:
            return sum(run.what == "start" for run in self.bench.runs())
        return sum(trial.attempt for trial in self._stored().values())

    def _stored(self) -> dict[int, Trial]:
        def read() -> list[Trial] | None:
            try:
                return self.store.trials(self.job_id) or None
            except OperationalError:
                return None  # the server ends a killed client's session

        for _ in range(25):  # it may have been killed before its first trial
            if found := read():
                return {trial.number: trial for trial in found}
            time.sleep(0.02)
        return {}

    def _compare(self, stored: Mapping[int, Trial]) -> None:
        """What had ended is there as it was, and one trial at most was in flight."""
        for number, trial in self.ended.items():
            if number not in stored:
                self.tally.lost += 1
                self.tally.note(f"kill {self.tally.kills}: trial {number} is gone")
            elif stored[number] != trial:
                self.tally.duplicates += 1
                self.tally.note(f"kill {self.tally.kills}: trial {number} has changed")
        flying = sum(trial.state in _OPEN for trial in stored.values())
        if flying > 1:
            self.tally.repeated_too_often += flying - 1
            self.tally.note(f"kill {self.tally.kills}: {flying} trials in flight")
        self.ended = {n: t for n, t in stored.items() if t.state not in _OPEN}

    def _look_for_orphans(self) -> None:
        """What a killed worker left running must be gone once the next one measures."""
        alive = marked(self.desk.bench)
        if not self.dead_tokens or not set(alive.values()) - self.dead_tokens:
            return  # no worker measures just now
        # A process that was just told to die is still listed for a moment.
        left = {pid for pid, token in alive.items() if token in self.dead_tokens}
        deadline = time.monotonic() + 20
        while left and time.monotonic() < deadline:
            time.sleep(0.05)
            left &= marked(self.desk.bench).keys()
        if left:
            self.tally.orphans += len(left)
            self.tally.note(f"kill {self.tally.kills}: processes {sorted(left)} were left")

    def finish(self, *, seconds: float) -> Tally:
        """Lets the job go on to its end, stops the processes and counts."""
        address = self.running[self.parts[0]].address()

        def over() -> bool:
            return self.desk.call("GET", f"{address}/v1/jobs/{self.job_id}")["state"] not in (
                JobState.QUEUED,
                JobState.RUNNING,
            )

        try:
            wait_until(over, seconds=seconds, what="the job has ended")
        except AssertionError as late:
            self.tally.wrong_end += 1
            self.tally.note(str(late))
        for part, process in self.running.items():
            if status := process.stop():
                self.tally.wrong_end += 1
                self.tally.note(f"{part} ended with status {status}")
        self._count()
        self.close()
        return self.tally

    def close(self) -> None:
        for process in self.running.values():
            process.kill()
        self.engine.dispose()

    def _count(self) -> None:
        stored = self._stored()
        self._compare(stored)
        tally = self.tally
        tally.trials = len(stored)
        missing = [n for n in range(1, self.asked + 1) if n not in self.ended]
        tally.lost += len(missing)
        row = self.store.job(self.job_id)
        result = self.store.result(self.job_id) or {"trials": {}}
        total = result["trials"].get("total")
        if (row.state, row.lease_owner, len(stored), total) != (
            JobState.DONE, None, self.asked, self.asked,
        ):  # fmt: skip
            tally.wrong_end += 1
            tally.note(f"in the end {row.state} {row.error} {row.lease_owner} {total} {missing}")
        tally.repeated = sum(trial.attempt - 1 for trial in stored.values())
        if tally.repeated > tally.kills:
            tally.repeated_too_often += tally.repeated - tally.kills
        if self.bench:
            self._count_runs(self.bench, stored)
        left = marked(self.desk.bench)
        folders = list(self.desk.bench.iterdir())
        if left or folders:
            tally.orphans += len(left) + len(folders)
            tally.note(f"left in the end: {left} {folders}")

    def _count_runs(self, bench: RecordedBench, stored: Mapping[int, Trial]) -> None:
        """Each trial was begun at most as often as its row says, and once to its end at least."""
        most, once = Counter[str](), Counter[str]()
        for trial in stored.values():
            most[written(trial.configuration)] += trial.attempt
            once[written(trial.configuration)] += 1
        again = bench.counted("start") - most
        unmeasured = once - bench.counted("end")
        self.tally.duplicates += again.total()
        self.tally.lost += unmeasured.total()
        if again or unmeasured:
            self.tally.note(f"measured without need {again}, rows without a run {unmeasured}")
