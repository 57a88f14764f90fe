"""The budget, scale and seed that are asked for: what is wrong with them."""

from __future__ import annotations

from optimizer.budget.budget import LEAST_TRIALS
from sampler.common.errors import InputError

DEFAULT_TRIALS = 96
MOST_TRIALS = 1_000_000


def wrong_budget(trials: int | None, minutes: float | None) -> list[InputError]:
    """What is wrong with a budget: both kinds at once, or too little or too much of one."""
    found: list[InputError] = []
    if trials is not None and minutes is not None:
        found.append(InputError("--minutes", "give --trials or --minutes, not both"))
    if trials is not None and trials < LEAST_TRIALS:
        problem = f"{trials} are too few; a job needs at least {LEAST_TRIALS}"
        found.append(InputError("--trials", problem))
    if trials is not None and trials > MOST_TRIALS:
        found.append(InputError("--trials", f"{trials} are too many; {MOST_TRIALS} are the most"))
    if minutes is not None and not 0 < minutes < 1e6:
        found.append(InputError("--minutes", f"{minutes:g} is not a time; write for example 10"))
    return found


def wrong_scale_or_seed(scale: int | None, seed: int) -> list[InputError]:
    """What is wrong with the divisor of byte-sized options, and with the seed."""
    found: list[InputError] = []
    if scale is not None and not 1 <= scale < 2**31:
        problem = f"{scale} is not from 1 to 2147483647; 1 measures at full scale"
        found.append(InputError("--scale", problem))
    if not 0 <= seed < 2**31:
        found.append(InputError("--seed", f"{seed} is not between 0 and 2147483647"))
    return found
