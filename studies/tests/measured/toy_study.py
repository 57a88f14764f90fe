"""A study whose benchmark is a formula: its runs cost nothing."""

from dataclasses import dataclass, field

from sampler.runner.outcome import Outcome, TrialState
from studies.real_search.study import Study
from studies.tests.learned.toy_function import toy

ENVIRONMENT = {"cpu": "a processor", "cores": 2, "system": "a system", "rocksdb": "7.8.3"}


class Killed(BaseException):
    """The power goes."""


@dataclass
class ToyBench:
    """Meets `optimizer.run.ports.Bench`; dies when it is asked for one run more than `most`."""

    most: int = 10**6
    asked: list = field(default_factory=list)
    name: str = "toy"
    cancelled: bool = False

    def start(self, trial, *, cutoff_seconds):
        self.asked.append((trial, cutoff_seconds))

    def wait(self, _timeout):
        if len(self.asked) > self.most:
            raise Killed
        trial, cutoff = self.asked[-1]
        noisy = toy().measured(trial, None)
        # RocksDB adjusts what it is given, and what is learned from are the values in effect: here
        # a parameter that matters never moves.
        effective = {**trial.configuration, "buffer": 0.5}
        metrics = {**noisy.metrics, "memory": 1.0, "wall_seconds": noisy.metrics["time"] + 0.5}
        metrics |= {"others_cpu": 0.125, "machine_speed": 1.0}
        slow = cutoff is not None and metrics["wall_seconds"] > cutoff
        return Outcome(
            state=TrialState.CENSORED if slow else TrialState.DONE,
            metrics={"time": cutoff, "rate": metrics["rate"]} if slow else metrics,
            counters={"bytes.written": 1},
            effective=effective,
            bench_seconds=1.0,
        )

    def cancel(self):
        self.cancelled = True


def toy_study(bench, *, evaluations=15):
    return Study("abc", toy().problem, evaluations, ENVIRONMENT, bench)
