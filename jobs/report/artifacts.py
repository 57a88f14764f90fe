"""What a job leaves in its folder: OPTIONS.ini, result.json, trials.csv, report.html.

Beside OPTIONS.ini lies OPTIONS.minimal.ini where fewer changes do as well.
"""

from __future__ import annotations

import csv
import io
import json
import os
from collections.abc import Callable
from pathlib import Path

from jobs.report.report import report_html
from jobs.results.finished import Finished
from jobs.results.report_engine import whole_page
from sampler.common.atomic_write import atomic_write
from sampler.common.errors import InputError

OPTIONS, MINIMAL = "OPTIONS.ini", "OPTIONS.minimal.ini"
REFUSED = "OPTIONS.refused.ini"  # what RocksDB did not take, for whoever looks for the reason
RESULT, TRIALS, REPORT = "result.json", "trials.csv", "report.html"


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

    Where nothing was proven better there is no OPTIONS file, and those of an earlier job go.

    Raises:
        InputError: One cannot be written. Nothing is lost: they are made of what the database has.
    """
    makers: dict[str, Callable[[], str | bytes]] = {
        RESULT: lambda: json.dumps(finished.result, indent=1, allow_nan=False) + "\n",
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
        for name, content in whole.items():
            atomic_write(out / name, content)
        return [out / name for name in whole]
    except OSError as error:
        problem = f"cannot write to {str(out)!r}: {error.strerror or error}"
        raise InputError("--out", f"{problem}; all that was measured is kept") from None


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
