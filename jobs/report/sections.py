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
from jobs.report.ranking import anova_line, disagreement_lines, shares_table, trust_lines
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
from optimizer.results.ranking import LEAST_R2, TOP

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


def top_section(result: Result) -> Section:
    """The five most important parameters, their shares of each metric, and whether to trust them.

    What else says how sure they are stands in the sections of the ranking.
    """
    if result.contributions or not result.by_models:
        lines = importance_lines(result)
        return Section("importance", _TOP_TITLE, [Text(line) for line in lines])
    table = shares_table(result, list(result.forest), TOP)
    return Section("importance", _TOP_TITLE, [table, *map(Text, _order_lines(result))])


_TOP_TITLE = "Most important parameters"


def importance_lines(result: Result) -> list[str]:
    """The five most important parameters in one line, and how far to trust their order."""
    if result.contributions:
        return ["The greedy strategy varies one parameter at a time, so it does not rank them."]
    known = {metric: r2 for metric, r2 in result.ranked_r2.items() if r2 is not None}
    of = "trials" if result.by_models else "random configurations"
    if not known:
        return [f"{_TOP_TITLE}: unknown, too few {of} (at least 10 must succeed)."]
    top = ", ".join(row.name for row in result.parameters[:TOP])
    shown = ", ".join(f"{metric} {r2:.2f}" for metric, r2 in known.items())
    doubt = "" if min(known.values()) >= LEAST_R2 else f"; unreliable, needs more {of}"
    lines = [f"{_TOP_TITLE}, changed or not: {top} (R2 on unseen trials: {shown}{doubt})."]
    lines += _order_lines(result)
    if apart := [line.partition(";")[0] for line in disagreement_lines(result)]:
        lines.append(f"Forest and process disagree: {'; '.join(apart)} (rocktune parameters).")
    if words := anova_line(result):
        lines.append(f"{words}.")
    return lines


def _order_lines(result: Result) -> list[str]:
    """How far to trust the order, by metric; nothing where no model tells it."""
    trust = trust_lines(result)
    return [f"How far to trust the order: {'; '.join(trust)}."] if trust else []


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
