"""All that a result says by itself, in the order in which it is told."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from pathlib import Path

from jobs.charts.chart import Chart
from jobs.report.changed import (
    beside_section,
    changed_section,
    contributed_section,
    path_section,
)
from jobs.report.section import Block, Cell, Column, Section, Table, Text
from jobs.report.verdict import (
    limits_section,
    next_section,
    proof_section,
    reasons_section,
    terms_section,
    trade_section,
    verdict_section,
)
from jobs.results.figures import amount_with_unit, figure
from optimizer.results.document import Result

_FRONT_ROWS = 12


def sections(result: Result, *, job: object = "ID", out: Path | None = None) -> dict[str, Section]:
    """The sections by name; one without blocks says nothing.

    ``job``, its number, and ``out``, a folder with its files, complete the commands.
    """
    told = (
        verdict_section(result),
        trade_section(result),
        changed_section(result),
        reasons_section(result),
        beside_section(result),
        next_section(result, out),
        proof_section(result),
        limits_section(result),
        path_section(result),
        contributed_section(result.contributions),
        terms_section(result),
    )
    return {section.name: section.numbered(job) for section in told}


def front_section(
    numbers: Collection[int],
    points: Mapping[int, Mapping[str, float]],
    names: Sequence[str],
    fitness: Mapping[int, float],
    charts: Sequence[Chart] = (),
) -> Section:
    """The fittest of the trials on the Pareto front, and how many more there are.

    ``points`` are the metrics of the fittest at least, ``names`` the objective's metrics.
    """
    rows: list[Sequence[str | Cell]] = [
        (
            Cell(str(number), link="trial"),
            *(amount_with_unit(points[number].get(name), name) for name in names),
            figure(fitness.get(number)),
        )
        for number in fittest(numbers, fitness)
        if number in points
    ]
    more = len(numbers) - len(rows)
    caption = "Fittest first." + (f" {more:,} more are on the front." if more else "")
    columns = [Column(name, figures=True) for name in ("trial", *names, "fitness")]
    what = (
        "None of these configurations is beaten by another in every metric of the objective. "
        "Choosing among them is a matter of preference. Single runs: explored, not proven."
    )
    blocks: list[Block] = [Text(what), *charts, Table(columns, rows, caption)] if rows else []
    return Section("front", "Pareto front", blocks)


def fittest(numbers: Iterable[int], fitness: Mapping[int, float]) -> list[int]:
    """Those that ``front_section`` shows, the fittest first."""
    return sorted(numbers, key=lambda number: -fitness.get(number, 0.0))[:_FRONT_ROWS]
