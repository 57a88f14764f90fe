"""How the search shall behave: settings that make no sense, alone or with the strategy."""

from __future__ import annotations

from jobs.specification.warm_start_text import WarmStart
from optimizer.budget.budget import LEAST_TRIALS, divide
from optimizer.budget.sample_size import LEAST_TRIALS_TO_DETECT, MOST_DETECTED
from optimizer.objective.objective import Objective
from optimizer.strategies.strategy import Strategy
from optimizer.trials.problem import SearchSettings
from sampler.common.errors import InputError


def require_cutoff(search: SearchSettings) -> None:
    """Refuses a cutoff that would end the baseline itself, or never anything.

    Raises:
        InputError: It is so.
    """
    if search.cutoff and not 1 <= search.cutoff < 1e6:
        problem = f"{search.cutoff:g} is neither 0 nor at least 1; 4 is usual"
        raise InputError("--cutoff", problem)


def require_samples(search: SearchSettings, trials: int | None) -> None:
    """Refuses so many first draws that no trial is left to search.

    Raises:
        InputError: It is so.
    """
    if search.samples is None or trials is None or trials < LEAST_TRIALS:
        return
    explore = divide(trials).explore
    if search.samples >= explore:
        problem = f"{search.samples} draws leave nothing to search of {explore} configurations"
        raise InputError("--samples", f"{problem}; write at most {explore - 1}")


def require_heeded(search: SearchSettings, strategy: Strategy, name: str) -> None:
    """Refuses settings that a strategy does not heed.

    Raises:
        InputError: One is given; the message names it.
    """
    usual = SearchSettings()
    for setting in ("samples", "top", "over", "generations", "fitness", "stop_early"):
        if setting not in strategy.heeds and getattr(search, setting) != getattr(usual, setting):
            field = f"--{setting.replace('_', '-')}"
            why = "only draws" if strategy.heeds == {"top"} else "does not heed it"
            raise InputError(field, f"the strategy {name} {why}; use genetic")


def require_learning(warm_start: WarmStart, strategy: Strategy, name: str) -> None:
    """Refuses earlier jobs where nothing learns from them.

    Raises:
        InputError: It is so.
    """
    if warm_start is not None and "warm_start" not in strategy.heeds:
        problem = f"the strategy {name} learns nothing from earlier jobs; use forest, or leave it"
        raise InputError("--warm-start", problem)


def require_detectable(search: SearchSettings, objective: Objective, trials: int | None) -> None:
    """Refuses a change that is none, a metric that does not decide, or too few trials for it.

    Raises:
        InputError: It is so.
    """
    if search.detect is None:
        return
    if not 0 < search.detect <= MOST_DETECTED:
        problem = f"{search.detect:g} is not a ratio above 0 and at most {MOST_DETECTED:g}"
        raise InputError("--detect", f"{problem}; write for example 5%")
    names = [term.metric for term in objective.terms]
    if search.detect_metric is not None and search.detect_metric not in names:
        problem = f"the objective {objective.name} has no metric {search.detect_metric!r}"
        raise InputError("--detect", f"{problem}; name one of {', '.join(names)}, or none")
    if trials is not None and trials < LEAST_TRIALS_TO_DETECT:
        problem = f"cannot be planned for in {trials} trials, as the noise must be measured first"
        raise InputError("--detect", f"{problem}; give --trials {LEAST_TRIALS_TO_DETECT} or more")
