"""What the tests of several plots share."""

from typing import Any

from jobs.charts.chart import Chart
from optimizer.objective.objective import Term
from optimizer.trials.trial import Trial
from tests.support.optimizer.pretend_bench import trial_of

MIB = 2.0**20
TERMS = (Term("waf", "min"), Term("rate", "max"))


def trace(chart: Chart | None, name: str) -> Any:
    assert chart is not None
    return next(each for each in chart.traces if each.get("name") == name)


def candidates(fitness: dict[int, float], **metrics: list[float]) -> list[Trial]:
    return [
        trial_of(number, {name: values[i] for name, values in metrics.items()})
        for i, number in enumerate(fitness)
    ]


def row(name: str, rank: int, permutation: float, **more: float) -> dict[str, Any]:
    return {
        "name": name,
        "rank": rank,
        "importance": {"waf": {"mdi": 0.5, "permutation": permutation,
                               "permutation_std": 0.1, **more}},
        "anova": {"waf": {"p": 0.01, "p_holm": 0.02, "eta_squared": 0.25}},
    }  # fmt: skip
