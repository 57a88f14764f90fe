"""What a comparison leaves in its folder beside its runs: result.json, two CSV files, a page."""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path

from jobs.experiments.comparison.compared import Compared
from jobs.experiments.comparison.page import comparison_html
from jobs.experiments.in_turn.runs_file import RUNS
from jobs.results.report_engine import whole_page
from sampler.common.atomic_write import write_output
from sampler.workload.metric_units import metric_unit

RESULT, TABLE, RUNS_CSV, REPORT = "result.json", "comparison.csv", "runs.csv", "report.html"


def write_comparison(compared: Compared, out: Path) -> list[Path]:
    """Writes the files, each whole or not at all; returns them, the runs first.

    Raises:
        InputError: One cannot be written.
    """
    content = {
        RESULT: (json.dumps(compared.document, indent=1, allow_nan=False) + "\n").encode(),
        TABLE: table_csv(compared).encode(),
        RUNS_CSV: runs_csv(compared).encode(),
        REPORT: whole_page(comparison_html(compared)),
    }
    for name, text in content.items():
        write_output(out / name, text)
    return [out / name for name in (RUNS, *content)]


def table_csv(compared: Compared) -> str:
    """One row for each workload, pair of subjects and metric."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(
        ["workload", "metric", "unit", "before", "after", "median_before", "median_after",
         "percent", "low", "high", "p", "p_holm", "rounds", "could_show_percent", "better"]
    )  # fmt: skip
    for table in compared.tables:
        for name, row in table.rows.items():
            change = row.change
            writer.writerow(
                [table.workload, name, metric_unit(name), table.before, table.after,
                 row.old, row.new,
                 change.percent, change.low, change.high, change.p, row.p_holm, row.pairs,
                 100 * row.smallest_change, table.better(name)]
            )  # fmt: skip
    return text.getvalue()


def runs_csv(compared: Compared) -> str:
    """One row for each run that counts, with all its metrics."""
    metrics = list(dict.fromkeys(name for run in compared.runs for name in run.metrics))
    head = ["round", "workload", "subject", "started_at", "state", "seconds"]
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow([*head, *metrics, "failure"])
    for run in compared.runs:
        writer.writerow(
            [run.round, run.case, run.side, run.started_at, run.state, run.seconds,
             *(run.metrics.get(name) for name in metrics), run.failure]
        )  # fmt: skip
    return text.getvalue()
