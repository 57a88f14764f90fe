"""The strategies by name, and what some need more."""

from importlib.util import find_spec

from optimizer.strategies.draws import Drawn, DrawThenSearch
from optimizer.strategies.genetic import Genetic
from optimizer.strategies.greedy import Greedy
from optimizer.strategies.guided import Guided
from optimizer.strategies.other_optimizers import (
    LEAST_PARENTS,
    OPTUNA_DRAWS,
    POPULATION,
    SMAC_DRAWS,
    gaussian_process,
    nsga2,
    smac,
    tpe,
)
from optimizer.strategies.strategy import Strategy
from optimizer.trials.problem import strategy_name
from sampler.common.errors import InputError

STRATEGIES: dict[str, Strategy] = {
    "random": Drawn("random"),
    "lhs": Drawn("lhs"),
    "sobol": Drawn("sobol"),
    "genetic": Genetic(),
    "guided": Guided(),
    "greedy": Greedy(),
    "nsga2": DrawThenSearch(
        nsga2, "child of two parents of best rank and crowding distance", POPULATION, LEAST_PARENTS
    ),
    "tpe": DrawThenSearch(tpe, "sampled by a Parzen estimator", OPTUNA_DRAWS),
    "optuna-gp": DrawThenSearch(
        gaussian_process, "highest expected improvement by a Gaussian process", OPTUNA_DRAWS
    ),
    "smac": DrawThenSearch(smac, "highest expected improvement by SMAC's forest", SMAC_DRAWS),
}

# By strategy: the extra of the package that it needs, and the modules that it brings.
EXTRAS = {
    "tpe": ("compare", ("optuna",)),
    "smac": ("compare", ("smac", "ConfigSpace")),
    "optuna-gp": ("compare-gp", ("optuna", "torch")),
}
_TORCH = '`"$(scripts/uv.sh)" pip install --python .venv/bin/python "torch>=2.9"`'
_FIXES = {
    "compare": "run `make compare`",
    # Some GB on Linux, and other files on every machine: no lock holds it.
    "compare-gp": f"run `make compare`, then {_TORCH}",
}


def find_strategy(name: str) -> Strategy:
    """A strategy by its name, or a former one (``FORMER_NAMES``).

    Raises:
        InputError: There is none of that name, or its libraries are not installed.
    """
    name = strategy_name(name)
    if name not in STRATEGIES:
        raise InputError("strategy", f"{name!r} is not one of {', '.join(STRATEGIES)}")
    extra = missing_extra(name)
    if extra is not None:
        problem = f"{name} needs the extra {extra}; {_FIXES[extra]}"
        raise InputError("strategy", problem)
    return STRATEGIES[name]


def missing_extra(strategy: str) -> str | None:
    """The extra that a strategy needs and that is not installed; None: nothing is missing."""
    extra, modules = EXTRAS.get(strategy, ("", ()))
    return None if all(find_spec(module) for module in modules) else extra
