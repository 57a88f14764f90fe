"""Which of the formats on offer a client would rather have (RFC 9110, section 12.5.1)."""

from __future__ import annotations

import re
from collections.abc import Sequence

from api.http.problems import ProblemError

_QUALITY = re.compile(r"0(\.\d{0,3})?|1(\.0{0,3})?", re.ASCII)


def accepted(header: str | None, offered: Sequence[str]) -> str:
    """The best of what is offered; the first where all are the same to the client.

    Raises:
        ProblemError: 406, none is acceptable.
    """
    ranges = [_range(part) for part in (header or "*/*").split(",") if part.strip()]
    best = max(offered, key=lambda kind: (_quality(kind, ranges), -offered.index(kind)))
    if _quality(best, ranges) <= 0:
        raise ProblemError(406, f"Accept names none of {', '.join(offered)}")
    return best


def _range(part: str) -> tuple[str, float]:
    kind, *parameters = (each.strip() for each in part.split(";"))
    for parameter in parameters:
        name, _, value = parameter.partition("=")
        if name.strip().lower() == "q":
            return kind.lower(), float(value) if _QUALITY.fullmatch(value.strip()) else 0.0
    return kind.lower(), 1.0


def _quality(kind: str, ranges: Sequence[tuple[str, float]]) -> float:
    """Of the ranges that match, the most specific one decides."""
    wide = f"{kind.partition('/')[0]}/*"
    for wanted in (kind, wide, "*/*"):
        found = [quality for each, quality in ranges if each == wanted]
        if found:
            return max(found)
    return 0.0
