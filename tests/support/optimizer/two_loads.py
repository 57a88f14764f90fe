"""A bench whose confirmation measures a load eight times as large."""

from dataclasses import dataclass

from optimizer.trials.trial import Phase, Trial
from sampler.workload.workload import Workload
from tests.support.optimizer.pretend_bench import Configuration, Metrics, PretendBench

LARGER = Workload(name="pretended", num=800_000, scale=8)


@dataclass
class TwoLoads(PretendBench):
    """There it takes eight times as long, and may answer otherwise."""

    def larger(self, configuration: Configuration) -> Metrics:
        """What the confirmation finds."""
        return self.function(configuration)

    def measure(self, trial: Trial) -> Metrics:
        if trial.phase is not Phase.CONFIRM:
            return super().measure(trial)
        metrics = self.larger(trial.configuration)
        metrics["time"] *= 8
        return metrics | {"wall_seconds": metrics["time"] + 2.0}
