"""Strategies whose libraries come with an optional extra of the package."""

from __future__ import annotations

from importlib.util import find_spec

from sampler.common.errors import InputError

# By strategy: the extra, and the modules that it brings.
EXTRAS = {
    "tpe": ("compare", ("optuna",)),
    "smac": ("compare", ("smac", "ConfigSpace")),
    "optuna-gp": ("compare-gp", ("optuna", "torch")),
}

_TORCH = '`"$(scripts/uv.sh)" pip install --python .venv/bin/python "torch>=2.9"`'
_MENDS = {
    "compare": "`make compare` adds it to .venv",
    # Some GB on Linux, and other files on every machine: no lock holds it.
    "compare-gp": f"`make compare`, then {_TORCH} add it to .venv",
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
        problem = f"{strategy} needs the extra {extra}: {_MENDS[extra]}"
        raise InputError("--strategy", problem)
