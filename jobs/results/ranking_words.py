"""How far a ranking can be trusted, in plain words: the same in every place that shows one.

``found`` is ``result.json``, or the ranking of a job that goes on. Those of earlier versions tell
of forests of the draws, or of processes, alone; what they lack is left out.
"""

from collections.abc import Mapping
from typing import Any

TOP = 5
_LEAST_SHARE = 0.01  # of the variance, or of R2: less is in no top
LEAST_R2 = 0.3  # below it an order is hardly more than chance
_GOOD_R2 = 0.7
_PARTS = {"process": "model", "forest": "importance"}  # of a parameter's row
_OTHER = {"forest": "process", "process": "forest"}


def by_models(found: Mapping[str, Any]) -> bool:
    """Whether models of all trials rank the parameters, and not forests of the draws."""
    return bool(found.get("ranked_by") == "models")


def held_out(forest: Mapping[str, Any]) -> float | None:
    """R2 on unseen trials: the mean of the folds, for one split may be lucky."""
    known = "r2_cross_validated" if "r2_cross_validated" in forest else "r2"
    value: float | None = forest.get(known)
    return value


def shown_first(found: Mapping[str, Any], metric: str) -> str:
    """``forest`` or ``process``: whose shares of a metric are shown first."""
    return str((found.get("shown_first") or {}).get(metric, "process"))


def first_share(
    found: Mapping[str, Any], row: Mapping[str, Any], metric: str
) -> Mapping[str, Any]:
    """What the model that is shown first says of a parameter; empty where nothing is known."""
    return _share(row, shown_first(found, metric), metric)


def _share(row: Mapping[str, Any], model: str, metric: str) -> Mapping[str, Any]:
    part: Mapping[str, Any] = row.get(_PARTS[model]) or {}
    return part.get(metric) or {}


def rank_interval(row: Mapping[str, Any], metric: str) -> tuple[float, float] | None:
    """Between which ranks a parameter is with 95% probability; None where that is not known.

    By the process; in results of earlier versions by the forest.
    """
    for part in _PARTS.values():
        found = (row.get(part) or {}).get(metric) or {}
        if "rank_low" in found:
            return found["rank_low"], found["rank_high"]
    return None


def reliable(row: Mapping[str, Any], metric: str) -> bool:
    """Whether a parameter is among the five most important with 95% probability."""
    within = rank_interval(row, metric)
    return within is not None and within[1] <= TOP


def share_cells(found: Mapping[str, Any]) -> dict[str, dict[str, dict[str, Any]]]:
    """By parameter and metric: ``total``, ``low`` and ``high`` of what is shown first.

    Also ``other``, the share by the other model or None, and ``p_holm`` by the process. Only of
    parameters that move.
    """
    cells: dict[str, dict[str, dict[str, Any]]] = {}
    for row in found["parameters"]:
        cells[row["name"]] = {
            metric: {
                **first_share(found, row, metric),
                "other": _share(row, _OTHER[shown_first(found, metric)], metric).get("total"),
                "p_holm": tested["p_holm"],
            }
            for metric, tested in (row.get("model") or {}).items()
        }
    return cells


def model_r2(found: Mapping[str, Any], model: str, metric: str) -> float | None:
    """R2 of unseen trials of the ``forest`` or the ``process`` of all trials."""
    if model == "forest" and "shown_first" not in found:
        return None  # its forest knows the draws alone
    return held_out((found["forest"] if model == "forest" else found["models"])[metric])


def ranked_r2(found: Mapping[str, Any]) -> dict[str, float | None]:
    """R2 on unseen trials of what ranks the parameters, by metric."""
    if not by_models(found):
        return {metric: held_out(each) for metric, each in found["forest"].items()}
    return {m: model_r2(found, shown_first(found, m), m) for m in found["models"]}


def top_of(found: Mapping[str, Any], model: str, metric: str) -> list[str]:
    """The parameters that matter most for a metric to a model, five at most.

    By their shares of the variance; of a forest without them by what shuffling loses of its R2.
    """
    told = [(row["name"], _share(row, model, metric)) for row in found["parameters"]]
    shares = [(name, each.get("total", each.get("permutation", 0.0))) for name, each in told]
    known = sorted((pair for pair in shares if pair[1] >= _LEAST_SHARE), key=lambda pair: -pair[1])
    return [name for name, _ in known[:TOP]]


def trust_words(found: Mapping[str, Any]) -> list[str]:
    """One line for each metric: which model ranks it, and what that is worth."""
    lines = []
    for metric, r2 in ranked_r2(found).items() if by_models(found) else ():
        if r2 is None:
            lines.append(f"{metric}: too few trials to judge the order")
            continue
        first = shown_first(found, metric)
        other = model_r2(found, _OTHER[first], metric)
        beside = "" if other is None else f" ({_OTHER[first]} {other:.2f})"
        lines.append(
            f"{metric}: by the {first}, R2 {r2:.2f} on unseen trials{beside}: {_worth(r2)}"
        )
    return lines


def _worth(r2: float) -> str:
    if r2 < LEAST_R2:
        return "do not rely on the order; add trials"
    return "the first few are reliable" if r2 >= _GOOD_R2 else "the order is rough"


def disagreement_words(found: Mapping[str, Any]) -> list[str]:
    """One line for each metric of which forest and process have another top five."""
    lines = []
    for metric in found.get("shown_first") or {}:
        forest, process = (top_of(found, model, metric) for model in ("forest", "process"))
        parts = [
            f"only the {model} has {', '.join(n for n in own if n not in rest)}"
            for model, own, rest in (("forest", forest, process), ("process", process, forest))
            if set(own) - set(rest)
        ]
        if parts:
            both = len(set(forest) & set(process))
            lines.append(f"{metric}: {both} of the top {TOP} in common; {', '.join(parts)}")
    return lines


def anova_words(found: Mapping[str, Any]) -> str | None:
    """What the analysis of variance of the draws is worth; None of an earlier version's."""
    power = found.get("anova_power")
    if power is None:
        return None
    draws, smallest = power["draws"], power["smallest_share"]
    seen = "too few to detect an effect of any size"
    if smallest is not None:
        seen = (
            f"minimum detectable effect {smallest:.0%} of the variance "
            f"(80% power at 0.05, {power['groups']} groups)"
        )
    ranks = "" if ranks_anova(found) else f"; with fewer than {power['least']} nothing is ranked"
    return f"Analysis of variance of the {draws} random configurations alone: {seen}{ranks}"


def ranks_anova(found: Mapping[str, Any]) -> bool:
    """Whether there are enough draws for p-values to be put in an order."""
    power = found.get("anova_power")
    return power is None or power["draws"] >= power["least"]
