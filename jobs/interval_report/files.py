"""The files of a report by interval: CSV, a page, plots, coordinates for pgfplots."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from jobs.charts.curves import Curves, TimeCurve, plot_files
from jobs.interval_report.documents import (
    family_rows,
    family_table,
    level_rows,
    level_table,
    most_written,
    notes,
    rows,
    summary,
    totals_table,
)
from jobs.interval_report.stall_answer import shown_name, stall_answer
from jobs.results.output_folder import rows_as_csv, write_files
from sampler.stats_dumps.opening import Interval, Opening

_SECONDS = "seconds since the database was opened"
# The four curves that Warlo's thesis (2018, section 4.2.1) plots, under its names.
RATES = (
    ("interval writes", "writes"),
    ("cumulative writes", "cumulative_writes"),
    ("interval compaction", "compaction"),
    ("cumulative compaction", "cumulative_compaction"),
)
STALLS = (
    ("interval stall", "stall_percent"),
    ("cumulative stall", "cumulative_stall_percent"),
)


def interval_plots(opening: Sequence[Interval], number: int) -> list[Curves]:
    """The plots of one opening; those of which nothing was told are left out.

    Args:
        opening: Its intervals, by time; at least one.
        number: Of the opening in the log, from 1.
    """
    plots = [_rates(opening, number), _stalls(opening, number)]
    return [plot for plot in plots if plot.curves]


def _rates(opening: Sequence[Interval], number: int) -> Curves:
    found = summary(opening)
    write, compaction = found["writes_mib_s"], found["compaction_mib_s"]
    told = [f"{write:.4g} MiB/s came in" if write is not None else "",
            f"{compaction:.4g} MiB/s were written by flushes and compactions"
            if compaction is not None else ""]  # fmt: skip
    return Curves(
        name=f"rates-{number}",
        title=" and ".join(each for each in told if each) or "Rates",
        caption="Interval: since the dump before. Cumulative: since the opening. Compaction "
        "counts flushes as well. MiB are 2^20 bytes; the write-ahead log is not counted.",
        x_title=_SECONDS,
        y_title="MiB/s",
        curves=curves(opening, RATES),
    )


def _stalls(opening: Sequence[Interval], number: int) -> Curves:
    stalled = summary(opening)["stall_percent"]
    return Curves(
        name=f"stalls-{number}",
        title="Stalls" if stalled is None else f"Writes waited for {stalled:.3g}% of the time",
        caption="Share of the time in which RocksDB held writes back, by its own count.",
        x_title=_SECONDS,
        y_title="%",
        curves=curves(opening, STALLS),
    )


def curves(opening: Sequence[Interval], kinds: Sequence[tuple[str, str]]) -> list[TimeCurve]:
    """The curves of which anything was told, as (name, field of ``Interval``).

    A single interval is drawn from its begin to its end, as a point alone is no curve.
    """
    drawn = [
        TimeCurve(
            name, _before(opening, field) + [(each.at, getattr(each, field)) for each in opening]
        )
        for name, field in kinds
    ]
    return [curve for curve in drawn if any(y is not None for _, y in curve.points)]


def _before(opening: Sequence[Interval], field: str) -> list[tuple[float, float | None]]:
    only = opening[0]
    if len(opening) > 1 or only.seconds <= 0:
        return []
    begin = 0.0 if field.startswith("cumulative_") else max(0.0, only.at - only.seconds)
    return [(begin, getattr(only, field))]


MOST_TABLES = 12  # of levels, on the page; levels.csv has all


def write_interval_files(out: Path, name: str, openings: Sequence[Opening]) -> list[Path]:
    """Writes CSV, a page, coordinates and an SVG for each plot.

    ``intervals.csv`` has a row for each interval, ``families.csv`` one for each column family in
    each dump, ``levels.csv`` one for each level of each family as last told. The page is
    ``intervals.html``, the coordinates for pgfplots are ``coordinates.tex``.

    Args:
        out: The folder; it is made where it is not there.
        name: Of the log, for the page's title.
        openings: What was read; at least one.

    Returns:
        What was written.

    Raises:
        InputError: It cannot be written.
    """
    plots = [
        plot if len(openings) == 1 else replace(plot, title=f"Opening {number}: {plot.title}")
        for number, opening in enumerate(openings, start=1)
        for plot in interval_plots(opening.intervals, number)
    ]
    contents: dict[str, str | bytes] = {
        "intervals.csv": rows_as_csv(rows([opening.intervals for opening in openings])),
        "families.csv": rows_as_csv(family_rows(openings)),
        "levels.csv": rows_as_csv(level_rows(openings)),
        **plot_files(
            "intervals.html",
            f"Rocktune: {name} by interval",
            plots,
            lines=page_lines(openings),
            tables=page_tables(openings),
        ),
    }
    return write_files(out, contents)


def page_lines(openings: Sequence[Opening]) -> list[str]:
    """The sentences above the plots: what is told, why writes stalled, what to know."""
    told = [] if len(openings) == 1 else [f"The log tells of {len(openings)} openings."]
    for number, opening in enumerate(openings, start=1):
        place = "" if len(openings) == 1 else f"Opening {number}: "
        told += [f"{place}{line}" for line in (stall_answer(opening), *notes(opening))]
    return told


def page_tables(openings: Sequence[Opening]) -> list[tuple[str, list[list[str]]]]:
    """The tables below the plots, as (title, header and rows)."""
    tables = [("Totals", totals_table(openings))]
    for number, opening in enumerate(openings, start=1):
        place = "" if len(openings) == 1 else f", opening {number}"
        if len(opening.families) > 1:
            tables.append((f"Column families{place}", family_table(opening)))
        tables += [
            (f"Levels of {shown_name(part.family)}{place}", level_table(part))
            for part in most_written(opening)
            if part.levels
        ]
    return tables[:MOST_TABLES]
