"""The rows of a result's tables, the same on the report, the pages and the terminal.

``result`` is always the document of result.json; those of earlier versions lack some parts.
"""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import zip_longest
from typing import Any

from jobs.results import best_words
from jobs.results.figures import option_value
from jobs.results.option_changes import values_outside_file
from optimizer.budget.budget import confirmation_words
from optimizer.budget.power import smallest_change
from optimizer.objective.limits import kept_words, limit_words
from optimizer.objective.objective import Limit
from optimizer.results.price import traded_of
from sampler.parameters.catalogue import catalogue
from sampler.workload.metric_table import metric_help, shown_in


def proof_content(result: Mapping[str, Any], names: Sequence[str]) -> dict[str, Any]:
    """What the report and the page of the results both tell of the proof.

    ``names`` are the objective's metrics.
    """
    return {
        "best": result["best"],
        "verdict": result["verdict"],
        "rows": proof_rows(result, names),
        "price": best_words.price_lines(result),
        "limits": limit_rows(result),
        "confirmation": confirmation_words(result.get("confirmation")),
        "explained": explanation_rows(result, names),
        "withheld": best_words.withheld_words(result),
        "contributed": contributed(result),
        "apart": values_outside_file(result),
        "beside": best_words.beside_lines(result),
    }


def proof_rows(result: Mapping[str, Any], names: Sequence[str]) -> list[dict[str, Any]]:
    """A row for each metric that the proof measured; none where there was no proof."""
    verdict, level = result["verdict"], result["baseline"]["metrics"]
    if verdict is None:
        return []
    return [
        {
            "metric": metric,
            "help": metric_help(metric),
            "default": level[metric],
            "best": verdict["metrics"][metric],
            "change": verdict["change"][metric],
        }
        for metric in [*names, *(m for m in shown_in("proof") if m not in names)]
        if metric in verdict["change"] and metric in level
    ]


_MARKS = ("better", "worse", "not significant")


def trade_rows(result: Mapping[str, Any]) -> list[dict[str, Any]]:
    """A row for each metric of the trade-off: gains, then costs, then what is not significant.

    ``mark`` is ``better`` or ``worse`` where that is shown beside all other rows, else ``not
    significant``. A metric that did not move in any run is left out.
    """
    verdict, level = result["verdict"], result["baseline"]["metrics"]
    if verdict is None:
        return []
    rows = [
        {
            "metric": row.metric,
            "name": row.name,
            "default": level[row.metric],
            "best": verdict["metrics"][row.metric],
            "change": verdict["change"][row.metric],
            "mark": _MARKS[0 if row.better else 1 if row.worse else 2],
        }
        for row in traded_of(result)
        if row.metric in level
    ]
    return sorted(rows, key=lambda row: _MARKS.index(row["mark"]))


def marks_words(rows: Sequence[Mapping[str, Any]]) -> str | None:
    """Why a change whose interval excludes 0 is marked as not significant; None without one."""
    apart = [
        row["name"]
        for row in rows
        if row["mark"] == _MARKS[2] and not row["change"]["low"] <= 0 <= row["change"]["high"]
    ]
    if not apart:
        return None
    return (
        f"Not significant beside {len(rows) - 1} other metrics: {', '.join(apart)}. Among so many "
        "intervals one may exclude 0 by chance; the marks allow for that (Holm's correction)."
    )


def detectable(result: Mapping[str, Any]) -> dict[str, float]:
    """By metric, the smallest change in percent that the proof shows 8 times in 10.

    Where the result does not hold it, it follows from the baseline's spread and the number of
    pairs, by the same calculation.
    """
    stored = (result.get("power") or {}).get("smallest_change")
    if stored is not None:
        return {name: value for name, value in stored.items() if value is not None}
    verdict = result["verdict"]
    if verdict is None or verdict["pairs"] < 2:
        return {}
    return {
        name: 100 * smallest_change(noise["spread"], verdict["pairs"])
        for name, noise in result["baseline"]["noise"].items()
        if noise["spread"] is not None
    }


_UNKNOWN = ("at_least", "at_most", "value", "kept", "runs_kept", "runs")


def limit_rows(result: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """A row for each limit, as ``KeptLimit.document``; ``kept`` is null without a proof."""
    judged: list[Mapping[str, Any]] = (result["verdict"] or {}).get("limits") or []
    if judged:
        return judged
    return [
        {"limit": limit_words(limit), "metric": limit.metric, **dict.fromkeys(_UNKNOWN)}
        for limit in limits_asked(result["job"]["objective"])
    ]


def limits_asked(objective: Mapping[str, Any]) -> list[Limit]:
    """The limits in a stored objective's document."""
    return [Limit(**row) for row in objective.get("limit", [])]


def limit_lines(result: Mapping[str, Any]) -> list[str]:
    """One line for each limit."""
    return [
        f"Limit {row['limit']} was not judged: there is no proof"
        if row["kept"] is None
        else f"Limit {kept_words(row)}"
        for row in limit_rows(result)
    ]


def explanation_rows(result: Mapping[str, Any], metrics: Sequence[str]) -> dict[str, Any] | None:
    """The lines and rows of the section; None where there is nothing to explain."""
    explanation = result.get("explanation")
    if not explanation:
        return None
    measured = (explanation["measured"] or {}).get("steps", [])
    return {
        "lines": best_words.minimal_lines(explanation),
        "basis": best_words.basis_words(explanation),
        "metrics": metrics,
        "measured": bool(measured),
        "rows": [
            {
                "what": best_words.step_words(step),
                "gain": best_words.estimate_words(step["gain"]),
                "measured": best_words.estimate_words(gain["fitness"]) if gain else "",
                "metrics": [_percent(step["metrics"].get(name)) for name in metrics],
                "needed": _needed(step, explanation["minimal"]),
            }
            for step, gain in zip_longest(explanation["steps"], measured)
        ],
    }


def _needed(step: Mapping[str, Any], minimal: Mapping[str, Any] | None) -> str:
    if minimal is None or step["fixed"]:
        return ""
    kept = any(change["name"] in minimal["kept"] for change in step["changes"])
    return "kept" if kept else "left out"


def _percent(estimate: Mapping[str, float] | None) -> str:
    if estimate is None:
        return "n/a"
    return f"{estimate['expected']:+.1f}% [{estimate['low']:+.1f}, {estimate['high']:+.1f}]"


_FRONT_ROWS = 12
TOP = 6
CAUTION = (
    "These gains are optimistic: they come from the runs that chose the values, mostly single "
    "ones and the best of several. Only the proof measures the gain of the whole configuration."
)


@dataclass(frozen=True)
class ContributionRow:
    """One parameter, all its steps together."""

    name: str  # of the parameter; or the starting point that the search began with
    before: str  # its value at the baseline of the search, in words
    after: str  # the one that was kept last
    values: int  # how many configurations with other values of it were measured
    gain: float  # in fitness
    share: float | None  # percent of the whole gain; None where there is none
    changes: Mapping[str, float]  # percent of each metric of the objective, by name


def contribution_rows(
    found: Mapping[str, Any], top: int | None = None
) -> tuple[ContributionRow, ...]:
    """The ``top`` parameters of ``contributions`` of result.json, the largest gain first."""
    rows = []
    for row in found["parameters"][:top]:
        known = catalogue().get(row["name"])
        before, after = (
            "" if row[end] is None else option_value(row[end], known) for end in ("from", "to")
        )
        figures = (row["values"], row["gain"], row["share"], row["change"])
        rows.append(ContributionRow(row["name"], before, after, *figures))
    return tuple(rows)


def contributed(result: Mapping[str, Any]) -> dict[str, Any] | None:
    """What each parameter gained; None but with a strategy that varies one by one."""
    found = result.get("contributions")
    if not found:
        return None
    return {
        "rows": contribution_rows(found),
        "metrics": list(found["steps"][0]["change"]) if found["steps"] else [],
        "lines": contribution_lines(found),
    }


def contribution_lines(found: Mapping[str, Any]) -> Sequence[str]:
    """How far the search came, and how far the figures can be relied on."""
    lines = [f"Greedy search: {found['why']}."]
    if found["idle"]:
        lines.append(f"Skipped, as they had no effect: {', '.join(found['idle'])}.")
    if not found["parameters"]:
        return [*lines, "No value was better than those that the search began with."]
    return [*lines, CAUTION]


def front_rows(
    numbers: Collection[int],
    points: Mapping[int, Mapping[str, float]],
    names: Sequence[str],
    fitness: Mapping[int, float],
) -> dict[str, Any]:
    """The fittest of the trials on the Pareto front, and how many more there are.

    ``points`` are the metrics of the fittest at least, ``names`` the objective's metrics.
    """
    rows = [
        {
            "number": number,
            "fitness": fitness.get(number),
            "metrics": [points[number].get(name) for name in names],
        }
        for number in fittest(numbers, fitness)
        if number in points
    ]
    return {"rows": rows, "more": len(numbers) - len(rows)}


def fittest(numbers: Iterable[int], fitness: Mapping[int, float]) -> list[int]:
    """Those that ``front_rows`` shows, the fittest first."""
    return sorted(numbers, key=lambda number: -fitness.get(number, 0.0))[:_FRONT_ROWS]


def warm_start_lines(result: Mapping[str, Any]) -> list[str]:
    """One line for each earlier job; none where nothing was asked for or taken."""
    lines = []
    for row in result.get("warm_start", ()):
        agreed = ", ".join(f"{metric} {value:.2f}" for metric, value in row["agreement"].items())
        lines.append(
            f"Warm start: {row['trials']} of {row['of']} trials of job {row['job']} "
            f"({row['workload']}); agreement with this job (0 to 1): {agreed}"
        )
    return lines
