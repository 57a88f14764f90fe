"""A configuration that was measured before the job, as one of the job's space."""

from __future__ import annotations

from collections.abc import Mapping

from sampler.common.errors import InputError, noting, refuse_noted
from sampler.parameters.parameter import Value, parse_value
from sampler.space.space import Space


def given_configuration(space: Space, given: Mapping[str, object]) -> dict[str, Value]:
    """The values of a configuration, as a proposal of the space would hold them.

    What is left out is as in the baseline, and values may lie outside of the space's ranges.

    Raises:
        InputError: A value is of the wrong type, or an option that the space leaves where it is
            was moved: every trial of the job has the same there.
        InputErrors: Several are.
    """
    found: list[InputError] = []
    values = dict(space.start)
    for name, value in given.items():
        with noting(found):
            values[name] = _value(space, name, value)
    refuse_noted(found)
    shown = [*space.fixed, *(name for name in space.names if name not in space.fixed)]
    return {name: values[name] for name in shown if space.is_active(name, values)}


def _value(space: Space, name: str, given: object) -> Value:
    where = f"configuration.{name}"
    parameter = space.known.get(name)
    if parameter is None:
        known = ", ".join(sorted(space.by_name))
        raise InputError(where, f"is not in the space; known are {known}")
    value = parse_value(parameter, given, field=where)
    moves = name in space.by_name and name not in space.fixed
    if not moves and value != space.start.get(name):
        stays = space.start.get(name)
        raise InputError(where, f"is not in the space, whose trials all have {stays!r}")
    return value
