"""Jobs that are cancelled in the middle of their trials: how soon nothing of them runs."""

import time
from random import Random

from sqlalchemy import Engine

from db.jobs.job_queue import enqueue_job
from db.jobs.job_store import JobStore
from db.schema.job_row import JobState
from jobs.queue.lifecycle import WAITS, cancel_stored
from jobs.specification.named_files import specify
from optimizer.trials.trial import Trial
from sampler.bench.outcome import TrialState
from studies.faults.fault_cluster import HOSTS, FaultCluster
from studies.faults.fault_tally import Tally
from studies.faults.struck_job import Told, left_behind, stopped, submitted
from tests.support.cluster import fault_count
from tests.support.jobs.service_desk import wait_until

ENDS_WITHIN = 2.0
_BEGINS_WITHIN = 180.0
_WATCHED, _QUIET = 3.0, 1.0  # a run may still begin until the controller has heard of it
_GIVEN_UP_AFTER = 30.0
_TRIALS = 400  # more than will be made
# Each host's processors are those of this machine: a load of seconds, cancelled in its middle.
_LOAD = """\
name = "long"
benchmarks = ["fillrandom"]
num = 2_000_000
key_size = 16
value_size = 100
scale = 64
timeout_seconds = 600
"""


class CancelledJobs:
    """One job after the other on the same cluster, each cancelled once."""

    def __init__(
        self, cluster: FaultCluster, engine: Engine, told: Told, *, with_db_bench: bool
    ) -> None:
        self.cluster, self.engine, self.told = cluster, engine, told
        self.store, self.tally = JobStore(engine), Tally(slowest_cancel=0.0)
        self.with_db_bench = with_db_bench
        cluster.bench.takes(2000, 4000)

    def cancel_one(self, chance: Random) -> None:
        """Submits a job, waits until all hosts measure, and for a random moment; cancels."""
        job = self._submitted()
        wait_until(self._all_measure, seconds=_BEGINS_WITHIN, what="all hosts measure")
        more = 1 + chance.randrange(4)
        if not self.with_db_bench:
            goal = more + len(self.cluster.bench.lines())
            wait_until(
                lambda: len(self.cluster.bench.lines()) >= goal,
                seconds=_BEGINS_WITHIN, what="more runs have begun or ended",
            )  # fmt: skip
        time.sleep(chance.uniform(0, 1.5))
        wait_until(self.cluster.children, seconds=_BEGINS_WITHIN, what="something runs")
        before = self._trials(job)
        ran = len(self.cluster.children())
        cancel_stored(self.engine, job)
        seconds = self._until_nothing_runs()
        self.tally.faults += 1
        self._count(job, before, seconds)
        self.told({"struck": f"job {job} cancelled, {ran} processes", "seconds": seconds})

    def finish(self) -> Tally:
        """Ends the worker and counts what is left."""
        self.tally.add("unfinished", stopped(self.cluster))
        self.tally.add("orphans", left_behind(self.cluster))
        return self.tally

    def _submitted(self) -> int:
        if not self.with_db_bench:
            return submitted(self.engine, self.cluster, trials=_TRIALS)
        path = self.cluster.folder / "long.toml"
        path.write_text(_LOAD)
        asked = specify(workload=str(path), strategy="random", trials=_TRIALS)
        job, _ = enqueue_job(self.engine, asked.document(), asked.digest(), why=WAITS)
        return job

    def _all_measure(self) -> bool:
        return {each.host for each in self.cluster.children()} == set(HOSTS)

    def _trials(self, job: int) -> dict[int, Trial]:
        return {trial.number: trial for trial in self.store.trials(job)}

    def _until_nothing_runs(self) -> float:
        """Seconds until the last process of a benchmark was seen alive on any host."""
        began, last = time.monotonic(), 0.0
        while True:
            if self.cluster.children():
                last = time.monotonic() - began
            now = time.monotonic() - began
            if (now > _WATCHED and now > last + _QUIET) or now > _GIVEN_UP_AFTER:
                return round(last, 2)
            time.sleep(0.01)

    def _count(self, job: int, before: dict[int, Trial], seconds: float) -> None:
        tally = self.tally
        assert tally.slowest_cancel is not None
        tally.slowest_cancel = max(tally.slowest_cancel, seconds)
        if seconds > ENDS_WITHIN:
            tally.add("slow", [f"job {job}: something ran for {seconds:.2f} s after the cancel"])
        tally.add("orphans", [f"{each} after job {job}" for each in self.cluster.children()])
        try:
            wait_until(
                lambda: all(each.state is not TrialState.RUNNING
                            for each in self.store.trials(job)),
                seconds=_GIVEN_UP_AFTER, what=f"no trial of job {job} is running",
            )  # fmt: skip
        except AssertionError as late:
            tally.add("unfinished", [str(late)])
        now, state = self._trials(job), self.store.job(job).state
        if state is not JobState.CANCELLED:
            tally.add("unfinished", [f"job {job} is {state.value}"])
        ended = {number: trial for number, trial in before.items() if trial.has_outcome}
        tally.add("lost", fault_count.gone(ended, now))
        tally.add("duplicated", fault_count.changed(ended, now, ()))
        if not self.with_db_bench:
            record = self.cluster.bench.lines()
            tally.add("duplicated", fault_count.untraced(now.values(), record))
        tally.trials += len(now)
        tally.again += fault_count.runs_again(now.values())
        if again := fault_count.runs_again(now.values()):
            tally.add("unexplained", [f"job {job} has begun {again} runs again"])
