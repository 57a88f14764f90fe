"""What is wrong with a value of the wrong type or beyond its bounds, in the words of all checks.

Request bodies, queries, settings and options are checked by pydantic, whose own words name its
types. Whoever reads an error here has typed the value, and is told what to write instead.
"""

from collections.abc import Mapping
from typing import Any

_WHAT = {
    "int": "is not a whole number; write one as 12",
    "float": "is not a finite number; write one as 0.5",
    "finite": "is not a finite number; write one as 0.5",
    "bool": "is not a yes or no; write true or false",
    "string": "is not a text",
    "list": "is not a list",
    "dict": "is not an object of names and values",
    "model": "is not an object of names and values",
    "url": "is not a URL of HTTP; write https://HOST/PATH",
}
_BOUNDS = {
    "greater_than_equal": ("ge", "is below {}"),
    "greater_than": ("gt", "is not above {}"),
    "less_than_equal": ("le", "is above {}"),
    "less_than": ("lt", "is not below {}"),
    "string_too_short": ("min_length", "has fewer than {} characters"),
    "string_too_long": ("max_length", "has more than {} characters"),
    "too_short": ("min_length", "holds fewer than {}"),
    "too_long": ("max_length", "holds more than {}"),
    "string_pattern_mismatch": ("pattern", "is not of the form {}"),
    "literal_error": ("expected", "is not {}"),
    "enum": ("expected", "is not {}"),
}


def value_problem(found: Mapping[str, Any]) -> str:
    """One of ``ValidationError.errors()`` of pydantic as a problem and what to write instead."""
    kind = found["type"]
    if kind == "missing":
        return "is missing; give it"
    if kind == "extra_forbidden":
        return "there is no such field; leave it out"
    shown = f"{found['input']!r:.80}"
    if kind in _BOUNDS:
        name, words = _BOUNDS[kind]
        bound = found["ctx"][name]
        if kind.startswith(("greater", "less")):
            return f"{found['input']!s:.80} {words.format(format(bound, 'g'))}"
        return f"{shown} {words.format(bound)}"
    what = _WHAT.get(kind.partition("_")[0])
    return f"{shown} {what}" if what else str(found["msg"])
