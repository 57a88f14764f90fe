"""What a job leaves in its folder: OPTIONS.ini, result.json, trials.csv, report.html."""

from __future__ import annotations

import csv
import io
import json
import os
from collections.abc import Callable
from pathlib import Path

from jobs.finished import Finished
from jobs.report import report_html
from jobs.report_engine import whole_page
from sampler.errors import InputError

OPTIONS, RESULT, TRIALS, REPORT = "OPTIONS.ini", "result.json", "trials.csv", "report.html"


def require_folder(out: Path) -> None:
    """Makes the folder, before hours are spent.

    Raises:
        InputError: It cannot be made or written to.
    """
    try:
        out.mkdir(parents=True, exist_ok=True)
        probe = out / f".rocktune-{os.getpid()}"
        probe.touch()
        probe.unlink()
    except OSError as error:
        raise InputError("--out", f"cannot write to {str(out)!r}: {error.strerror}") from None


def write_artifacts(finished: Finished, out: Path) -> list[Path]:
    """Writes the files, each whole or not at all; returns those that are there.

    Where nothing was proven better there is no OPTIONS.ini, and one of an earlier job goes.
    """
    makers: dict[str, Callable[[], str | bytes]] = {
        RESULT: lambda: json.dumps(finished.result, indent=1, allow_nan=False) + "\n",
        TRIALS: lambda: trials_csv(finished),
        REPORT: lambda: whole_page(report_html(finished)),
    }
    if finished.options is None:
        (out / OPTIONS).unlink(missing_ok=True)
    else:
        text = finished.options
        makers = {OPTIONS: lambda: text, **makers}
    return [_replace(out / name, make()) for name, make in makers.items()]


def _replace(path: Path, content: str | bytes) -> Path:
    partial = path.with_name(f".{path.name}.{os.getpid()}")
    partial.write_bytes(content if isinstance(content, bytes) else content.encode())
    partial.replace(path)
    return path


def trials_csv(finished: Finished) -> str:
    """One row a trial: how it came about, how it ended, metrics, values in effect."""
    trials = sorted(finished.trials, key=lambda trial: trial.number)
    metrics = list(dict.fromkeys(name for trial in trials for name in trial.metrics))
    parameters = list(dict.fromkeys(name for trial in trials for name in trial.configuration))
    head = ["number", "phase", "purpose", "state", "subject", "attempt", "host"]
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow([*head, "started_at", "finished_at", "fitness", *metrics, *parameters,
                     "failure", "why"])  # fmt: skip
    for trial in trials:
        values = trial.features
        writer.writerow(
            [
                *(getattr(trial, name) for name in head),
                trial.started_at.isoformat() if trial.started_at else None,
                trial.finished_at.isoformat() if trial.finished_at else None,
                finished.fitness.get(trial.number),
                *(trial.metrics.get(name) for name in metrics),
                *(values.get(name) for name in parameters),
                trial.failure,
                trial.why,
            ]
        )
    return text.getvalue()
