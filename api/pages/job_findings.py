"""The pages that tell what jobs have found, one by one and over nights, and where."""

from __future__ import annotations

from types import ModuleType

from api.pages import compare, hosts, matters, schedules, trials_table, won


def pages() -> tuple[ModuleType, ...]:
    """Each with its ``router``."""
    return (matters, won, trials_table, compare, hosts, schedules)
