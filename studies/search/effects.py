"""How well strategies learn what matters, where the truth is known.

``make prove-effects`` writes docs/results/search_effects.md; what was run before with the same
function and seed is not run again.
"""

from __future__ import annotations

import argparse
import platform
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.stats import qmc, spearmanr
from threadpoolctl import threadpool_limits  # type: ignore[import-untyped]

from models.importance.agreement import top_overlap
from models.importance.design import FeatureMatrix
from models.importance.functional_anova import functional_anova
from models.importance.importance import combined_importance, mean_share, quick_forests
from models.random_forest import grow_forest
from optimizer.budget.budget import divide
from optimizer.evaluation.evaluation import Evaluation, draws_of, draws_table
from optimizer.ranking.parameter_effects import ParameterEffects, parameter_effects
from optimizer.results.learned_document import LEAST_SHARE, surely_matters
from optimizer.strategies.registry import find_strategy
from optimizer.strategies.strategy import Proposal, Strategy
from optimizer.trials.history import History
from optimizer.trials.problem import Problem
from optimizer.trials.trial import Phase, Purpose
from sampler.machine.machine import fingerprint
from sampler.space.encoding import encode_columns
from sampler.space.space import digest
from studies.arguments import names
from studies.json_lines import append_line, read_lines
from studies.search.best import Effort
from studies.search.function import TestFunction
from studies.search.functions import Functions
from studies.search.recorded import Recorded, read_recorded
from studies.search.run import run
from studies.search.wrapped import Wrapped

Floats = NDArray[np.float64]
PROBLEMS = ("load", "paper", "default", "mixed", "overwrite")
NULL = "null"  # no option matters
TRIALS = 96  # of a job
TOP = 5
_TREES = 100
_POINTS = 256  # of Jansen's estimator, each with one neighbour a parameter
OUT = Path("docs/results/search_effects")
AIM, AIMED = 3.7, ("load", "paper", "default")  # of the true top five, the mean over these
WAYS = {
    "shown": "shown first: of each metric the better one by prediction",
    "any": "the same, the forest where it predicts better at all",
    "models": "process, all trials",
    "forest": "forest (extra-trees), all trials",
    "both": "mean of process and forest",
    "random": "random forest with the paper's trees, all trials",
    "impurity": "forest (extra-trees), impurity, all trials",
    "draws": "impurity, the draws of the default alone",
    "genetic": "impurity, the draws of `genetic`",
    "recorded": "impurity, all recorded draws",
}


@dataclass(frozen=True)
class Watched(Wrapped):
    """A strategy whose history is kept."""

    seen: list[tuple[Problem, History]] = field(default_factory=list)

    def propose(self, evaluation: Evaluation, *, number: int, explore: int) -> Proposal | None:
        """As the strategy's."""
        problem, history = evaluation.problem, evaluation.history
        self.seen[:] = [(problem, history)]
        return self.strategy.propose(evaluation, number=number, explore=explore)


def history_of(
    function: TestFunction, strategy: Strategy, seed: int, evaluations: int
) -> tuple[Problem, History]:
    """What a strategy has measured after so many new configurations."""
    watched = Watched(strategy)
    run(function, watched, seed=seed, evaluations=evaluations, checkpoints=())
    return watched.seen[0]


def forest_shares(problem: Problem, history: History) -> Floats:
    """What forests make of the draws, shape ``(n_parameters,)``: `ranking`'s order."""
    drawn = history.of(Purpose.CANDIDATE, Phase.SAMPLE)
    return _shares(*draws_table(problem, history, draws_of(history, drawn)))


def recorded_shares(recorded: Recorded) -> Floats:
    """The same of all recorded draws, over the parameters that are tuned."""
    default = digest(recorded.default)
    runs = [each for each in recorded.runs if digest(each.configuration) != default]
    values, owner = encode_columns(recorded.space, [each.configuration for each in runs])
    metrics = [term.metric for term in recorded.problem.objective.terms]
    targets = {m: np.log([each.metrics.get(m, np.nan) for each in runs]) for m in metrics}
    shares = _shares(FeatureMatrix(values, recorded.space.names, owner), targets)
    places = [recorded.space.names.index(name) for name in recorded.problem.space.names]
    return np.asarray(shares[places])


def _shares(features: FeatureMatrix, targets: Mapping[str, Floats]) -> Floats:
    rows = np.arange(features.n_trials)
    return combined_importance(
        features, quick_forests(features, targets, rows, seed=0, trees=_TREES)
    )


def true_shares(function: TestFunction) -> Floats:
    """Mean part of the Sobol' total indices (Jansen's estimator, 1999) of the true logarithms."""
    problem, names = function.problem, function.problem.space.names
    pairs = qmc.Sobol(2 * len(names), rng=np.random.default_rng(0)).random(_POINTS)
    points, others = pairs[:, : len(names)], pairs[:, len(names) :]

    def answers(rows: Floats) -> Mapping[str, Floats]:
        made = [dict(zip(names, row.tolist(), strict=True)) for row in rows]
        return function.truth.logarithms([problem.configuration(point) for point in made])

    level = answers(points)
    totals = {term.metric: np.zeros(len(names)) for term in problem.objective.terms}
    for place in range(len(names)):
        moved = points.copy()
        moved[:, place] = others[:, place]
        found = answers(moved)
        for metric, total in totals.items():
            total[place] = 0.5 * float(((found[metric] - level[metric]) ** 2).mean())
    return mean_share(list(totals.values()), len(names))


def agreement(found: Floats, truth: Floats) -> list[float]:
    """Spearman's correlation of two rankings, and the share of the top five in common."""
    return [float(spearmanr(found, truth).statistic), top_overlap(found, truth, top_k=TOP)]


def run_seed(function: TestFunction, seed: int) -> dict[str, Floats]:
    """Shares by each way that a job of 96 trials has of telling what matters."""
    explore = divide(TRIALS).explore
    problem, history = history_of(function, find_strategy("guided"), seed, explore)
    effects = parameter_effects(Evaluation(problem, history))
    assert effects is not None
    draws = find_strategy("genetic").samples(problem, explore)
    count = len(effects.names)

    def of_forests(part: str) -> Floats:
        return _spread(effects, [getattr(each, part) for each in effects.forests.values()])

    by = {"models": mean_share([each.total for each in effects.metrics.values()], count)}
    by["forest"] = of_forests("total")
    totals = [
        _spread(effects, [forest.total]) if forest.r2 > (each.r2 or 0.0) else each.total
        for forest, each in ((f, effects.metrics[name]) for name, f in effects.forests.items())
    ]
    return {
        "shown": effects.share,
        "any": mean_share(totals, count),
        **by,
        "both": (by["models"] + by["forest"]) / 2,
        "random": _spread(effects, _random_forests(effects)),
        "impurity": of_forests("mdi"),
        "draws": forest_shares(problem, history),
        "genetic": forest_shares(*history_of(function, find_strategy("random"), seed, draws)),
        "sure": surely_matters(effects).astype(np.float64),
        "r2": np.array([
            [effects.metrics[name].r2 or 0.0, each.r2] for name, each in effects.forests.items()
        ]),
    }  # fmt: skip


def _random_forests(effects: ParameterEffects) -> list[Floats]:
    """Total shares by forests of the paper's trees, by metric."""
    data, layout, found = effects.model.data, effects.model.layout, []
    features = layout.features(data.points)
    for target in data.targets.values():
        known = np.isfinite(target)
        x = features.values[known].astype(np.float32)
        forest = grow_forest(x, target[known], seed=0, trees=64)
        shares = functional_anova(forest.estimators_, layout.marginals()).total()
        found.append(shares.mean(axis=0))
    return found


def _spread(effects: ParameterEffects, shares: Sequence[Floats]) -> Floats:
    """The mean share of all parameters, from those of the ones that move."""
    whole = np.zeros(len(effects.names))
    places = [effects.names.index(name) for name in effects.moving]
    whole[places] = mean_share(shares, len(places))
    return whole


def main(arguments: Sequence[str] | None = None) -> None:
    """Runs what is missing, and writes the page."""
    parser = argparse.ArgumentParser(description="Compares rankings with the truth.")
    parser.add_argument("--seeds", type=int, default=10, help="runs of each, from seed 0")
    parser.add_argument("--problems", type=names, default=PROBLEMS, help="which are run")
    parser.add_argument("--null", type=int, default=10, help="runs where nothing matters")
    parser.add_argument("--out", type=Path, default=OUT, help="the page's path, without ending")
    given = parser.parse_args(arguments)
    raw = given.out.with_suffix(".jsonl")
    functions = Functions(OUT.with_name("search_functions.json"), Effort())
    with threadpool_limits(1):
        for problem in given.problems:
            run_missing(functions, problem, given.seeds, raw)
        run_missing(functions, NULL, given.null, raw)
    marks = {problem: functions.digest(problem, _family(problem)) for problem in (*PROBLEMS, NULL)}
    current = [
        row
        for row in read_lines(raw)
        if row["digest"] == marks[row["function"]] and "shown" in row
    ]
    given.out.with_suffix(".md").write_text(page(current), encoding="utf-8")


def run_missing(functions: Functions, problem: str, seeds: int, raw: Path) -> None:
    """Runs the seeds that are not in the file of raw results, and adds them to it."""
    family = _family(problem)
    mark = functions.digest(problem, family)
    known = {
        (row["function"], row["digest"], row["seed"]) for row in read_lines(raw) if "shown" in row
    }
    missing = [seed for seed in range(seeds) if (problem, mark, seed) not in known]
    if not missing:
        return
    function, _ = functions.make(problem, family)
    truth = {} if problem == NULL else {
        "truth": true_shares(function), "recorded": recorded_shares(read_recorded(problem))
    }  # fmt: skip
    for seed in missing:
        shares = {**truth, **run_seed(function, seed)}
        rounded = {name: each.round(6).tolist() for name, each in shares.items()}
        append_line(raw, {"function": problem, "digest": mark, "seed": seed, **rounded})
        print(problem, seed, flush=True)


def _family(problem: str) -> str:
    return "none" if problem == NULL else "boosting"


def page(rows: Sequence[Mapping[str, Any]]) -> str:
    """The page, from all rows."""
    machine = fingerprint(Path())
    text = (
        "# How well a job of 96 trials learns what matters\n\n"
        f"`make prove-effects`, {datetime.now(UTC).date()}, {machine['cpu']}, "
        f"{machine['cores']} cores, Python {platform.python_version()}. The functions are those "
        "of [search.md](search.md), learned by gradient boosting. The truth are Sobol' total "
        "indices of their logarithms over the whole space, the mean over the metrics. Spearman's "
        "correlation with it over all parameters, and how many of the true top five are in the "
        "ranking's top five; the same against what forests make of all recorded draws. Mean and "
        "least to greatest over the seeds.\n\n"
        "| problem | ranking | seeds | truth: Spearman | of its top five | all draws: Spearman | "
        "of their top five |\n|---|---|--:|--:|--:|--:|--:|\n"
    )
    for problem in PROBLEMS:
        own = [row for row in rows if row["function"] == problem]
        for way, words in WAYS.items():
            known = [row for row in own if way in row]
            cells = []
            for against in ("truth", "recorded") if known else ():
                both = [row for row in known if against in row and way != against]
                found = np.array(
                    [agreement(np.array(row[way]), np.array(row[against])) for row in both]
                )
                cells += [_cell(found[:, 0], 2), _cell(TOP * found[:, 1], 1)] if both else []
            cells += [""] * (4 - len(cells))
            if known:
                text += f"| {problem} | {words} | {len(known)} | {' | '.join(cells)} |\n"
    text += _summary(rows)
    called = [
        np.array(row["truth"])[np.array(row["sure"], dtype=bool)]
        for row in rows
        if "truth" in row and "sure" in row
    ]
    if called:
        shares = np.concatenate(called)
        text += (
            f"\nOf {len(shares)} parameters that the {len(called)} jobs call sure to matter "
            f"{int((shares < LEAST_SHARE).sum())} make less than {LEAST_SHARE:.0%} in truth.\n"
        )
    null = [row for row in rows if row["function"] == NULL]
    if null:
        wrong = sum(bool(np.any(row["sure"])) for row in null)
        text += (
            f"\nWhere nothing matters (`null`) {wrong} of {len(null)} jobs call a parameter "
            "sure to matter.\n"
        )
    return text


def _summary(rows: Sequence[Mapping[str, Any]]) -> str:
    """The mean over problems, seed by seed, against what was aimed at."""
    text = (
        f"\nOf the true top five in the ranking's, mean over problems of the means over seeds; "
        f"aimed at {AIM} over {', '.join(AIMED)}:\n\n| ranking | {', '.join(AIMED)} | all |\n"
        "|---|--:|--:|\n"
    )
    for way, words in WAYS.items():
        by = {
            name: TOP * np.mean([
                agreement(np.array(row[way]), np.array(row["truth"]))[1]
                for row in rows if row["function"] == name and way in row
            ])
            for name in PROBLEMS if any(row["function"] == name and way in row for row in rows)
        }  # fmt: skip
        aimed = [by[name] for name in AIMED if name in by]
        if aimed:
            text += f"| {words} | {np.mean(aimed):.2f} | {np.mean(list(by.values())):.2f} |\n"
    return text


def _cell(values: Floats, digits: int) -> str:
    mean, low, high = (f"{v:.{digits}f}" for v in (values.mean(), values.min(), values.max()))
    return mean if low == high else f"{mean} ({low} to {high})"


if __name__ == "__main__":
    main()
