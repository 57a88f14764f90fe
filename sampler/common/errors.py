"""What can be wrong with what a user gave, and the words that say so.

Exception tree::

    InputError            one line that names the field and the fix; the terminal exits with 2
      InputErrors         several of them, told together

Request bodies, queries, settings and options are checked by pydantic, whose own words name its
types. Whoever reads an error here has typed the value, and is told what to write instead.
"""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

_WHAT = {
    "int": "is not a whole number; write it like 12",
    "float": "is not a finite number; write it like 0.5",
    "finite": "is not a finite number; write it like 0.5",
    "bool": "is not a boolean; write true or false",
    "string": "is not a string",
    "list": "is not a list",
    "tuple": "is not a list",
    "dict": "is not an object",
    "model": "is not an object",
    "dataclass": "is not an object",
    "url": "is not an HTTP URL; write https://HOST/PATH",
}
_BOUNDS = {
    "greater_than_equal": ("ge", "is below the minimum of {}"),
    "greater_than": ("gt", "is not above {}"),
    "less_than_equal": ("le", "is above the maximum of {}"),
    "less_than": ("lt", "is not below {}"),
    "string_too_short": ("min_length", "has fewer than {} characters"),
    "string_too_long": ("max_length", "has more than {} characters"),
    "too_short": ("min_length", "has fewer than {} items"),
    "too_long": ("max_length", "has more than {} items"),
    "string_pattern_mismatch": ("pattern", "does not match {}"),
    "literal_error": ("expected", "is not {}"),
    "enum": ("expected", "is not {}"),
}


class InputError(ValueError):
    """Bad input, told in one line.

    Args:
        field: The name of what is wrong, as a request calls it: ``trials``, or
            ``space.parameter[2].low``. The terminal spells it as its option (``--trials``).
        problem: What is wrong with it and how to fix it; other fields stand in backticks.
    """

    def __init__(self, field: str, problem: str) -> None:
        super().__init__(f"{field}: {problem}")
        self.field = field
        self.problem = problem


class InputErrors(InputError):
    """Several things are wrong: two or more ``errors``, in the order in which they were found."""

    def __init__(self, errors: Sequence[InputError]) -> None:
        first, *others = errors
        rest = "; ".join(str(error) for error in others)
        super().__init__(first.field, f"{first.problem}; {rest}")
        self.errors = tuple(errors)


@contextmanager
def noting(found: list[InputError], within: str = "") -> Iterator[None]:
    """Takes down what is wrong instead of stopping at it.

    ``within`` is the document that it is in, which is named before the field.
    """
    try:
        yield
    except InputError as error:
        for each in error.errors if isinstance(error, InputErrors) else (error,):
            named = each.field.split(".")[0].split(" ")[0] == within
            field = each.field if named or not within else f"{within}.{each.field}"
            found.append(InputError(field, each.problem))


def refuse_noted(found: Sequence[InputError]) -> None:
    """Raises what was noted, if anything.

    Raises:
        InputError: One thing is wrong.
        InputErrors: Several are.
    """
    if len(found) == 1:
        raise found[0]
    if found:
        raise InputErrors(found)


def value_problem(found: Mapping[str, Any]) -> str:
    """One of ``ValidationError.errors()`` of pydantic as a problem and what to write instead."""
    kind = found["type"]
    if kind == "missing":
        return "is missing; add it"
    if kind == "extra_forbidden":
        return "is not a known field; leave it out"
    shown = f"{found['input']!r:.80}"
    if kind in _BOUNDS:
        name, words = _BOUNDS[kind]
        bound = found["ctx"][name]
        if name == "min_length" and not found["input"]:
            return "is empty; write at least one" if kind == "too_short" else "is empty"
        if kind.startswith(("greater", "less")):
            shown = str(int(bound)) if bound == int(bound) else f"{bound:g}"
            return f"{found['input']!s:.80} {words.format(shown)}"
        return f"{shown} {words.format(bound)}"
    what = _WHAT.get(kind.partition("_")[0])
    return f"{shown} {what}" if what else str(found["msg"])
