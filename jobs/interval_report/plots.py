"""The plots of an opening: rates of writes and compaction, and stalls."""

from __future__ import annotations

from collections.abc import Sequence

from jobs.charts.curves import Curve, Curves
from jobs.interval_report.table import summary
from sampler.stats_dumps.opening import Interval

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


def curves(opening: Sequence[Interval], kinds: Sequence[tuple[str, str]]) -> list[Curve]:
    """The curves of which anything was told, as (name, field of ``Interval``).

    A single interval is drawn from its begin to its end, as a point alone is no curve.
    """
    drawn = [
        Curve(
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
