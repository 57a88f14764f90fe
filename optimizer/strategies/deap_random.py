"""DEAP draws from the global random generator: lend it a seed, and give it back as it was."""

from __future__ import annotations

import random
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def deap_seeded(seed: int) -> Iterator[None]:
    """Within it the global generator is seeded; afterwards it is where it was.

    Args:
        seed: Any whole number.
    """
    state = random.getstate()
    random.seed(seed)
    try:
        yield
    finally:
        random.setstate(state)
