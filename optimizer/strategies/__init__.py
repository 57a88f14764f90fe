"""The strategies by name."""

from optimizer.strategies.draw_then_search import DrawThenSearch
from optimizer.strategies.drawn import Drawn
from optimizer.strategies.genetic import Genetic
from optimizer.strategies.nsga2 import LEAST_PARENTS, POPULATION, nsga2
from optimizer.strategy import Strategy
from sampler.errors import InputError

STRATEGIES: dict[str, Strategy] = {
    "random": Drawn("random"),
    "lhs": Drawn("lhs"),
    "sobol": Drawn("sobol"),
    "genetic": Genetic(),
    "nsga2": DrawThenSearch(
        nsga2, "a child of two of the fittest by rank and crowding", POPULATION, LEAST_PARENTS
    ),
}


def find_strategy(name: str) -> Strategy:
    """A strategy by name.

    Raises:
        InputError: There is none of that name.
    """
    if name not in STRATEGIES:
        raise InputError("--strategy", f"{name!r} is not one of {', '.join(STRATEGIES)}")
    return STRATEGIES[name]
