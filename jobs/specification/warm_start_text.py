"""``--warm-start auto|none|JOB`` as people write it."""

from __future__ import annotations

from sampler.common.errors import InputError

AUTO, NONE = "auto", "none"
WarmStart = str | int | None
"""``auto``, the number of a job, or None for none."""


def parse_warm_start(given: str | int | None, *, field: str = "--warm-start") -> WarmStart:
    """Reads it.

    Raises:
        InputError: It is none of the three.
    """
    if given is None or given == NONE:
        return None
    text = str(given).strip()
    if text == AUTO:
        return AUTO
    # Numbers of jobs are whole ones of at most 64 bits.
    number = int(text) if text.isascii() and text.isdecimal() and len(text) < 19 else 0
    if isinstance(given, bool) or number < 1:
        raise InputError(field, f"{given!r:.60} is neither auto, none nor the number of a job")
    return number
