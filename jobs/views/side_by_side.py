"""Jobs side by side: what was asked, what was proven, where the best configurations differ."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from db.schema.job_row import JobRow
from jobs.results.figures import value_words
from optimizer.results.document import Result
from sampler.rocksdb.parameters import catalogue

_RANKS = 12
_ALIKE = ("workload", "space", "objective", "baseline", "host", "rocksdb")


@dataclass(frozen=True)
class SideBySideRow:
    """A row of a table with a column for each job."""

    name: str  # what it tells
    values: tuple[Any, ...]  # one for each job; None: it has none

    @property
    def differs(self) -> bool:
        """Whether not all of the jobs that have a value have the same."""
        return len({str(value) for value in self.values if value is not None}) > 1


def side_by_side(
    jobs: Sequence[tuple[JobRow, Mapping[str, Any] | None]],
) -> dict[str, Sequence[SideBySideRow] | Sequence[str]]:
    """Compares jobs, each with its result, or None where it has none yet: all that the page tells.

    ``facts`` are what was asked for and where it was measured, ``changes`` and ``baselines`` by
    metric those of each job, ``ranks`` by parameter, the most important first. ``cautions`` say
    why figures of different columns may not be comparable.
    """
    results = [Result.read(document) if document else None for _, document in jobs]
    columns = [_fact(row, result) for (row, _), result in zip(jobs, results, strict=True)]
    facts = [SideBySideRow(name, tuple(each[name] for each in columns)) for name in columns[0]]
    apart = ", ".join(row.name for row in facts if row.name in _ALIKE and row.differs)
    caution = (
        f"The jobs differ in {apart}: compare their changes against their own baselines, not "
        "their figures."
    )
    return {
        "facts": facts,
        "cautions": [caution] if apart else [],
        "changes": _metrics(
            results, lambda result: result.verdict.change if result.verdict else {}
        ),
        "baselines": _metrics(results, lambda each: each.baseline.metrics),
        "options": _options(results),
        "ranks": _ranks(results),
    }


def _fact(row: JobRow, result: Result | None) -> dict[str, Any]:
    asked, standing = row.specification, row.standing or {}
    environment = row.environment or {}
    own = "an OPTIONS file" if asked.get("baseline_options") else asked.get("baseline")
    if asked.get("column_family"):
        own = f"{own}, column family {asked['column_family']}"
    proven = "nothing" if result else "not yet"
    if result and result.best and result.verdict:
        proven = f"{result.verdict.tested_fitness:.0f}"
    return {
        "state": row.state.value,
        "workload": asked["workload"]["name"],
        "space": asked["space"]["name"],
        "objective": asked["objective"]["name"],
        "strategy": asked["strategy"],
        "baseline": own or "the space's own",
        "seed": asked["seed"],
        "trials": standing.get("done", 0) + standing.get("failed", 0),
        "host": environment.get("host"),
        "rocksdb": environment.get("rocksdb"),
        "fitness proven": proven,
    }


def _metrics(
    results: Sequence[Result | None], figures: Callable[[Result], Mapping[str, Any]]
) -> list[SideBySideRow]:
    names = dict.fromkeys(term for result in results if result for term in result.terms)
    known = [figures(result) if result else {} for result in results]
    rows = [SideBySideRow(name, tuple(each.get(name) for each in known)) for name in names]
    return [row for row in rows if any(value is not None for value in row.values)]


def _options(results: Sequence[Result | None]) -> list[SideBySideRow]:
    """What some job changed, with the value of each: its best one's, or else its baseline's."""
    known = catalogue()
    ends = [
        (result.baseline.configuration, result.best.configuration)
        if result and result.best
        else None
        for result in results
    ]
    changed = dict.fromkeys(
        name
        for start, best in filter(None, ends)
        for name, value in best.items()
        if start.get(name) != value
    )

    def said(name: str, start: Mapping[str, Any], best: Mapping[str, Any]) -> str:
        same = " (baseline)" if best.get(name) == start.get(name) else ""
        return value_words(best.get(name), known.get(name)) + same

    return [
        SideBySideRow(name, tuple(each and said(name, *each) for each in ends)) for name in changed
    ]


def _ranks(results: Sequence[Result | None]) -> list[SideBySideRow]:
    ranks = [
        {row.name: row.rank for row in result.parameters} if result else {} for result in results
    ]
    names = dict.fromkeys(name for each in ranks for name in each)
    first = sorted(names, key=lambda n: min(each[n] for each in ranks if n in each))[:_RANKS]
    return [SideBySideRow(name, tuple(each.get(name) for each in ranks)) for name in first]
