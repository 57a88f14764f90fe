"""A regression watch as one HTML page: no script, no request, readable in any browser."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

from jobs.regression.watch import Watch, date_of
from jobs.regression.watch_plot import series_plot
from jobs.regression.watch_series import Series
from jobs.regression.watch_words import name_of, told

_STYLE = """
:root { color-scheme: light dark; --paper: #fff; --ink: #1b1f24; --dim: #5c6670; --line: #d8dde2;
  --accent: #0072b2; --worse: #c2500a; --better: #00805c; }
@media (prefers-color-scheme: dark) { :root { --paper: #14181d; --ink: #e4e8ec; --dim: #9aa5b0;
  --line: #343c45; --accent: #5cb8ee; --worse: #f09a4a; --better: #37c79a; } }
body { font: 16px/1.5 system-ui, sans-serif; max-width: 62rem; margin: 0 auto; padding: 1.5rem 1rem;
  background: var(--paper); color: var(--ink); overflow-wrap: break-word; }
h1 { font-size: 1.5rem; } h2 { font-size: 1.2rem; margin-top: 2.4rem; } h3 { font-size: 1rem; margin-bottom: 0; }
svg { width: 100%; height: auto; } svg text { font-size: 11px; fill: var(--dim); }
path { fill: none; } .grid { stroke: var(--line); } .level { stroke: var(--accent); stroke-width: 1.5; }
.night { fill: var(--accent); } .outlier { fill: none; stroke: var(--worse); stroke-width: 2; }
.worse { stroke: var(--worse); stroke-width: 2; } .better { stroke: var(--better); stroke-width: 2; }
.band { stroke: none; opacity: .18; } rect.worse { fill: var(--worse); } rect.better { fill: var(--better); }
li { margin: .4rem 0; } .dim { color: var(--dim); font-size: .88rem; }
"""  # noqa: E501
_POLICY = "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'"


def watch_page(watch: Watch, name: str) -> str:
    """The findings in words, then every series with its changes marked.

    Args:
        watch: What was found.
        name: The batch's.
    """
    first, *rest = _lines(watch)
    items = sorted({each.item for each in watch.series})
    return "\n".join(
        [
            "<!doctype html>",
            '<html lang="en"><head><meta charset="utf-8">',
            '<meta name="viewport" content="width=device-width, initial-scale=1">',
            f'<meta http-equiv="Content-Security-Policy" content="{_POLICY}">',
            f"<title>Rocktune: the nights of {escape(name)}</title>",
            f"<style>{_STYLE}</style></head><body>",
            f"<h1>The nights of {escape(name)}</h1>",
            f"<p>{escape(first)}</p>",
            *(["<ul>", *(f"<li>{escape(line)}</li>" for line in rest), "</ul>"] if rest else []),
            '<p class="dim">A dot is a night; a horizontal line the median between changes; a '
            "vertical line the night of a change, with its 95% interval as a band; a ring a "
            "night that stands out by itself. The best is each night's own winner against the "
            "default of the same night.</p>",
            *(_item(watch, item) for item in items),
            "</body></html>",
            "",
        ]
    )


def _lines(watch: Watch) -> Sequence[str]:
    """The basis first, then what was found."""
    *found, basis = told(watch)
    return [basis, *found]


def _item(watch: Watch, item: str) -> str:
    mine = [each for each in watch.series if each.item == item]
    return "\n".join([f"<h2>{escape(item)}</h2>", *(_plot(watch, each) for each in mine)])


def _plot(watch: Watch, series: Series) -> str:
    percent = series.kind == "best" and series.logarithmic
    title = f"{name_of(series)}{', %' if percent else ''}"
    found = [each for each in watch.findings if each.series is series]
    since = ", ".join(date_of(watch.nights[each.alarm.since].at) for each in found)
    changed = f": changed {since}" if found else ""
    return f"<h3>{escape(title + changed)}</h3>\n{series_plot(watch, series)}"
