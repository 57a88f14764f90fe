"""Plots as one HTML page that needs nothing else: no network, no file beside it."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

from jobs.charts.chart import Chart, figure_json
from jobs.results.pages import PLACE, whole_page

_STYLE = """
:root { color-scheme: light; --paper: #fff; --ink: #1b1f24; --dim: #5c6670; --line: #d8dde2;
  --accent: #0072b2; --second: #c2500a; --third: #00805c; --fourth: #a8487f;
  --faint: rgba(92,102,112,.28); --clear: rgba(0,0,0,0); }
@media (prefers-color-scheme: dark) { :root:not(.paper) { color-scheme: dark; --paper: #14181d;
  --ink: #e4e8ec; --dim: #9aa5b0; --line: #343c45; --accent: #5cb8ee; --second: #f09a4a;
  --third: #37c79a; --fourth: #e39bc6; --faint: rgba(154,165,176,.3); } }
body { font: 16px/1.5 system-ui, sans-serif; max-width: 62rem; margin: 0 auto;
  padding: 1.5rem 1rem; background: var(--paper); color: var(--ink); overflow-wrap: break-word; }
h1 { font-size: 1.5rem; } h3 { font-size: 1rem; margin: 0 0 .2rem; }
figure { margin: 1.6rem 0 0; min-width: 0; } .plot { width: 100%; }
table { border-collapse: collapse; font-variant-numeric: tabular-nums; font-size: .9rem; }
.wide { overflow-x: auto; }
caption { text-align: left; font-weight: 600; padding: 1.6rem 0 .2rem; }
th, td { padding: .15rem .9rem .15rem 0; text-align: right; border-bottom: 1px solid var(--line); }
th:first-child, td:first-child { text-align: left; } th { font-weight: 600; color: var(--dim); }
figcaption, .dim { color: var(--dim); font-size: .88rem; }
"""


# A title, and rows of cells, the header first.
PageTable = tuple[str, Sequence[Sequence[str]]]


def charts_page(
    title: str,
    lines: Sequence[str],
    charts: Sequence[Chart],
    tables: Sequence[PageTable] = (),
) -> bytes:
    """The page: a title, some sentences, the plots, and tables below them.

    Args:
        title: Of the page.
        lines: Plain text, a paragraph each.
        charts: In their order.
        tables: In their order.
    """
    head = f"<title>{escape(title)}</title>\n<style>{_STYLE}</style>"
    body = [f"<h1>{escape(title)}</h1>", *(f"<p>{escape(line)}</p>" for line in lines)]
    return whole_page(
        "\n".join(
            [
                '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">',
                '<meta name="viewport" content="width=device-width, initial-scale=1">',
                PLACE,
                head,
                "</head>\n<body>",
                *body,
                *(_figure(chart) for chart in charts),
                *(_table(*table) for table in tables),
                "</body>\n</html>\n",
            ]
        )
    )


def _figure(chart: Chart) -> str:
    label = escape(f"{chart.title}. {chart.caption}", quote=True)
    return (
        f"<figure>\n<h3>{escape(chart.title)}</h3>\n"
        f'<div class="plot" role="img" aria-label="{label}" '
        f'style="min-height:{chart.height}px"></div>\n'
        f'<script type="application/json">{figure_json(chart)}</script>\n'
        f"<figcaption>{escape(chart.caption)}</figcaption>\n</figure>"
    )


def _table(title: str, rows: Sequence[Sequence[str]]) -> str:
    header, *body = rows
    cells = [
        "".join(f'<th scope="col">{escape(cell)}</th>' for cell in header),
        *("".join(f"<td>{escape(cell)}</td>" for cell in row) for row in body),
    ]
    told = "\n".join(f"<tr>{row}</tr>" for row in cells)
    return f'<div class="wide"><table>\n<caption>{escape(title)}</caption>\n{told}\n</table></div>'
