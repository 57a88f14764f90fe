"""The files of a comparison: JSON, a page, and the curve of each run."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any

from jobs.autotune.request import LoadShape
from jobs.charts.curves import Curves, Span, TimeCurve, plot_files
from jobs.results.output_folder import write_files

_STILL = 1e-6  # two points of the same moment make no rate
_SMOOTH = 4  # points that an interval spans


def run_plot(document: Mapping[str, Any]) -> Curves:
    """The plot of a run, in MB/s, as the thesis's figures 4.3, 4.5 and 4.7 show theirs.

    Args:
        document: As ``outcome.document`` made it.
    """
    policy, figures = document["asked"]["policy"], document["figures"]
    shape, curve = LoadShape(**document["asked"]["shape"]), document["curve"]
    rate, stored = figures["insertion_rate"] / 1e6, figures["compaction_rate"] / 1e6
    return Curves(
        name=policy,
        title=f"{policy}: {rate:.3g} MB/s came in, {stored:.3g} MB/s flushed and compacted",
        caption=f"Dashed: the limit. Interval: over {_SMOOTH} points. Cumulative: since the "
        "beginning; compaction counts flushes as well."
        + (" Shaded: compaction was off." if document["off"] else ""),
        x_title="seconds",
        y_title="MB/s",
        curves=[
            TimeCurve("sine wave", _planned(shape, curve), dashed=True),
            TimeCurve("interval writes", _interval(curve, 1)),
            TimeCurve("cumulative writes", _cumulative(curve, 1)),
            TimeCurve("cumulative compaction", _cumulative(curve, 2)),
        ],
        shaded=_joined([Span(**span) for span in document["off"]]),
    )


def _planned(
    shape: LoadShape, curve: Sequence[Sequence[float]]
) -> list[tuple[float, float | None]]:
    ats = [min(each[0], shape.seconds) for each in curve]
    return [(at, shape.rate(at) / 1e6) for at in ats]


def _interval(curve: Sequence[Sequence[float]], column: int) -> list[tuple[float, float | None]]:
    pairs = zip(curve, curve[_SMOOTH:], strict=False)
    return [
        (b[0], (b[column] - a[column]) / (b[0] - a[0]) / 1e6)
        for a, b in pairs
        if b[0] - a[0] > _STILL
    ]


def _cumulative(curve: Sequence[Sequence[float]], column: int) -> list[tuple[float, float | None]]:
    first = curve[0]
    return [
        (each[0], (each[column] - first[column]) / (each[0] - first[0]) / 1e6)
        for each in curve
        if each[0] - first[0] > _STILL
    ]


def _joined(spans: Sequence[Span]) -> list[Span]:
    """Spans that touch are one."""
    joined = list(spans[:1])
    for before, span in pairwise(spans):
        if span.begin - before.end < _STILL:
            joined[-1] = Span(joined[-1].begin, span.end)
        else:
            joined.append(span)
    return joined


def write_autotune_files(out: Path, documents: Sequence[Mapping[str, Any]]) -> list[Path]:
    """Writes ``autotune.json``, ``autotune.html``, ``coordinates.tex`` and an SVG for each run.

    Returns:
        What was written.

    Raises:
        InputError: It cannot be written.
    """
    plots = [run_plot(document) for document in documents]
    contents: dict[str, str | bytes] = {
        "autotune.json": json.dumps({"schema": 1, "runs": list(documents)}) + "\n",
        **plot_files("autotune.html", "Rocktune: compaction under a wave", plots),
    }
    return write_files(out, contents)
