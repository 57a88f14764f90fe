"""The files of a report by interval: CSV, a page, plots, coordinates for pgfplots."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from jobs.charts.curves import Curves, TimeCurve, plot_files
from jobs.interval_report import documents
from jobs.interval_report.answers import shown_name, stall_answer
from jobs.results.output_folder import rows_as_csv, write_files
from sampler.rocksdb.opening import Interval, Opening

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
    """The plots of the opening with a number in the log; left out is what nothing was told of."""
    last = opening[-1]
    stalled = last.cumulative_stall_percent
    what = {"of user writes": last.cumulative_writes,
            "by flushes and compactions": last.cumulative_compaction}  # fmt: skip
    told = [f"{rate:.4g} MiB/s {how}" for how, rate in what.items() if rate is not None]
    rates = Curves(
        name=f"rates-{number}",
        title=" and ".join(told) or "Rates",
        caption="Interval: since the previous dump. Cumulative: since the opening. Compaction "
        "includes flushes. 1 MiB is 2^20 bytes; the write-ahead log is not counted.",
        x_title=_SECONDS,
        y_title="MiB/s",
        curves=curves(opening, RATES),
    )
    stalls = Curves(
        name=f"stalls-{number}",
        title="Stalls" if stalled is None else f"Writes waited for {stalled:.3g}% of the time",
        caption="Share of the time in which RocksDB held writes back, by its own count.",
        x_title=_SECONDS,
        y_title="%",
        curves=curves(opening, STALLS),
    )
    return [plot for plot in (rates, stalls) if plot.curves]


def curves(opening: Sequence[Interval], kinds: Sequence[tuple[str, str]]) -> list[TimeCurve]:
    """The curves of which anything was told, as (name, field of ``Interval``).

    A single interval is drawn from its begin to its end, as a point alone is no curve.
    """
    drawn, first = [], opening[0]
    for name, field in kinds:
        points = [(each.at, getattr(each, field)) for each in opening]
        if len(opening) == 1 and first.seconds > 0:
            begin = 0.0 if field.startswith("cumulative_") else max(0.0, first.at - first.seconds)
            points.insert(0, (begin, getattr(first, field)))
        if any(y is not None for _, y in points):
            drawn.append(TimeCurve(name, points))
    return drawn


MOST_TABLES = 12  # of levels, on the page; levels.csv has all


def write_interval_files(out: Path, name: str, openings: Sequence[Opening]) -> list[Path]:
    """Writes CSV, a page, coordinates and an SVG for each plot; returns them, or an InputError.

    ``intervals.csv`` has a row for each interval, ``families.csv`` one for each column family in
    each dump, ``levels.csv`` one for each level of each family as last told. The page is
    ``intervals.html``, the coordinates for pgfplots are ``coordinates.tex``. The page's title
    tells the ``name`` of the log, of which at least one opening was read.
    """
    plots = [
        plot if len(openings) == 1 else replace(plot, title=f"Opening {number}: {plot.title}")
        for number, opening in enumerate(openings, start=1)
        for plot in interval_plots(opening.intervals, number)
    ]
    contents: dict[str, str | bytes] = {
        "intervals.csv": rows_as_csv(documents.rows(openings)),
        "families.csv": rows_as_csv(documents.family_rows(openings)),
        "levels.csv": rows_as_csv(documents.level_rows(openings)),
        **plot_files(
            "intervals.html",
            f"Rocktune: {name} by interval",
            plots,
            lines=_lines(openings),
            tables=_tables(openings),
        ),
    }
    return write_files(out, contents)


def _lines(openings: Sequence[Opening]) -> list[str]:
    told = [] if len(openings) == 1 else [f"The log covers {len(openings)} openings."]
    for number, opening in enumerate(openings, start=1):
        place = "" if len(openings) == 1 else f"Opening {number}: "
        told += [f"{place}{line}" for line in (stall_answer(opening), *documents.notes(opening))]
    return told


def _tables(openings: Sequence[Opening]) -> list[tuple[str, list[list[str]]]]:
    tables = [("Totals", documents.totals_table(openings))]
    for number, opening in enumerate(openings, start=1):
        place = "" if len(openings) == 1 else f", opening {number}"
        if documents.shows_families(opening):
            tables.append((f"Column families{place}", documents.family_table(opening)))
        tables += [
            (f"Levels of {shown_name(part.family)}{place}", documents.level_table(part))
            for part in documents.most_written(opening)
            if part.levels
        ]
    return tables[:MOST_TABLES]
