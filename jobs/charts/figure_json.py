"""A plot's data as JSON that may stand in a page."""

from __future__ import annotations

import orjson

from jobs.charts.chart import Chart


def figure_json(chart: Chart) -> str:
    """JSON in which nothing can end the script that it stands in; null for what is no number."""
    text = orjson.dumps(chart.figure, option=orjson.OPT_SERIALIZE_NUMPY).decode()
    return text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")
