"""Pretended rows of the ranking study: metrics as a formula of the configuration."""

from collections.abc import Callable, Mapping

from jobs.specification.resolved_job import resolve
from sampler.parameters.parameter import Value
from sampler.runner.outcome import TrialState
from studies.ranking_scale.configurations import STEPS, Configurations
from studies.ranking_scale.order import order_of
from studies.ranking_scale.rows import Row
from studies.ranking_scale.scales import SCALES, Scale, specification_at

HOST = {"cpu": "a cpu", "cores": "2", "memory_bytes": "8589934592", "file_system": "ext4",
        "system": "a system", "rocksdb": "7.8.3"}  # fmt: skip
Formula = Callable[[Mapping[str, Value], Scale], float]


def wanted(draws: int = 12) -> Configurations:
    """The configurations of a study."""
    return Configurations(resolve(specification_at(SCALES[0]), None).problem, draws, 1)


def rows(waf: Formula, *, draws: int = 12, state: TrialState = TrialState.DONE) -> list[Row]:
    """A whole study; every hundredth of WAF is noise that goes round with the runs."""
    configurations = wanted(draws)
    by_divisor = {scale.divisor: scale for scale in SCALES}
    found = []
    for place, run in enumerate(order_of(SCALES, draws=draws, steps=len(STEPS))):
        scale = by_divisor[run.divisor]
        if run.kind == "baseline":
            configuration = configurations.baseline()
        elif run.kind == "draw":
            configuration = configurations.draw(run.index)
        else:
            configuration = configurations.step(run.index)
        value = waf(configuration, scale) * (1 + 0.001 * (place % 5))
        metrics = {"waf": value, "sa": 1 + place % 7, "time": value * scale.num, "rate": 1 / value}
        found.append(Row(
            run=run, num=scale.num, configuration=configuration, state=state,
            metrics=metrics, levels=(0, 10, 90), failure=None, warnings=(), seconds=1.0,
            ended="2026-11-22T10:00:00+00:00", host=HOST,
        ))  # fmt: skip
    return found
