"""Configurations as numbers for the models: which column belongs to which parameter."""

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from sampler.parameters.parameter import Parameter, Value
from sampler.space.space import Configuration, Space

INACTIVE = -2.0
SPECIAL = -1.0


def encode_columns(
    space: Space, configurations: Sequence[Configuration]
) -> tuple[NDArray[np.float64], NDArray[np.intp]]:
    """Effective values as columns.

    Numbers become a share of their range, special values -1 and lower, inactive parameters -2
    and lower still; a categorical parameter has one column for each of its values.

    Returns:
        ``values`` (n_configurations, n_columns) and ``owner`` (n_columns,): the index in
        ``space.parameters`` that each column belongs to.
    """
    columns: list[list[float]] = []
    owner: list[int] = []
    for index, parameter in enumerate(space.parameters):
        given = [configuration.get(parameter.name) for configuration in configurations]
        if parameter.kind == "cat":
            own = [[float(value == level) for value in given] for level in parameter.values]
        else:
            own = [[_number(parameter, value) for value in given]]
        columns += own
        owner += [index] * len(own)
    shape = (len(owner), len(configurations))
    return np.asarray(columns, dtype=np.float64).reshape(shape).T, np.asarray(owner, dtype=np.intp)


def _number(parameter: Parameter, value: Value | None) -> float:
    if value is None:
        return INACTIVE
    if value in parameter.special and not isinstance(value, bool):
        return SPECIAL - 0.1 * parameter.special.index(value)
    if not parameter.is_numeric:
        return float(value)
    number = float(value)
    return math.log2(number) if parameter.log and number > 0 else number
