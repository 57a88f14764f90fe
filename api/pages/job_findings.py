"""The pages that tell what a job has found."""

from __future__ import annotations

from types import ModuleType

from api.pages import matters, trials_table, won


def pages() -> tuple[ModuleType, ...]:
    """Each with its ``router``, in the order of their tabs."""
    return (matters, won, trials_table)
