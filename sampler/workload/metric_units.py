"""The unit that each metric is measured in, and which metrics db_bench gives for a workload.

A benchmark of the user's own may print metrics of any name. One that has a name known here, or
ends with its unit (``_us``, ``_ms``, ``_seconds``, ``_bytes``, ``_percent``), is in that unit.
"""

import re
from collections.abc import Iterable

from sampler.common.errors import InputError
from sampler.workload.db_bench_benchmarks import ALL_LATENCIES, run_of
from sampler.workload.live_keys import why_untold
from sampler.workload.tree_reads import READS, why_unread
from sampler.workload.workload import Workload

BYTES = "B"
# What one of each unit is in the smallest of its kind; units of one kind can be converted.
_KINDS: tuple[dict[str, int], ...] = (
    {"us": 1, "ms": 1_000, "s": 1_000_000},
    {"B": 1, "KiB": 2**10, "MiB": 2**20, "GiB": 2**30, "TiB": 2**40},
    {"%": 1},
    {"ops/s": 1},
)
_UNITS = {
    **{"time": "s", "load_time": "s", "rate": "ops/s", "memory": BYTES, "peak_rss": BYTES},
    **dict.fromkeys(READS, "ops/s"),
}
_ENDINGS = {"_us": "us", "_ms": "ms", "_seconds": "s", "_bytes": BYTES, "_percent": "%"}
_PERCENTILES = ("p50", "p99", "p999")
_LATENCY = re.compile(rf"({'|'.join(ALL_LATENCIES)})_p\d{{2,3}}", re.ASCII)
_ALWAYS = (
    "waf", "waf_with_wal", "sa", "lsm_bytes", "time", "load_time", "rate", "memory",
    "stall_percent", "peak_rss", "cpu_seconds", "cpu_percent", "device_bytes", "wall_seconds",
)  # fmt: skip
OF_WRITES = ("waf", "waf_with_wal")
_OF_BOTH = ("whole_waf", "prepare_seconds")
# Conditions of a run, by which clocks are corrected: what others wanted of all processors, from 0
# up, and how fast the machine was, 1 being usual and 2 twice as fast.
MACHINE = ("others_cpu", "machine_speed")


def result_names(metrics: Iterable[str]) -> str:
    """The names of results as errors list them; conditions of a run are none."""
    return ", ".join(sorted(set(metrics) - set(MACHINE)))


def metric_unit(metric: str) -> str | None:
    """The unit of a metric's figures; None for a ratio, and for one that is not known here."""
    if _LATENCY.fullmatch(metric):
        return "us"
    ending = next((unit for end, unit in _ENDINGS.items() if metric.endswith(end)), None)
    return _UNITS.get(metric, ending)


def is_share(metric: str) -> bool:
    """Whether the metric is a percentage itself, so that its changes are told in points."""
    return metric_unit(metric) == "%"


def format_change(metric: str, percent: float | None, level: float | None) -> str:
    """A change over a baseline of ``level``: in percent, of a percentage in points."""
    if percent is None or (is_share(metric) and not level):
        return "n/a"
    if is_share(metric) and level:
        return f"{level * percent / 100:+z,.2g} points"
    return f"{percent:+z.1f}%" if abs(percent) < 1000 else f"{percent:+,.0f}%"


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
        is_ours = metric in (*_ALWAYS, *_OF_BOTH)
        what = "is a ratio" if is_ours else "has no known unit"
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
    untold = ("sa",) if why_untold(workload) else ()
    left_out = (*untold, *(OF_WRITES if workload.only_reads else ()))
    return (
        *(name for name in _ALWAYS if name not in left_out),
        *(_OF_BOTH if workload.prepare else ()),
        *(() if why_unread(workload) else READS),
        *(f"{kind}_{percentile}" for kind in kinds for percentile in _PERCENTILES),
    )


def _found(unit: str, kind: dict[str, int]) -> str:
    return next((name for name in kind if name.casefold() == unit.casefold()), "")
