"""The files of a report by interval."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from jobs.charts.curves_svg import curves_svg
from jobs.charts.page import charts_page
from jobs.interval_report.pgfplots import pgfplots_file
from jobs.interval_report.plots import interval_plots
from jobs.interval_report.table import csv_text
from jobs.whole_file import write_whole
from sampler.errors import InputError
from sampler.interval_stats import Interval


def write_files(out: Path, name: str, openings: Sequence[Sequence[Interval]]) -> list[Path]:
    """Writes ``intervals.csv``, ``intervals.html``, ``coordinates.tex`` and an SVG for each plot.

    Args:
        out: The folder; it is made where it is not there.
        name: Of the log, for the page's title.
        openings: What was read; at least one interval.

    Returns:
        What was written.

    Raises:
        InputError: It cannot be written.
    """
    plots = [
        plot
        for number, opening in enumerate(openings, start=1)
        for plot in interval_plots(opening, number)
    ]
    several = [] if len(openings) == 1 else [f"The log tells of {len(openings)} openings."]
    page = charts_page(f"Rocktune: {name} by interval", several, [plot.chart for plot in plots])
    contents = {
        "intervals.csv": csv_text(openings).encode(),
        "intervals.html": page,
        "coordinates.tex": pgfplots_file(plots).encode(),
    } | {f"{plot.name}.svg": curves_svg(plot).encode() for plot in plots}
    try:
        out.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InputError("--out", f"cannot make {str(out)!r}: {error.strerror}") from None
    for file, content in contents.items():
        write_whole(out / file, content)
    return [out / file for file in contents]
