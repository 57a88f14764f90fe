"""The strategies by name."""

from optimizer.strategies import optuna_search, smac_search
from optimizer.strategies.draw_then_search import DrawThenSearch
from optimizer.strategies.drawn import Drawn
from optimizer.strategies.extras import require_extra
from optimizer.strategies.genetic import Genetic
from optimizer.strategies.greedy import Greedy
from optimizer.strategies.guided import Guided
from optimizer.strategies.nsga2 import LEAST_PARENTS, POPULATION, nsga2
from optimizer.strategies.strategy import Strategy
from sampler.common.errors import InputError

STRATEGIES: dict[str, Strategy] = {
    "random": Drawn("random"),
    "lhs": Drawn("lhs"),
    "sobol": Drawn("sobol"),
    "genetic": Genetic(),
    "forest": Guided(),
    "greedy": Greedy(),
    "nsga2": DrawThenSearch(
        nsga2, "a child of two of the fittest by rank and crowding", POPULATION, LEAST_PARENTS
    ),
    "tpe": DrawThenSearch(optuna_search.tpe, "sampled by a Parzen estimator", optuna_search.DRAWS),
    "optuna-gp": DrawThenSearch(
        optuna_search.gaussian_process,
        "most expected improvement by a Gaussian process",
        optuna_search.DRAWS,
    ),
    "smac": DrawThenSearch(
        smac_search.smac, "most expected improvement by SMAC's forest", smac_search.DRAWS
    ),
}


def find_strategy(name: str) -> Strategy:
    """A strategy by name.

    Raises:
        InputError: There is none of that name, or its libraries are not installed.
    """
    if name not in STRATEGIES:
        raise InputError("--strategy", f"{name!r} is not one of {', '.join(STRATEGIES)}")
    require_extra(name)
    return STRATEGIES[name]
