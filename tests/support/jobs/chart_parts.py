"""What the tests of several plots share."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

from jobs.charts.chart import Chart
from optimizer.objective.objective import Term
from optimizer.results.ranking import ParameterImportance
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


def row(
    name: str,
    rank: int,
    permutation: float,
    metrics: Mapping[str, float] = MappingProxyType({}),
    **more: float,
) -> ParameterImportance:
    """``metrics``: the permutation importance of more metrics than ``waf``."""
    known = {"waf": permutation, **metrics}
    forest = {
        metric: {"mdi": 0.5, "permutation": value, "permutation_std": 0.1, **more}
        for metric, value in known.items()
    }
    anova = {metric: {"p": 0.01, "p_holm": 0.02, "eta_squared": 0.25} for metric in known}
    document = {"name": name, "rank": rank, "importance": forest, "anova": anova}
    return ParameterImportance.model_validate(document)
