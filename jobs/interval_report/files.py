"""The files of a report by interval."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from jobs.charts.curves_svg import curves_svg
from jobs.charts.page import charts_page
from jobs.interval_report.documents import (
    family_rows,
    family_table,
    level_rows,
    level_table,
    most_written,
    notes,
    rows_as_csv,
    totals_table,
)
from jobs.interval_report.pgfplots import pgfplots_file
from jobs.interval_report.plots import interval_plots
from jobs.interval_report.stall_answer import shown_name, stall_answer
from jobs.interval_report.table import csv_text
from sampler.common.atomic_write import write_output
from sampler.common.errors import InputError
from sampler.stats_dumps.opening import Opening

MOST_TABLES = 12  # of levels, on the page; levels.csv has all


def write_files(out: Path, name: str, openings: Sequence[Opening]) -> list[Path]:
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
    page = charts_page(
        f"Rocktune: {name} by interval",
        page_lines(openings),
        [plot.chart for plot in plots],
        page_tables(openings),
    )
    contents = {
        "intervals.csv": csv_text([opening.intervals for opening in openings]).encode(),
        "families.csv": rows_as_csv(family_rows(openings)).encode(),
        "levels.csv": rows_as_csv(level_rows(openings)).encode(),
        "intervals.html": page,
        "coordinates.tex": pgfplots_file(plots).encode(),
    } | {f"{plot.name}.svg": curves_svg(plot).encode() for plot in plots}
    try:
        out.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InputError("--out", f"cannot make {str(out)!r}: {error.strerror}") from None
    for file, content in contents.items():
        write_output(out / file, content)
    return [out / file for file in contents]


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
