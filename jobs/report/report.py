"""The report of a job: one page that needs nothing else, once its plots' library is in it."""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import lru_cache
from typing import Any

from jinja2 import Environment
from markupsafe import Markup
from sqlalchemy import Engine

from db.schema.job_row import JobRow
from jobs.charts.chart import Chart, figure_json
from jobs.report.content import content
from jobs.results.cache import JobCache
from jobs.results.outcome import JobOutcome, job_outcome, kept_report
from jobs.results.pages import PLACE, page_environment, whole_page
from sampler.common.byte_size import format_bytes

_BYTES = ("memory", "peak_rss", "device_bytes", "lsm_bytes")
_CONTROLS = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f]")


def report_html(finished: JobOutcome) -> str:
    """The page, with a place for what draws its plots."""
    page = _environment().get_template("report.html")
    return page.render(place=Markup(PLACE), **content(finished))


@lru_cache(maxsize=1)
def _environment() -> Environment:
    """Compiling the page takes longer than filling it in."""
    environment = page_environment()
    environment.finalize = readable
    environment.filters |= {
        "bytes": format_bytes,
        "figure": figure,
        "amount": metric_amount,
        "signed": signed,
        "p": p_value,
        "share": lambda value: "n/a" if value is None else f"{value:.2f}",
        "data": data,
        "clock": lambda moment: f"{moment:%Y-%m-%d %H:%M:%S}" if moment else "unknown",
    }
    return environment


def readable(value: object) -> object:
    """What others wrote, without characters that a page must not hold."""
    if isinstance(value, str) and not isinstance(value, Markup) and _CONTROLS.search(value):
        return _CONTROLS.sub("\N{REPLACEMENT CHARACTER}", value)
    return value


def data(chart: Chart) -> Markup:
    """A plot's data as JSON that nothing in it can end, with null for what is no number."""
    return Markup(figure_json(chart))


def figure(value: float | None) -> str:
    """A number with four significant digits and thousands apart."""
    if value is None:
        return "n/a"
    return f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.4g}"


def metric_amount(value: float | None, metric: str) -> str:
    """A metric's value with its unit where that is bytes."""
    return format_bytes(value) if metric in _BYTES and value is not None else figure(value)


def signed(change: Mapping[str, Any], name: str) -> str:
    """A percentage with its sign."""
    value = change.get(name)
    return "n/a" if value is None else f"{value:+z.1f}%"


def p_value(value: float | None) -> str:
    """A probability as papers write it."""
    if value is None:
        return "n/a"
    return "< 0.001" if value < 0.001 else f"{value:.3f}"


_made_anew = JobCache[str]()


def report_of_job(engine: Engine, job: JobRow) -> bytes:
    """The page of a finished job.

    Raises:
        KeyError: The job has no result.
    """
    return whole_page(kept_report(engine, job.id) or _anew(engine, job))


def _anew(engine: Engine, job: JobRow) -> str:
    return _made_anew.of(
        engine, job.id, job.updated_at, lambda: report_html(job_outcome(engine, job.id))
    )
