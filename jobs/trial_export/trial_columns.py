"""The columns that trials have as a table, in CSV and in Parquet alike."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import orjson

from db.schema.tables import MAIN_METRICS
from db.trials.trial_export import Page, TrialNames, parsed

FIRST = ("number", "phase", "purpose", "state", "subject", "attempt", "given", "host",
         "started_at", "finished_at", "bench_seconds")  # fmt: skip
LAST = ("failure", "why")
_LEAST_WHOLE, _MOST_WHOLE = -(2**63), 2**64 - 1  # what orjson reads as a whole number

Column = Sequence[Any]


@dataclass(frozen=True)
class TrialColumns:
    """The columns of one job's table."""

    names: TrialNames  # of the metrics and parameters, as the job has them
    # The names of all columns, each once: a metric that is called like a column before it is
    # `metric.NAME`, and a parameter `parameter.NAME`.
    head: tuple[str, ...]

    @classmethod
    def of(cls, names: TrialNames) -> TrialColumns:
        """The columns for the names that occur."""
        head = dict.fromkeys((*FIRST, *LAST))
        metrics = _free(names.metrics, "metric.", head)
        parameters = _free(names.parameters, "parameter.", head)
        return cls(names, (*FIRST, *metrics, *parameters, *LAST))

    def of_page(self, page: Page) -> list[Column]:
        """The columns of some trials, in the order of the head; None where there is no value."""
        return [
            *(page[name] for name in FIRST),
            *self.metrics(page),
            *self.parameters(page),
            *(page[name] for name in LAST),
        ]

    def metrics(self, page: Page) -> list[Column]:
        """A column for each metric."""
        main = [page[name] for name in self.names.metrics if name in MAIN_METRICS]
        others = [name for name in self.names.metrics if name not in MAIN_METRICS]
        return main + _columns(others, map(parsed, page["other_metrics"]), len(page["number"]))

    def parameters(self, page: Page) -> list[Column]:
        """A column for each parameter, with the values of ``Trial.features``."""
        names, size = self.names.parameters, len(page["number"])
        columns = _columns(names, _features(page, parsed), size)
        if any(map(_may_be_rounded, columns)):
            return _columns(names, _features(page, json.loads), size)
        return columns


def plain_text(value: Any) -> str:
    """Any value but None as text: numbers and truth values as JSON has them."""
    if isinstance(value, str):
        return value
    try:
        return orjson.dumps(value).decode()
    except orjson.JSONEncodeError:  # a whole number of more than 64 bits
        return json.dumps(value)


def _free(names: Iterable[str], prefix: str, taken: dict[str, None]) -> list[str]:
    free = []
    for name in names:
        while name in taken:
            name = prefix + name
        taken[name] = None
        free.append(name)
    return free


def _columns(names: Sequence[str], rows: Iterable[dict[str, Any]], size: int) -> list[Column]:
    # One merge a row keeps the order of the names and fills the gaps, all in C.
    blank = dict.fromkeys(names)
    columns: list[Column] = list(zip(*[(blank | row).values() for row in rows], strict=True))
    return columns or [(None,) * size] * len(names)


def _features(page: Page, read: Callable[[str], dict[str, Any]]) -> Iterable[dict[str, Any]]:
    for asked, effective in zip(page["configuration"], page["effective"], strict=True):
        values = read(asked)
        if effective is None or effective == asked:
            yield values
        else:
            found = read(effective)
            yield {name: found.get(name, value) for name, value in values.items()}


def _may_be_rounded(column: Column) -> bool:
    """Whether a float in it may stand for a whole number of more than 64 bits."""
    if float not in set(map(type, column)):
        return False
    floats = [value for value in column if type(value) is float]
    return not _LEAST_WHOLE < min(floats) <= max(floats) < _MOST_WHOLE
