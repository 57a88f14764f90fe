"""Strategies whose libraries come with an optional extra of the package."""

from __future__ import annotations

from importlib.util import find_spec

from sampler.errors import InputError

# By strategy: the extra, and the modules that it brings.
EXTRAS = {
    "tpe": ("compare", ("optuna",)),
    "smac": ("compare", ("smac", "ConfigSpace")),
    "optuna-gp": ("compare-gp", ("optuna", "torch")),
}


def missing_extra(strategy: str) -> str | None:
    """The extra that a strategy needs and that is not installed; None: nothing is missing."""
    extra, modules = EXTRAS.get(strategy, ("", ()))
    return None if all(find_spec(module) for module in modules) else extra


def require_extra(strategy: str) -> None:
    """Refuses a strategy whose libraries are not installed.

    Raises:
        InputError: It names the mend.
    """
    extra = missing_extra(strategy)
    if extra is not None:
        mend = f"pip install 'rocktune[{extra}]'"
        raise InputError("--strategy", f"{strategy} needs the extra {extra}: {mend}")
