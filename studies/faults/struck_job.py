"""One job on a cluster that is struck by a fault again and again, and what went wrong."""

import time
from collections.abc import Callable
from random import Random
from typing import Any

from sqlalchemy import Engine

from db.jobs.job_queue import enqueue_job
from db.jobs.job_store import JobStore
from db.schema.job_row import JobState
from jobs.execution.held_job import is_away
from jobs.queue.lifecycle import WAITS
from jobs.specification.named_files import specify
from optimizer.trials.trial import Trial
from studies.faults.fault_cluster import HOSTS, FaultCluster
from studies.faults.fault_kinds import Fault
from studies.faults.fault_tally import Tally
from tests.support.cluster import fault_count
from tests.support.cluster.fault_bench import Line
from tests.support.jobs.service_desk import wait_until
from tests.support.sampler.codec_space import SPACE

_BESIDE = 60  # trials for baselines and confirmation
_RECOVERS_WITHIN = 120.0
_GONE_WITHIN = 2.0  # a process that was just told to die is still there for a moment
_SLOW, _FAST = (2000, 4000), (50, 100)
Told = Callable[[dict[str, Any]], None]


class StruckJob:
    """A job of so many faults."""

    def __init__(
        self, cluster: FaultCluster, engine: Engine, fault: Fault, times: int, told: Told
    ) -> None:
        self.cluster, self.fault, self.told = cluster, fault, told
        self.engine, self.store = engine, JobStore(engine)
        self.asked = _BESIDE + times * fault.trials
        self.tally, self.explained = Tally(), 0
        self.ended: dict[int, Trial] = {}
        cluster.bench.takes(*_SLOW)
        self.job = submitted(engine, cluster, trials=self.asked)

    def strike(self, chance: Random) -> None:
        """Waits for a random moment, does it, and waits until every struck host measures again."""
        self._await_begun(chance.randint(1, 4), HOSTS)
        time.sleep(chance.uniform(0, 1.5))
        self._look()
        given_up = len(self.cluster.begun_again())
        with self.fault.strike(self.cluster, chance) as struck:
            older = {each.token for each in self.cluster.children()}
            older |= {line.token for line in self.cluster.bench.lines()}
        self.tally.faults += 1
        began = time.monotonic()
        late = []
        for host in struck.hosts:
            try:
                self._await_newer(host, older)
            except AssertionError as error:
                late.append(str(error))
        self.tally.add("unfinished", late)
        self.tally.add("orphans", self._left(older, struck.hosts))
        self._look()
        seconds = round(time.monotonic() - began, 1)
        lost = self.cluster.begun_again()[given_up:]
        self.explained += len(lost)
        self.tally.add("unexplained", lost[self.fault.again :])
        line = {"struck": struck.what, "back_after": seconds, "ended": len(self.ended)}
        self.told(line | {"given_up": lost})

    def finish(self, *, seconds: float) -> Tally:
        """Lets the job go on to its end and counts."""
        self.cluster.bench.takes(*_FAST)
        live = (JobState.QUEUED, JobState.RUNNING)
        try:
            wait_until(
                lambda: patient(self.engine, lambda: self.store.job(self.job)).state not in live,
                seconds=seconds, what="the job has ended",
            )  # fmt: skip
        except AssertionError as late:
            self.tally.add("unfinished", [str(late)])
        now, record = self._look(), self.cluster.bench.lines()
        row = self.store.job(self.job)
        total = ((self.store.result(self.job) or {}).get("trials") or {}).get("total")
        if (row.state, total) != (JobState.DONE, self.asked):
            told = f"the job is {row.state.value} with {total} of {self.asked}: {row.error}"
            self.tally.add("unfinished", [told])
        self.tally.add("lost", fault_count.missing(self.asked, now))
        self.tally.add("duplicated", fault_count.untraced(now.values(), record))
        self.tally.trials = len(now)
        self._count_again(now, record)
        self.tally.add("unfinished", stopped(self.cluster))
        self.tally.add("orphans", left_behind(self.cluster))
        return self.tally

    def _look(self) -> dict[int, Trial]:
        """Compares what had ended with what is stored now."""
        now = {
            trial.number: trial
            for trial in patient(self.engine, lambda: self.store.trials(self.job))
        }
        self.tally.add("lost", fault_count.gone(self.ended, now))
        self.tally.add("duplicated", fault_count.changed(self.ended, now, self._taken_back()))
        self.ended = {number: trial for number, trial in now.items() if trial.has_outcome}
        return now

    def _taken_back(self) -> list[dict[str, Any]]:
        document = patient(self.engine, lambda: self.store.recall(self.job, "withdrawn"))
        return list(document["trials"]) if document else []

    def _count_again(self, now: dict[int, Trial], record: list[Line]) -> None:
        """Runs begun again without a fault: by the rows, and by the benchmark's own record.

        What a fault cost beyond its due was counted when it struck.
        """
        self.tally.again = fault_count.runs_again(now.values())
        most = self.explained + len(self._taken_back())
        if self.tally.again > most:
            told = f"{self.tally.again} runs were begun again, {most} when a fault struck"
            self.tally.add("unexplained", [told] * (self.tally.again - most))
        more = fault_count.begun(record) - len(now) - self.tally.again
        if more > 0:
            self.tally.add("unexplained", [f"{more} runs that no row tells of"] * more)

    def _left(self, older: set[str], hosts: tuple[str, ...]) -> list[str]:
        def there() -> list[str]:
            children = [each for each in self.cluster.children() if each.host in hosts]
            return fault_count.left(children, older)

        return still(there)

    def _await_begun(self, count: int, hosts: tuple[str, ...]) -> None:
        goal = count + self._begun(hosts)
        what = f"{count} more runs have begun on {', '.join(hosts)}"
        wait_until(lambda: self._begun(hosts) >= goal, seconds=_RECOVERS_WITHIN, what=what)

    def _await_newer(self, host: str, older: set[str]) -> None:
        """Until a host has begun a run after what it ran when it was struck."""

        def newer() -> bool:
            lines = self.cluster.bench.lines()
            return any(each.host == host and each.token not in older for each in lines)

        wait_until(newer, seconds=_RECOVERS_WITHIN, what=f"host {host} has begun a new run")

    def _begun(self, hosts: tuple[str, ...]) -> int:
        lines = self.cluster.bench.lines()
        return sum(line.word == "begins" and line.host in hosts for line in lines)


def submitted(engine: Engine, cluster: FaultCluster, *, trials: int) -> int:
    """A job of the benchmark that keeps its record."""
    (cluster.folder / "space.toml").write_text(SPACE)
    specification = specify(
        workload=str(cluster.bench.workload()), space=str(cluster.folder / "space.toml"),
        objective="waf", strategy="random", trials=trials,
    )  # fmt: skip
    job, _ = enqueue_job(engine, specification.document(), specification.digest(), why=WAITS)
    return job


def patient(engine: Engine, ask: Callable[[], Any]) -> Any:
    """What the database answers; it may have gone away just now."""

    def answer() -> tuple[Any] | None:
        try:
            return (ask(),)
        except Exception as error:
            if not is_away(error, engine):
                raise
            return None

    return wait_until(answer, seconds=60, what="the database answers")[0]


def still(there: Callable[[], list[str]]) -> list[str]:
    """What is still there after a moment."""
    deadline = time.monotonic() + _GONE_WITHIN
    while (found := there()) and time.monotonic() < deadline:
        time.sleep(0.05)
    return found


def stopped(cluster: FaultCluster) -> list[str]:
    """Asks the controller to end; what was wrong with that."""
    status = cluster.controller.stop(seconds=60)
    return [f"the worker ended with status {status}"] if status else []


def left_behind(cluster: FaultCluster) -> list[str]:
    """Processes and folders of benchmarks, when nothing is measured any more."""
    return still(lambda: [*map(str, cluster.children()), *map(str, cluster.folders())])
