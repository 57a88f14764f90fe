"""When a new configuration is cut off as too slow to win."""

from __future__ import annotations

from collections.abc import Mapping

_SLACK_SECONDS = 1.0


def cutoff_seconds(multiple: float, level: Mapping[str, float]) -> float | None:
    """How long the benchmark may take; None: as long as it takes.

    Args:
        multiple: Of the baseline's time; 0: never.
        level: The baseline's metrics on that host, ``time`` and ``wall_seconds`` among them; where
            one is missing nothing is cut off. With ``prepare_seconds`` as many times those are
            allowed besides: the limit is that of both processes together.
    """
    wall, time = level.get("wall_seconds"), level.get("time")
    if not multiple or wall is None or time is None:
        return None
    # What the process spends beside the load and its settling: start, sleeps, statistics.
    beside = max(0.0, wall - time)
    spent = time + level.get("prepare_seconds", 0.0)
    return beside + multiple * spent + _SLACK_SECONDS
