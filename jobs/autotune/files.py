"""The files of a comparison."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from jobs.autotune.plots import run_plot
from jobs.charts.curves_svg import curves_svg
from jobs.charts.page import charts_page
from jobs.interval_report.pgfplots import pgfplots_file
from sampler.common.atomic_write import write_output
from sampler.common.errors import InputError


def write_files(out: Path, documents: Sequence[Mapping[str, Any]]) -> list[Path]:
    """Writes ``autotune.json``, ``autotune.html``, ``coordinates.tex`` and an SVG for each run.

    Returns:
        What was written.

    Raises:
        InputError: It cannot be written.
    """
    plots = [run_plot(document) for document in documents]
    contents = {
        "autotune.json": (json.dumps({"schema": 1, "runs": list(documents)}) + "\n").encode(),
        "autotune.html": charts_page("Rocktune: compaction under a wave", [],
                                     [plot.chart for plot in plots]),
        "coordinates.tex": pgfplots_file(plots).encode(),
    } | {f"{plot.name}.svg": curves_svg(plot).encode() for plot in plots}  # fmt: skip
    try:
        out.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InputError("--out", f"cannot make {str(out)!r}: {error.strerror}") from None
    for file, content in contents.items():
        write_output(out / file, content)
    return [out / file for file in contents]
