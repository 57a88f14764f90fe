"""The table of metrics: a row for each, with its unit, direction, words and where it is shown.

Lists of metrics elsewhere are selections of ``metrics.csv``, in its order. A benchmark of the
user's own may print metrics of any name. One that has a name known here, or ends with its unit
(``_us``, ``_ms``, ``_seconds``, ``_bytes``, ``_percent``), is in that unit.
"""

import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal

from pydantic import TypeAdapter

from sampler.common.documents import packaged_rows
from sampler.common.errors import InputError
from sampler.workload.db_bench_benchmarks import ALL_LATENCIES, run_of
from sampler.workload.workload import Workload
from sampler.workload.workload_file import why_unread, why_untold

Direction = Literal["min", "max"]
Measured = Literal["always", "writes", "latency", "prepared", "reads", "cut off", "machine"]
Place = Literal["batch", "verdict", "proof", "slider", "compare", "column"]
Scope = Literal["database", "family"]
BYTES = "B"
# What one of each unit is in the smallest of its kind; units of one kind can be converted.
_KINDS: tuple[dict[str, int], ...] = (
    {"us": 1, "ms": 1_000, "s": 1_000_000},
    {"B": 1, "KiB": 2**10, "MiB": 2**20, "GiB": 2**30, "TiB": 2**40},
    {"%": 1},
    {"ops/s": 1},
)
_ENDINGS = {"_us": "us", "_ms": "ms", "_seconds": "s", "_bytes": BYTES, "_percent": "%"}
_PERCENTILES = ("p50", "p99", "p999")
_LATENCY = re.compile(rf"({'|'.join(ALL_LATENCIES)})_p\d{{2,3}}", re.ASCII)
# Reads of the tree that a load has left: what is tuned for writes alone may pay with reads, as
# universal compaction, many files in level 0 and large blocks do. The metric of each kind, in
# operations a second, and db_bench's benchmark of it.
READ_BENCHMARKS = {
    "read_present": "readrandom",
    "read_absent": "readmissing",
    "scan_short": "seekrandom",
}
COLD = "_cold"  # the same from the device: nothing of the tree is in the page cache
UNTOLD = "{} is not measured: "  # begins a trial's warning on the metric
READS = (*READ_BENCHMARKS, *(kind + COLD for kind in READ_BENCHMARKS))


@dataclass(frozen=True)
class Metric:
    """A row of the table.

    ``measured``: ``writes`` of loads that write, ``latency`` of loads with such operations,
    ``prepared`` of a database filled before, ``reads`` after the run, ``cut off`` of such a run,
    ``machine`` as a condition of the run.

    ``shown``: ``batch`` tables of nights and the noise of hosts, ``verdict`` as a gain or cost
    beside the objective, ``proof`` the table of the proof, ``slider`` a weight on the page of a
    result, ``compare`` the comparisons that name no metrics, ``column`` a column of its own in the
    database, which needs a migration. Exports and ``result.json`` have every metric.
    """

    name: str
    unit: str | None  # None: a ratio
    better: Direction | None  # None: neither less nor more is
    measured: Measured
    time_based: bool  # whether it is corrected for drift and the speed of the machine
    scope: Scope  # a figure for the whole database, or for each column family
    shown: frozenset[Place]
    label: str  # its name in sentences
    help: str


_ROW = TypeAdapter(Metric)


def _metric(row: dict[str, str]) -> Metric:
    absent = dict.fromkeys(name for name in ("unit", "better") if not row[name])
    label = row["label"] or row["name"]
    return _ROW.validate_python({**row, **absent, "shown": row["shown"].split(), "label": label})


METRICS = {row["name"]: _metric(row) for row in packaged_rows("sampler.workload", "metrics.csv")}


def shown_in(*places: Place) -> tuple[str, ...]:
    """The metrics that are shown in any of these places."""
    return tuple(name for name, metric in METRICS.items() if metric.shown & {*places})


def measured_of(*kinds: Measured) -> tuple[str, ...]:
    """The metrics of such runs."""
    return tuple(name for name, metric in METRICS.items() if metric.measured in kinds)


# Conditions of a run, by which clocks are corrected: what others wanted of all processors, from 0
# up, and how fast the machine was, 1 being usual and 2 twice as fast.
MACHINE = measured_of("machine")
TIME_BASED = tuple(name for name, metric in METRICS.items() if metric.time_based)


def metric_label(metric: str) -> str:
    """Its name in sentences; of one that is not known here its own."""
    return METRICS[metric].label if metric in METRICS else metric


def metric_help(metric: str) -> str:
    """What it is, in a few words; empty where it is not known here."""
    return METRICS[metric].help if metric in METRICS else ""


def better(metric: str) -> Direction | None:
    """Whether less or more is better, by the table or by the unit; None where neither tells."""
    if metric in METRICS:
        return METRICS[metric].better
    unit = metric_unit(metric)
    if unit is None:
        return None
    return "max" if unit == "ops/s" else "min"


def result_names(metrics: Iterable[str]) -> str:
    """The names of results as errors list them; conditions of a run are none."""
    return ", ".join(sorted(set(metrics) - set(MACHINE)))


def metric_unit(metric: str) -> str | None:
    """The unit of a metric's figures; None for a ratio, and for one that is not known here."""
    if _LATENCY.fullmatch(metric):
        return "us"
    if metric in METRICS:
        return METRICS[metric].unit
    return next((unit for end, unit in _ENDINGS.items() if metric.endswith(end)), None)


def is_share(metric: str) -> bool:
    """Whether the metric is a percentage itself, so that its changes are told in points."""
    return metric_unit(metric) == "%"


def format_change(metric: str, percent: float | None, level: float | None) -> str:
    """A change over a baseline of ``level``: in percent, of a percentage in points.

    Points do not lead below 0% or above 100%.
    """
    if percent is None or (is_share(metric) and not level):
        return "n/a"
    if is_share(metric) and level:
        highest = max(100.0, level)  # a benchmark of the user's own may count each processor
        return format_points(min(max(level * (1 + percent / 100), 0.0), highest) - level)
    return f"{percent:+z.1f}%" if abs(percent) < 1000 else f"{percent:+,.0f}%"


def format_points(points: float) -> str:
    """A difference of two percentages."""
    return f"{points:+z.1f} points"


def in_unit_of(metric: str, value: float, unit: str, *, field: str) -> float:
    """A figure as the metric is measured: 0.2 ms of ``write_p99`` is 200.

    The unit may be in small or capital letters.

    Raises:
        InputError: There is no such unit, or the metric is not measured in units of its kind.
    """
    own = metric_unit(metric)
    kind = next((each for each in _KINDS if _found(unit, each)), None)
    if kind is None:
        known = ", ".join(unit for each in _KINDS for unit in each)
        raise InputError(field, f"{unit!r:.40} is not a unit; use one of {known}, or x baseline")
    if own is None:
        what = "is a ratio" if metric in METRICS else "has no known unit"
        fix = f"write the number without {unit}, or as 0.95 baseline"
        raise InputError(field, f"{metric!r:.80} {what}; {fix}")
    if own not in kind:
        alike = ", ".join(next(each for each in _KINDS if own in each))
        problem = f"{metric} is measured in {own}, not in {unit}; write {alike}, or x baseline"
        raise InputError(field, problem)
    return value * kind[_found(unit, kind)] / kind[own]


def format_metric(metric: str, value: float) -> str:
    """A figure with its unit, exact to 12 digits: bytes in the largest unit that divides them."""
    unit = metric_unit(metric)
    if unit != BYTES:
        return f"{value:.12g}" + (f" {unit}" if unit else "")
    sizes = sorted(_KINDS[1].items(), key=lambda pair: -pair[1])
    name, size = next(((n, s) for n, s in sizes if value and value % s == 0), (BYTES, 1))
    return f"{value / size:.12g} {name}"


def db_bench_metrics(workload: Workload) -> tuple[str, ...]:
    """The metrics that a run may give, for a workload that db_bench runs."""
    printed = [run_of(text).benchmark.latencies for text in workload.measured]
    kinds = dict.fromkeys(kind for each in printed for kind in each)
    measured: list[Measured] = ["always"]
    measured += [] if workload.only_reads else ["writes"]
    measured += ["prepared"] if workload.prepare else []
    measured += [] if why_unread(workload) else ["reads"]
    untold = ("sa",) if why_untold(workload) else ()
    return (
        *(name for name in measured_of(*measured) if name not in untold),
        *(f"{kind}_{percentile}" for kind in kinds for percentile in _PERCENTILES),
    )


def _found(unit: str, kind: dict[str, int]) -> str:
    return next((name for name in kind if name.casefold() == unit.casefold()), "")


def why_read_untold(metric: str, warnings: Iterable[str]) -> str:
    """Why a read was not told, of the warnings of trials; empty where none says so."""
    begins = UNTOLD.format(metric), f"{metric} is not told: "  # the latter in older results
    return next((line.partition(": ")[2] for line in warnings if line.startswith(begins)), "")
