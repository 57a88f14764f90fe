"""The report of a job: one page that needs nothing else."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from functools import lru_cache
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from jobs.convergence import HEIGHT, MARGIN, WIDTH, convergence
from jobs.finished import Finished
from optimizer.trial import Phase
from sampler.byte_size import format_bytes
from sampler.catalogue import catalogue

_UNITS = {
    "waf": ("write amplification", "bytes written to storage per byte of user data"),
    "sa": ("space amplification", "live bytes per byte of distinct user data"),
    "time": ("time", "s until the tree is settled"),
    "rate": ("rate", "operations/s"),
    "memory": ("memory", "bytes of memtables and block cache at full scale"),
}
_ALSO = ("waf_with_wal", "memory", "peak_rss", "write_p99", "read_p99", "stall_percent",
         "cpu_seconds", "device_bytes")  # fmt: skip
_BYTES = ("memory", "peak_rss", "device_bytes", "lsm_bytes")


def report_html(finished: Finished) -> str:
    """The page."""
    return _environment().get_template("report.html").render(_content(finished))


@lru_cache(maxsize=1)
def _environment() -> Environment:
    """Compiling the page takes longer than filling it in."""
    environment = Environment(
        loader=PackageLoader("jobs"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters |= {
        "bytes": format_bytes,
        "figure": figure,
        "amount": amount,
        "p": p_value,
        "circles": circles,
    }
    return environment


def figure(value: float | None) -> str:
    """A number with four significant digits and thousands apart."""
    if value is None:
        return "n/a"
    return f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.4g}"


def circles(dots: Sequence[tuple[float, float, int, float]]) -> Markup:
    """The dots as SVG. There may be thousands, and these are numbers: nothing is to be escaped."""
    return Markup(
        "\n".join(
            f'<circle cx="{x}" cy="{y}" r="3">'
            f"<title>trial {number}: {figure(value)}</title></circle>"
            for x, y, number, value in dots
        )
    )


def amount(value: float, metric: str) -> str:
    """A metric's value with its unit where that is bytes."""
    return format_bytes(value) if metric in _BYTES else figure(value)


def p_value(value: float | None) -> str:
    """A probability as papers write it."""
    if value is None:
        return "n/a"
    return "< 0.001" if value < 0.001 else f"{value:.3f}"


def _content(finished: Finished) -> dict[str, Any]:
    result = finished.result
    terms = [row["name"] for row in result["job"]["objective"]["metric"]]
    verdict = result["verdict"]
    compared = [*terms, *(m for m in _ALSO if m not in terms)]
    by_phase = Counter(trial.phase for trial in finished.trials)
    failures = Counter(
        (t.state.value, (t.failure or "").splitlines()[0][:200])
        for t in finished.trials
        if t.failure
    )
    return {
        "result": result,
        "job": result["job"],
        "best": result["best"],
        "verdict": verdict,
        "terms": terms,
        "rows": _rows(result, [m for m in compared if verdict and m in verdict["change"]]),
        "changes": _changes(result),
        "plot": convergence(finished.trials, finished.fitness),
        "width": WIDTH,
        "height": HEIGHT,
        "margin": MARGIN,
        "phases": [(phase.value, by_phase[phase]) for phase in Phase if by_phase[phase]],
        "failures": failures.most_common(),
        "noise": {m: n for m, n in result["baseline"]["noise"].items() if m in _UNITS},
        "units": _UNITS,
        "options": finished.options,
        "learned": any(forest["r2"] is not None for forest in result["forest"].values()),
    }


def _rows(result: dict[str, Any] | Any, metrics: list[str]) -> list[dict[str, Any]]:
    verdict = result["verdict"]
    return [
        {
            "metric": metric,
            "help": _UNITS.get(metric, (metric, ""))[1],
            "default": result["baseline"]["metrics"][metric],
            "best": verdict["metrics"][metric],
            "change": verdict["change"][metric],
        }
        for metric in metrics
        if metric in result["baseline"]["metrics"]
    ]


def _changes(result: dict[str, Any] | Any) -> list[dict[str, Any]]:
    """The options of the best configuration that differ from the baseline, with their help."""
    if result["best"] is None:
        return []
    baseline, best = result["baseline"]["configuration"], result["best"]["configuration"]
    known = catalogue()
    return [
        {
            "name": name,
            "default": baseline.get(name, "inactive"),
            "best": best.get(name, "inactive"),
            "help": known[name].help if name in known else "",
            "factor": name in known and known[name].section == "workload",
        }
        for name in dict.fromkeys([*best, *baseline])
        if baseline.get(name) != best.get(name)
    ]
