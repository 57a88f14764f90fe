"""Whole numbers as JSON has them: 100.0 is one, and neither "100" nor true is."""

from __future__ import annotations

from typing import Annotated

from pydantic import BeforeValidator


def _whole(given: object) -> object:
    return int(given) if isinstance(given, float) and given.is_integer() else given


Whole = Annotated[int, BeforeValidator(_whole)]
