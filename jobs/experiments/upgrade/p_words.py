"""A probability as the terminal tells it."""

from __future__ import annotations

# Beyond this the t distribution of a few pairs is an idea of the arithmetic: bytes that are the
# same in every run of a side would have a p of nothing at all.
_LEAST = 1e-6


def p_figure(p: float) -> str:
    """For a table: two digits, or that it is below what is worth telling."""
    return f"<{_LEAST:.0e}" if p < _LEAST else f"{p:.2g}"


def p_words(p: float) -> str:
    """For a sentence: ``p = 0.012`` or ``p < 1e-06``."""
    return f"p < {_LEAST:.0e}" if p < _LEAST else f"p = {p:.2g}"
