"""What can be wrong with what a user gave.

Exception tree::

    InputError            one line that names the field and the fix; the terminal exits with 2
      InputErrors         several of them, told together
"""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager


class InputError(ValueError):
    """Bad input, told in one line.

    Args:
        field: The name of what is wrong, as the user knows it (``--space``, ``parameter[2].low``).
        problem: What is wrong with it and how to fix it.
    """

    def __init__(self, field: str, problem: str) -> None:
        super().__init__(f"{field}: {problem}")
        self.field = field
        self.problem = problem


class InputErrors(InputError):
    """Several things are wrong.

    Attributes:
        errors: Each of them, in the order in which they were found; at least two.
    """

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
