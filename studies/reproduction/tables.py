"""The tables of docs/results/reproduction.md: the paper's figures beside ours."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from studies.reproduction.published import ANALYSES, CHANGES, ORDER, R2
from studies.reproduction.study import Study

_METRICS = ("waf", "sa", "rate", "time")


def table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A table of markdown; all columns but the first are figures."""
    lines = [head, ["---", *("--:" for _ in head[1:])], *rows]
    return "\n".join("| " + " | ".join(cells) + " |" for cells in lines)


def figure(value: float | None) -> str:
    """Three or four digits, or a dash."""
    if value is None:
        return "-"
    return f"{value:,.0f}" if abs(value) >= 999.5 else f"{value:.3g}"


def chance(p: float | None) -> str:
    """A p-value."""
    if p is None:
        return "-"
    return f"{p:.2e}" if p < 0.001 else f"{p:.3f}"


def forests(study: Study, *, published: bool) -> str:
    """R2 of each metric's forest."""
    forest = study.result["forest"]
    head = ["metric", *(["paper, 8:2"] if published else []), "8:2", "5 folds", "sd", "trials"]
    rows = []
    for metric in _METRICS:
        ours = forest[metric]
        known = [f"{R2[metric]:.3f}"] if published else []
        values = (ours["r2"], ours["r2_cross_validated"], ours["r2_cross_validated_std"])
        cells = ("-" if value is None else f"{value:.3f}" for value in values)
        rows.append([metric.upper(), *known, *cells, f"{ours['trials']:,}"])
    return table(head, rows)


def ranking(study: Study, *, published: bool, count: int = 12) -> str:
    """The most important parameters, and the paper's first ones wherever they are."""
    parameters = study.result["parameters"]
    order = [row["name"] for row in parameters]
    wanted = [*order[:count], *(name for name in ORDER if published and name in order[count:])]
    ranks = {metric: _ranks(parameters, metric) for metric in _METRICS}
    head = ["parameter", *(["paper"] if published else []), "rank", "share",
            *(f"in {metric.upper()}" for metric in _METRICS)]  # fmt: skip
    rows = []
    for name in wanted:
        row = parameters[order.index(name)]
        theirs = [str(ORDER.index(name) + 1) if name in ORDER else "after 6"] if published else []
        each = (str(ranks[metric].get(name, "-")) for metric in _METRICS)
        rows.append([f"`{name}`", *theirs, str(row["rank"]), f"{100 * row['share']:.1f}%", *each])
    return table(head, rows)


def _ranks(parameters: Sequence[Mapping[str, Any]], metric: str) -> dict[str, int]:
    known = {
        row["name"]: row["importance"][metric]["mdi"]
        for row in parameters
        if metric in row["importance"]
    }
    ordered = sorted(known, key=lambda name: -known[name])
    return {name: place for place, name in enumerate(ordered, start=1)}


def analyses(study: Study) -> str:
    """The paper's four analyses of variance."""
    by_name = {row["name"]: row for row in study.result["parameters"]}
    rows = []
    for theirs in ANALYSES:
        ours = by_name[theirs.parameter]["anova"][theirs.metric]
        spread = None if theirs.metric == "rate" else _spread(ours["groups"])
        rows.append(
            [
                f"{theirs.metric.upper()} by `{theirs.parameter}`",
                chance(theirs.p),
                chance(ours["p"]),
                figure(ours["eta_squared"]),
                f"{theirs.spread:.2f}%",
                "-" if spread is None else f"{spread:.2f}%",
            ]
        )
    head = ["analysis", "paper's p", "our p", "eta squared", "paper's spread", "our spread"]
    return table(head, rows)


def extremes(study: Study) -> str:
    """The two most and the two least important parameters, metric by metric."""
    parameters = study.result["parameters"]
    rows = []
    for row in (*parameters[:2], *parameters[-2:]):
        for metric in _METRICS:
            ours = row["anova"][metric]
            cells = (chance(ours["p"]), chance(ours["p_holm"]), figure(ours["eta_squared"]))
            rows.append([f"{metric.upper()} by `{row['name']}`", str(row["rank"]), *cells])
    return table(["analysis", "rank", "p", "p, Holm", "eta squared"], rows)


def _spread(groups: Sequence[Mapping[str, Any]]) -> float | None:
    """Largest over smallest group mean, less 1, in percent."""
    means = [group["mean"] for group in groups]
    return 100 * (max(means) / min(means) - 1) if means and min(means) > 0 else None


def generations(study: Study) -> str:
    """The genetic algorithm's course."""
    rows = [
        [str(each.number), figure(each.best), figure(each.so_far)] for each in study.generations
    ]
    return table(["generation", "its best fitness", "best so far"], rows)


def changes(study: Study, *, published: bool) -> str:
    """The proof: what the winner changes against the baseline, on fresh runs."""
    found = study.result["verdict"]["change"]
    head = ["metric", *(["paper"] if published else []), "ours", "95% interval", "p"]
    rows = []
    for metric in (*_METRICS, "memory"):
        if metric not in found:
            continue
        ours = found[metric]
        theirs = [f"{CHANGES[metric]:+.2f}%" if metric in CHANGES else "-"] if published else []
        interval = f"{ours['low']:+.1f}% to {ours['high']:+.1f}%"
        rows.append(
            [metric.upper(), *theirs, f"{ours['percent']:+.1f}%", interval, chance(ours["p"])]
        )
    return table(head, rows)


def options(study: Study) -> str:
    """What the winner sets otherwise than the baseline."""
    winner = study.result["verdict"]["trial"]
    configuration = next(t.configuration for t in study.trials if t.number == winner)
    baseline = study.result["baseline"]["configuration"]
    rows = [
        [f"`{name}`", str(baseline.get(name, "-")), str(value)]
        for name, value in configuration.items()
        if baseline.get(name) != value
    ]
    return table(["option", "baseline", "best"], rows)
