"""What a job leaves in its folder: OPTIONS.ini, result.json, trials.csv, report.html.

Beside OPTIONS.ini lies OPTIONS.minimal.ini where fewer changes do as well.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

from jobs.report.report import report_html
from jobs.results.outcome import JobOutcome
from jobs.results.output_folder import csv_text, json_text
from jobs.results.pages import whole_page
from sampler.common.errors import InputError

OPTIONS, MINIMAL = "OPTIONS.ini", "OPTIONS.minimal.ini"
REFUSED = "OPTIONS.refused.ini"  # what RocksDB did not take, for whoever looks for the reason
RESULT, TRIALS, REPORT = "result.json", "trials.csv", "report.html"


def write_artifacts(finished: JobOutcome, out: Path) -> list[Path]:
    """Writes the files, each whole or not at all; returns those that are there.

    Where nothing was proven better there is no OPTIONS file, and those of an earlier job go.

    Raises:
        InputError: One cannot be written. Nothing is lost: they are made of what the database has.
    """
    makers: dict[str, Callable[[], str | bytes]] = {
        RESULT: lambda: json_text(finished.result),
        TRIALS: lambda: trials_csv(finished),
        REPORT: lambda: whole_page(report_html(finished)),
    }
    refused = (finished.result.get("export") or {}).get("options")
    files = {OPTIONS: finished.options, MINIMAL: finished.minimal, REFUSED: refused}
    contents = {name: make() for name, make in makers.items()}
    try:
        for name in (name for name, text in files.items() if text is None):
            (out / name).unlink(missing_ok=True)
        whole = {**{name: text for name, text in files.items() if text is not None}, **contents}
        return [_replace(out / name, content) for name, content in whole.items()]
    except OSError as error:
        problem = f"cannot write to {str(out)!r}: {error.strerror or error}"
        raise InputError("--out", f"{problem}; all that was measured is kept") from None


def _replace(path: Path, content: str | bytes) -> Path:
    partial = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        partial.write_bytes(content if isinstance(content, bytes) else content.encode())
        partial.replace(path)
    except BaseException:
        partial.unlink(missing_ok=True)
        raise
    return path


def trials_csv(finished: JobOutcome) -> str:
    """One row a trial: how it came about, how it ended, metrics, values in effect."""
    trials = sorted(finished.trials, key=lambda trial: trial.number)
    metrics = list(dict.fromkeys(name for trial in trials for name in trial.metrics))
    parameters = list(dict.fromkeys(name for trial in trials for name in trial.configuration))
    head = ["number", "phase", "purpose", "state", "subject", "attempt", "host"]
    columns = [
        *head,
        "started_at",
        "finished_at",
        "fitness",
        *metrics,
        *parameters,
        "failure",
        "why",
    ]
    rows = (
        [
            *(getattr(trial, name) for name in head),
            trial.started_at.isoformat() if trial.started_at else None,
            trial.finished_at.isoformat() if trial.finished_at else None,
            finished.fitness.get(trial.number),
            *(trial.metrics.get(name) for name in metrics),
            *(trial.features.get(name) for name in parameters),
            trial.failure,
            trial.why,
        ]
        for trial in trials
    )
    return csv_text(columns, rows)
