"""The plots of what matters that need a job's trials: box plots, dependence, pairs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy import Engine

from db.schema.job_row import JobRow
from db.trials.trial_rows import sampled_trials
from jobs.charts.chart import Chart
from jobs.charts.dependence import dependence, pair_effect
from jobs.charts.groups import Question, groups, questions
from jobs.views.dependence_of_job import dependence_of_job
from optimizer.ranking.dependence import Dependences, Together
from sampler.space.space_file import space_from_document
from sampler.workload.metric_units import BYTES, unit_of

_MOST_TRIALS = 5000  # box plots of more show nothing else
_PARAMETERS = 6
_PAIRS_DRAWN, _LEAST_DRAWN = 4, 0.005
_PAIRS_TOLD = 10


@dataclass(frozen=True)
class Details:
    """What is learned from trials one by one.

    Attributes:
        boxes: Of the two most and the two least important parameters.
        dependence: Of the parameters that make most of the variance.
        pairs: Of the strongest pairs.
        told: The pairs in rows, the strongest first.
        trials: How many the models have learned from; None: they know too little.
        unexplained: By metric, the share of the variance of the trials that is noise to them.
    """

    boxes: Sequence[Chart]
    dependence: Sequence[Chart]
    pairs: Sequence[Chart]
    told: Sequence[Together]
    trials: int | None
    unexplained: Mapping[str, float]


def details(engine: Engine, job: JobRow, found: Mapping[str, Any], *, learned: bool) -> Details:
    """The plots.

    Args:
        engine: The database.
        job: Whose trials are drawn.
        found: ``result.json``, or a ranking of a job that goes on.
        learned: Whether its forests and tests say anything.
    """
    boxes = _boxes(engine, job, found) if learned else []
    known = dependence_of_job(engine, job)
    if known is None:
        return Details(boxes, [], [], [], None, {})
    sizes = {
        each.name: each.scaled
        for each in space_from_document(job.specification["space"]).parameters
    }
    drawn = [pair for pair in known.pairs if pair.share >= _LEAST_DRAWN][:_PAIRS_DRAWN]
    return Details(
        boxes=boxes,
        dependence=_curves(known, sizes),
        pairs=[_pair(known, pair, sizes) for pair in drawn],
        told=known.pairs[:_PAIRS_TOLD],
        trials=known.trials,
        unexplained=known.unexplained,
    )


def _curves(known: Dependences, sizes: Mapping[str, bool]) -> list[Chart]:
    total: dict[str, float] = {}
    for curve in known.curves:
        total[curve.parameter] = total.get(curve.parameter, 0.0) + curve.share
    first = sorted(total, key=lambda name: -total[name])[:_PARAMETERS]
    metrics = list(known.unexplained)  # a metric has the same colour in every plot
    curves = sorted(known.curves, key=lambda curve: metrics.index(curve.metric))
    drawn = [
        dependence(
            name,
            [curve for curve in curves if curve.parameter == name],
            known.settings[name],
            is_bytes=sizes.get(name, False),
        )
        for name in first
    ]
    return [chart for chart in drawn if chart is not None]


def _pair(known: Dependences, pair: Together, sizes: Mapping[str, bool]) -> Chart:
    one, other = pair.parameters
    values = (known.settings[one], known.settings[other])
    return pair_effect(pair, values, is_bytes=(sizes.get(one, False), sizes.get(other, False)))


def _boxes(engine: Engine, job: JobRow, found: Mapping[str, Any]) -> list[Chart]:
    trials, _ = sampled_trials(engine, job.id, most=_MOST_TRIALS)
    parameters = sorted(found["parameters"], key=lambda row: row["rank"])
    space = space_from_document(job.specification["space"]).by_name
    drawn = []
    for asked in questions(parameters):
        known = space.get(asked.parameter)
        kind = (known.special, known.scaled) if known else ((), False)
        question = Question(asked.parameter, asked.metric, asked.top, asked.anova, *kind)
        drawn.append(groups(question, trials, _unit(asked.metric)))
    return [chart for chart in drawn if chart is not None]


def _unit(metric: str) -> str:
    unit = unit_of(metric)
    return f", {'bytes' if unit == BYTES else unit}" if unit else ""
