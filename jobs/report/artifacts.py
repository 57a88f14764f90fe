"""What a finished job leaves: OPTIONS.ini, result.json, trials.csv and its report.

The report is one page that needs nothing else, once its plots' library is in it. Beside
OPTIONS.ini lies OPTIONS.minimal.ini where fewer changes do as well.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from sqlalchemy import Engine

from db.schema.job_row import JobRow
from jobs.report.content import content
from jobs.results.cache import JobCache
from jobs.results.outcome import JobOutcome, job_outcome, kept_report
from jobs.results.output_folder import csv_text, json_text
from jobs.results.pages import document_html, whole_page
from sampler.common.atomic_write import atomic_write
from sampler.common.errors import InputError

_made_anew = JobCache[str]()


def report_html(finished: JobOutcome) -> str:
    """The page, with a place for what draws its plots."""
    return document_html("report.html", **content(finished))


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
        for name, content in whole.items():
            atomic_write(out / name, content)
        return [out / name for name in whole]
    except OSError as error:
        problem = f"cannot write to {str(out)!r}: {error.strerror or error}"
        raise InputError("--out", f"{problem}; all that was measured is kept") from None


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
