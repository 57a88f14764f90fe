"""The heads of a table that the server sorts, and the addresses that sort it otherwise."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Literal
from urllib.parse import urlencode


@dataclass(frozen=True)
class Column:
    """The head of a column."""

    name: str  # what it is called
    # Where the table is sorted by it, the other way round if it is already; None: it cannot be.
    link: str | None = None
    # As ARIA names it; None where the table is sorted by another.
    sorted: Literal["ascending", "descending"] | None = None
    number: bool = False  # whether it holds figures


def head(
    name: str,
    orders: tuple[str, str] | None,
    now: str,
    at: Callable[[str], str],
    *,
    number: bool = False,
) -> Column:
    """The head of a column, which leads to the table in the order that a reader may want next.

    ``orders`` are the way that is wanted more often, then the other, None where it cannot be
    sorted; ``now`` is how it is sorted, and ``at`` tells the address of the table in another
    order.
    """
    if orders is None:
        return Column(name, number=number)
    link = at(orders[1] if now == orders[0] else orders[0])
    if now not in orders:
        return Column(name, link, None, number)
    return Column(name, link, "descending" if now.startswith("-") else "ascending", number)


def unless_empty(given: str) -> str | None:
    """A form sends an empty text where nothing is asked for."""
    return given or None


def table_address(path: str, asked: Mapping[str, object], usual: Mapping[str, str]) -> str:
    """The address of a table: what is asked for but for what is usual, or empty."""
    given = {name: str(value) for name, value in asked.items() if value not in (None, "")}
    told = {name: value for name, value in given.items() if usual.get(name) != value}
    return f"{path}?{urlencode(told)}" if told else path
