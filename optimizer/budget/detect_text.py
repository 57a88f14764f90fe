"""The change that a proof shall be able to show: as users write it, and what they are told."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from sampler.common.errors import InputError

_MEND = "write a change such as 5%, or of one metric, such as rate=5%"
MOST_DETECTED = 10.0  # a tenfold rise needs no planning


def parse_detect(text: str, *, field: str = "--detect") -> tuple[float, str | None]:
    """Reads ``5%``, ``5`` or ``rate=5%``.

    A bare number is in percent. One below 1 is refused: 0.05 may be meant as a ratio.

    Args:
        text: As the user wrote it.
        field: What to call it when it is wrong.

    Returns:
        The change as a ratio (0.05 for 5%), and the metric; None for all of the objective's.

    Raises:
        InputError: It is no change, or it can be meant in two ways.
    """
    name, equals, given = text.rpartition("=")
    metric, given = name.strip(), given.strip()
    if equals and not metric:
        raise InputError(field, f"{text!r} names no metric; {_MEND}")
    try:
        percent = float(given.removesuffix("%"))
    except ValueError:
        raise InputError(field, f"{text!r} is no change in percent; {_MEND}") from None
    if not given.endswith("%") and 0 < percent < 1:
        both = f"may be meant as {percent:g}% or as {100 * percent:g}%"
        raise InputError(field, f"{given} {both}; write the one that is meant, with the %")
    if not 0 < percent <= 100 * MOST_DETECTED:
        problem = f"{text!r} is not above 0% and at most {100 * MOST_DETECTED:g}%; {_MEND}"
        raise InputError(field, problem)
    return percent / 100, metric or None


def told(planned: Mapping[str, Any]) -> str:
    """One line on what was planned, a warning where the budget does not hold what is needed.

    Args:
        planned: ``optimizer.budget.detection.Detection.document``.
    """
    spread = f"{planned['metric']} {percent(planned['noise'])}"
    noise = f"{planned['runs']} runs of the baseline ({spread})"
    most = "more than " if planned["trials"] is None else ""
    needed = f"{most}{planned['needed']} pairs by the noise of {noise}"
    takes = f"to show a change of {planned['change']:g}% takes {needed}"
    if planned["needed"] <= planned["pairs"]:
        return f"{takes}; {planned['pairs']} are planned"
    held = f"{planned['pairs']}, which show {percent(planned['smallest_change'])}"
    would = "" if planned["trials"] is None else f"; {planned['trials']} trials would do"
    return f"warning: {takes}, and the budget holds {held}{would}"


def percent(value: float) -> str:
    """A change in percent, as short as it is certain."""
    return f"{value:.2g}%" if value < 10 else f"{value:,.0f}%"
