"""Several names in one option, as NAME,NAME."""

from __future__ import annotations

from sampler.common.errors import InputError


def names_of(text: str | None, *, field: str) -> list[str]:
    """The names, in their order, each once; none for None.

    Raises:
        InputError: There is none in it.
    """
    parts = (part.strip() for part in (text or "").split(","))
    names = list(dict.fromkeys(part for part in parts if part))
    if text is not None and not names:
        raise InputError(field, f"{text!r} names nothing; write NAME,NAME")
    return names
