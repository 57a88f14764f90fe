"""Which runs are made, in which order, and at which rates."""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from jobs.autotune.policy import POLICIES, Marks
from jobs.autotune.request import (
    FULL_SECONDS,
    HIGH,
    LOW,
    TAIL,
    AutotuneRequest,
    LoadShape,
    scaled_step,
)

# The thesis found what flushes alone can write, and made its wave's peak a little more: 190 and
# 200 MB/s (section 3.5.1).
_PEAK = 200 / 190
_PROBE_SECONDS = 5.0
_UNLIMITED = 1e9


@dataclass(frozen=True)
class Step:
    """One run: a shape, a repeat from 0, a policy."""

    shape: str
    repeat: int
    policy: str

    @property
    def name(self) -> str:
        """Unique."""
        return f"{self.shape}-{self.repeat}-{self.policy}"


def steps(repeats: Mapping[str, int]) -> list[Step]:
    """All runs in order: round by round, the policies of a round in a drawn order.

    Args:
        repeats: How often each shape is run under every policy.
    """
    rounds = [
        (repeat, shape) for shape, often in repeats.items() for repeat in range(often) if often
    ]
    found = []
    for repeat, shape in sorted(rounds):
        policies = list(POLICIES)
        random.Random(f"{shape}-{repeat}").shuffle(policies)
        found += [Step(shape, repeat, policy) for policy in policies]
    return found


def probe(share: float) -> AutotuneRequest:
    """A load without compaction and without a limit: what flushes can write.

    Args:
        share: How long the wave of 350 s takes, as a share of that.
    """
    wide = LoadShape(seconds=_PROBE_SECONDS, low=_UNLIMITED, high=_UNLIMITED)
    return AutotuneRequest(policy="off", shape=wide, marks=Marks(), read_seconds=0.0, tree=share)


def asked(step: Step, *, capacity: float, share: float) -> AutotuneRequest:
    """The run: the thesis's wave, its rates in proportion to what this disk can do.

    Args:
        step: Which.
        capacity: Bytes/s that flushes can write when nothing else does.
        share: How long it takes, as a share of the thesis's.
    """
    high = capacity * _PEAK
    shape = LoadShape(
        name=step.shape,
        seconds=FULL_SECONDS[step.shape] * share,
        low=high * LOW / HIGH,
        high=high,
        tail=high * TAIL / HIGH,
    )
    return AutotuneRequest(
        policy=step.policy,
        shape=shape,
        marks=Marks(capacity=capacity, step=scaled_step(shape)),
        seed=step.repeat + 1,
    )


def missing(wanted: Sequence[Step], rows: Sequence[Mapping[str, object]]) -> list[Step]:
    """Those that are not there yet, in order."""
    there = {row.get("run") for row in rows}
    return [step for step in wanted if step.name not in there]
