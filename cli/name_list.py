"""Several names in one option, as NAME,NAME."""

from __future__ import annotations


def names_of(text: str | None) -> list[str]:
    """The names, in their order, each once; none for None."""
    parts = (part.strip() for part in (text or "").split(","))
    return list(dict.fromkeys(part for part in parts if part))
