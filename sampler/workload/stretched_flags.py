"""Flags of db_bench in a load that is longer by a factor."""

from __future__ import annotations

from sampler.parameters.parameter import Value

# They count operations, or say how long one step of the sine lasts.
_GROW = ("reads", "writes", "deletes", "sine_write_rate_interval_milliseconds")


def stretched(name: str, value: Value, times: float) -> Value:
    """A flag's value in a load so many times longer; db_bench's sine is a sin(b x + c) + d."""
    if isinstance(value, str | bool):
        return value
    if name == "sine_b":
        return value / times
    if name in _GROW and value > 0:  # below it is all that there is
        return max(1, round(value * times))
    return value
