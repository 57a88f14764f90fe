"""Box plots of a metric by the groups of a parameter, with their analysis of variance.

Figure 7 of Jin et al. (JIPS 18(3), 2022): the two most and the two least important parameters,
each for the metric for which it is most, or least, important.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from jobs.charts.chart import Chart, axis, short, words
from models.importance.anova import group_labels
from optimizer.baseline.baseline import CLOCKS
from optimizer.budget.power import p_words
from optimizer.evaluation.evaluation import COMPARABLE
from optimizer.trials.trial import Phase, Purpose, Trial
from sampler.common.byte_size import format_bytes
from sampler.parameters.parameter import Parameter, Value

_EACH = 2
_CLOCK = (
    " Tested are logarithms, corrected for drift; runs that were cut off count by their bound."
)


@dataclass(frozen=True)
class Question:
    """Whether a parameter matters for a metric."""

    parameter: str
    metric: str
    top: bool  # whether it is one of the most important; else of the least
    anova: Mapping[str, Any]
    special: tuple[Value, ...] = ()  # values that mean something else than their neighbours
    is_bytes: bool = False


def questions(
    parameters: Sequence[Mapping[str, Any]], space: Mapping[str, Parameter]
) -> list[Question]:
    """The top and bottom parameters, each with its metric; fewer where there are fewer.

    ``parameters`` are rows of ``result.json``, the most important first.
    """
    rows = [row for row in parameters if _tested(row)]
    top, bottom = rows[:_EACH], rows[_EACH:][-_EACH:]
    return [
        *(_question(row, space, top=True) for row in top),
        *(_question(row, space, top=False) for row in bottom),
    ]


def _tested(row: Mapping[str, Any]) -> list[str]:
    """The metrics for which both an importance and a test are known."""
    return [m for m in row["importance"] if row["anova"].get(m, {}).get("p") is not None]


def _question(row: Mapping[str, Any], space: Mapping[str, Parameter], *, top: bool) -> Question:
    def weight(metric: str) -> float:
        return float(row["importance"][metric]["permutation"])

    metrics = _tested(row)
    metric = max(metrics, key=weight) if top else min(metrics, key=weight)
    known = space.get(row["name"])
    special, is_bytes = (known.special, known.is_bytes) if known else ((), False)
    return Question(row["name"], metric, top, row["anova"][metric], special, is_bytes)


def groups_chart(question: Question, trials: Sequence[Trial], unit: str) -> Chart | None:
    """The box plot of one question; None with fewer than two groups.

    The drawn trials are compared, as the analysis of variance does: those that ended well, and
    with their bounds those that were cut off. Starting points are no draws. ``unit`` is the
    metric's, for its axis.
    """
    drawn = [
        t
        for t in trials
        if t.purpose is Purpose.CANDIDATE and t.phase is Phase.SAMPLE and t.state in COMPARABLE
        if not t.is_start
    ]
    values = [t.features.get(question.parameter) for t in drawn]
    special = [v for v in question.special if not isinstance(v, str)]
    boxes = _boxes(group_labels(values, special=special), values, drawn, question.metric)
    if len(boxes) < 2:
        return None
    fences = [_fences(box) for _, box in boxes]
    rank, color = ("most", "@accent") if question.top else ("least", "@dim")
    p = question.anova.get("p_holm")
    found = "differs between its values" if p is not None and p < 0.05 else "shows no difference"
    return Chart(
        name=f"groups-{question.parameter}-{question.metric}",
        title=f"{question.parameter}, one of the {rank} important: {question.metric} {found}",
        caption=f"{_statistics(question.anova)} Boxes: quartiles, dashed: mean; whiskers: the "
        "farthest within 1.5 interquartile ranges; n drawn trials in each."
        + (_CLOCK if question.metric in CLOCKS else ""),
        traces=[
            {
                "type": "box",
                "orientation": "h",
                "y": [_label(label, len(box), question.is_bytes) for label, box in boxes],
                **{name: [short(each[name]) for each in fences] for name in fences[0]},
                "marker": {"color": color},
                "line": {"color": color, "width": 1.5},
                "fillcolor": "@band",
                "showlegend": False,
            }
        ],
        layout={
            "xaxis": axis(f"{words(question.metric)}{unit}", zeroline=False),
            "yaxis": {"type": "category", "autorange": "reversed", "showgrid": False},
        },
        height=130 + 44 * len(boxes),
    )


def _fences(values: NDArray[np.float64]) -> dict[str, float]:
    """Where a box and its whiskers end, by Plotly's names."""
    q1, median, q3 = (float(q) for q in np.percentile(values, [25, 50, 75]))
    reach = 1.5 * (q3 - q1)
    inside = values[(values >= q1 - reach) & (values <= q3 + reach)]
    low, high = (float(inside.min()), float(inside.max())) if inside.size else (q1, q3)
    ends = {"lowerfence": min(low, q1), "upperfence": max(high, q3)}
    return {"q1": q1, "median": median, "q3": q3, **ends, "mean": float(values.mean())}


def _boxes(
    labels: Sequence[str | None], values: Sequence[Value | None], trials: Sequence[Trial],
    metric: str,
) -> list[tuple[str, NDArray[np.float64]]]:  # fmt: skip
    """The groups of at least two trials, by the least value in each."""
    members: dict[str, list[float]] = {}
    least: dict[str, tuple[bool, float, str]] = {}
    for label, value, trial in zip(labels, values, trials, strict=True):
        if label is None or value is None or metric not in trial.metrics:
            continue
        members.setdefault(label, []).append(trial.metrics[metric])
        number = isinstance(value, int | float)
        key = (not number, float(value) if isinstance(value, int | float) else 0.0, label)
        least[label] = min(least.get(label, key), key)
    kept = [label for label in members if len(members[label]) > 1]
    return [(label, np.array(members[label])) for label in sorted(kept, key=least.__getitem__)]


def _label(label: str, size: int, is_bytes: bool) -> str:
    parts = [
        format_bytes(float(part)) if is_bytes else _number(part) for part in label.split(" to ")
    ]
    return f"{words(' to '.join(parts), 30)}<br>n = {size}"


def _number(text: str) -> str:
    """A number of many digits with fewer."""
    try:
        return text if len(text) < 7 else f"{float(text):.4g}"
    except ValueError:
        return text


def _statistics(anova: Mapping[str, Any]) -> str:
    p, eta = anova.get("p_holm"), anova.get("eta_squared")
    effect = "" if eta is None else f", eta squared {eta:.2f}"
    return f"{p_words(p)} (Holm){effect}."
