"""Starting points: known good settings, made fit for the space and measured before the search."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from optimizer.strategies.strategy import Proposal
from optimizer.trials.history import History
from optimizer.trials.problem import Problem, StartingPoint
from optimizer.trials.trial import Phase, Purpose
from sampler.common.byte_size import format_bytes
from sampler.parameters.parameter import Parameter, Value
from sampler.space.latent import encode
from sampler.space.space import digest

_SHARE = 2  # at most a half of what is explored: the rest is for the search
_MOST_SAID = 6


def starting_point(
    problem: Problem, name: str, given: Mapping[str, Value]
) -> StartingPoint | None:
    """A point of the space that is as near to given settings as may be; None: the baseline is.

    Options that the search does not move stay where the space leaves them, values outside of a
    range take its nearest end, and values that a choice does not have are left at the baseline.
    Where the memory budget is too small there are fewer memtables first, then smaller ones.

    Args:
        problem: What is tuned.
        name: What it is called.
        given: Values by parameter, full scale.
    """
    space, moving = problem.space, problem.searched
    wanted = {
        parameter: value
        for parameter, value in given.items()
        if parameter in moving and _possible(space.by_name[parameter], value)
    }
    values = {**space.start, **wanted}
    point = encode(space, _within_memory(problem, values), memory=problem.memory)
    point = {parameter: point[parameter] for parameter in moving}
    found = problem.configuration(point)
    if digest(found) == digest(space.default_configuration()):
        return None
    changed = [
        f"{parameter} {_said(space.by_name[parameter], found[parameter])} for "
        f"{_said(space.by_name[parameter], value)}"
        for parameter, value in wanted.items()
        if parameter in found and found[parameter] != value
    ]
    return StartingPoint(name, point, tuple(changed))


def next_start(problem: Problem, history: History, explore: int) -> Proposal | None:
    """The next starting point that was not measured; None when all were, or the search began.

    Args:
        problem: What is tuned.
        history: The trials so far.
        explore: How many new configurations the budget holds in all.
    """
    if history.numbers(Purpose.CANDIDATE, Phase.SEARCH):
        return None
    for start in planned_starts(problem, explore):
        configuration = problem.configuration(start.point)
        if digest(configuration) not in history:
            return Proposal(Phase.SAMPLE, start.point, configuration, _why(start))
    return None


def planned_starts(problem: Problem, explore: int) -> Sequence[StartingPoint]:
    """The starting points that a budget of so many new configurations has room for."""
    return problem.starts[: max(1, explore // _SHARE)]


def _why(start: StartingPoint) -> str:
    why = f"starting point {start.name}"
    if not start.changed:
        return why
    more = len(start.changed) - _MOST_SAID
    said: Sequence[str] = start.changed[:_MOST_SAID]
    said = [*said, f"{more} more"] if more > 0 else said
    return f"{why}, within the space and its memory: {', '.join(said)}"


def _possible(parameter: Parameter, value: Value) -> bool:
    """Whether the space has the value, or a range with a nearest end to it."""
    return parameter.is_numeric or value in parameter.values


def _within_memory(problem: Problem, values: dict[str, Value]) -> dict[str, Value]:
    """The same with fewer memtables, where that keeps the budget; their size comes later."""
    fewer, number = problem.space.by_name.get("max_write_buffer_number"), "max_write_buffer_number"
    if problem.memory is None or fewer is None or number not in problem.searched:
        return values
    left = (problem.memory - int(values["cache_size"])) // problem.workload.column_families
    fits = max(left // int(values["write_buffer_size"]), int(fewer.low or 0))
    return {**values, number: min(int(values[number]), fits)}


def _said(parameter: Parameter, value: Value) -> str:
    in_bytes = parameter.scaled and value not in parameter.special
    return format_bytes(int(value)) if in_bytes else str(value)
