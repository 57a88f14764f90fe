"""The strategies by name."""

from optimizer.strategies.drawn import Drawn
from optimizer.strategies.genetic import Genetic
from optimizer.strategy import Strategy
from sampler.errors import InputError

STRATEGIES: dict[str, Strategy] = {
    "random": Drawn("random"),
    "lhs": Drawn("lhs"),
    "sobol": Drawn("sobol"),
    "genetic": Genetic(),
}


def find_strategy(name: str) -> Strategy:
    """A strategy by name.

    Raises:
        InputError: There is none of that name.
    """
    if name not in STRATEGIES:
        raise InputError("--strategy", f"{name!r} is not one of {', '.join(STRATEGIES)}")
    return STRATEGIES[name]
