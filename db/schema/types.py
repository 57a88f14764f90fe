r"""Column types that mean the same on SQLite and on PostgreSQL.

What either database would refuse, or give back as something else, is settled here once:

- Times are aware and in UTC. SQLite would drop the zone in silence.
- Text may hold anything that a benchmark prints. PostgreSQL refuses NUL, and both refuse half a
  surrogate pair; each is written out as an escape (``\x00``, ``\udc80``) that a reader still
  recognises.
- Documents are kept to the letter, as ``JSON`` on both. PostgreSQL's ``JSONB`` would turn 1e23
  into the integer 10**23, which is another number than the float 1e23, and would forget the
  order of the keys. Numbers that are not finite are refused, since JSON has none: null in their
  place would make a resumed job read something else than the job that was killed.
"""

import math
from collections.abc import Mapping
from datetime import UTC, datetime
from enum import StrEnum
from typing import Any

from sqlalchemy import JSON, DateTime, Text
from sqlalchemy.engine import Dialect
from sqlalchemy.types import TypeDecorator


def safe_text(text: str) -> str:
    """The same text with NUL and lone surrogates written out as escapes.

    Safe text comes back unchanged, so that it may be applied twice.
    """
    if "\0" in text:
        text = text.replace("\0", "\\x00")
    if text.isascii():
        return str(text)
    return text.encode("utf-8", "backslashreplace").decode("utf-8")


def storable(value: Any, where: str = "") -> Any:
    """A value as JSON can hold it: mappings as dicts, sequences as lists, text made safe.

    ``where`` is the path to it, for messages.

    Raises:
        ValueError: A number in it is not finite.
        TypeError: Something in it is not text, a number, a truth value, None, a sequence or a
            mapping from text.
    """
    if value is None or isinstance(value, bool | int):
        return value
    if isinstance(value, str):
        return safe_text(value)
    if isinstance(value, float):
        if not math.isfinite(value):
            raise ValueError(f"{where or 'the value'} is {value}: leave it out, or give None")
        return float(value)
    if isinstance(value, Mapping):
        kept = {}
        for key, item in value.items():
            if not isinstance(key, str):
                raise TypeError(f"{where or 'the mapping'} has the key {key!r}, which is not text")
            kept[safe_text(key)] = storable(item, f"{where}.{key}" if where else key)
        return kept
    if isinstance(value, list | tuple):
        return [storable(item, f"{where}[{i}]") for i, item in enumerate(value)]
    raise TypeError(f"{where or 'the value'} is a {type(value).__name__}, which JSON cannot hold")


def finite(measured: Mapping[str, Any]) -> dict[str, Any]:
    """What was measured, without the numbers that are not finite.

    A ratio by zero says that there was nothing to measure; a metric that is absent says the same,
    and a whole measurement is not refused for it.
    """
    return {
        name: value
        for name, value in measured.items()
        if not isinstance(value, float) or math.isfinite(value)
    }


class UtcDateTime(TypeDecorator[datetime]):
    """An aware time; it comes back in UTC."""

    impl = DateTime(timezone=True)
    cache_ok = True

    def process_bind_param(self, value: datetime | None, dialect: Dialect) -> datetime | None:
        """Raises ValueError for a time without a zone."""
        if value is None:
            return None
        if value.tzinfo is None:
            raise ValueError(f"{value} has no time zone: use datetime.now(UTC)")
        value = value.astimezone(UTC)
        return value.replace(tzinfo=None) if dialect.name == "sqlite" else value

    def process_result_value(self, value: datetime | None, _dialect: Dialect) -> datetime | None:
        """The time in UTC, whatever zone the session has."""
        if value is None:
            return None
        return value.replace(tzinfo=UTC) if value.tzinfo is None else value.astimezone(UTC)


class SafeText(TypeDecorator[str]):
    """Text of any length and from anywhere, see ``safe_text``."""

    impl = Text
    cache_ok = True

    def process_bind_param(self, value: str | None, _dialect: Dialect) -> str | None:
        """The text as both databases take it."""
        return None if value is None else safe_text(value)


class EnumText(TypeDecorator[StrEnum]):
    """A member of an enumeration, kept as its text."""

    impl = Text
    cache_ok = True

    def __init__(self, words: type[StrEnum]) -> None:
        super().__init__()
        self.words = words
        # To look a word up here is many times faster than to call the enumeration.
        self._known = {each.value: each for each in words}

    def process_bind_param(self, value: str | None, _dialect: Dialect) -> str | None:
        """The text."""
        return None if value is None else str(value)

    def process_result_value(self, value: str | None, _dialect: Dialect) -> StrEnum | None:
        """The member; raises ValueError where there is none."""
        return None if value is None else self._known.get(value) or self.words(value)


class Document(TypeDecorator[Any]):
    """A JSON mapping or list, see ``storable``; None is SQL's NULL.

    SQLAlchemy wraps what is raised here, so whoever takes documents from callers applies
    ``storable`` first and raises it bare.
    """

    impl = JSON(none_as_null=True)
    cache_ok = True

    def process_bind_param(self, value: Any, _dialect: Dialect) -> Any:
        """Raises what ``storable`` raises."""
        return None if value is None else storable(value)
