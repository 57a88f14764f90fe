"""What a job loads once it comes to learn and to search: it takes a second or two."""

from importlib import import_module

MODULES = (
    "deap.benchmarks.tools",
    "scipy.optimize",
    "scipy.stats",
    "sklearn.ensemble",
    "sklearn.metrics",
    "sklearn.model_selection",
    "statsmodels.nonparametric.smoothers_lowess",
    "statsmodels.stats.multitest",
)


def load_libraries() -> None:
    """Loads them now: for whoever is about to hold what others wait for."""
    for module in MODULES:
        import_module(module)
