"""What a finished job leaves: OPTIONS.ini, result.json, trials.csv and its report.

The report is one page that needs nothing else, once its plots' library is in it. Beside
OPTIONS.ini lies OPTIONS.minimal.ini where fewer changes do as well, OPTIONS.full.ini where it is
a simplified version of another candidate, and OPTIONS.diff where it is a file of the user's.
"""

from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

from sqlalchemy import Engine

from db.schema.job_row import JobRow
from jobs.report.content import content
from jobs.report.options_comment import describe, describe_fullest, describe_minimal
from jobs.report.trial_export import trials_csv
from jobs.results.export import ExportRefusedError, difference_of
from jobs.results.fits import JobCache
from jobs.results.outcome import JobOutcome, job_outcome, kept_report
from jobs.results.output_folder import (
    DIFFERENCE,
    FULLEST,
    MINIMAL,
    OPTIONS,
    REPORT,
    RESULT,
    TRIALS,
    json_text,
)
from jobs.results.pages import document_html, whole_page
from jobs.specification.specification import Specification
from optimizer.explanation.explanation import fewer_changes
from optimizer.results.document import Result
from optimizer.results.result import Conclusion, fitness_by_trial, result_document
from optimizer.trials.problem import Problem
from sampler.common.atomic_write import atomic_write
from sampler.common.errors import InputError
from sampler.rocksdb.application import application_names
from sampler.space.space import Configuration

_made_anew = JobCache[str]()


def conclude_job(
    specification: Specification,
    problem: Problem,
    conclusion: Conclusion,
    environment: Mapping[str, Any],
    *,
    export: Callable[[Configuration, list[str]], str],
    tried: bool,
) -> JobOutcome:
    """The result and the OPTIONS file.

    ``export`` writes the file of a configuration, with lines of comment at its top; ``tried`` says
    whether a real RocksDB loads it there. Where RocksDB does not take the file, or not as
    intended, the outcome has none, and ``result["export"]`` says why and holds its text. Else it
    names what the program sets itself.
    """
    result = result_document(conclusion, job=specification.document(), environment=environment)
    options = minimal = fullest = None
    if result["best"] is not None:
        comments = describe(problem, Result.read(result), tried=tried)
        try:
            options = export(result["best"]["configuration"], comments)
        except ExportRefusedError as refused:  # what was measured is worth as much without it
            result["export"] = {"refused": str(refused), "options": refused.text}
        else:
            result["export"] = {"application": application_names(specification.baseline_options)}
    fewer = fewer_changes(result)
    if fewer is not None:
        try:
            text = describe_minimal(problem, Result.read(result), tried=tried)
            minimal = export(fewer["configuration"], text)
        except ExportRefusedError as refused:  # it was never measured, and the best file stands
            fewer["refused"] = str(refused)
    full = result["best"] and result["best"]["fullest"]
    if full:
        with suppress(ExportRefusedError):
            text = describe_fullest(problem, Result.read(result), tried=tried)
            fullest = export(full["configuration"], text)
    fitness = fitness_by_trial(conclusion)
    return JobOutcome(result, options, fitness, tuple(conclusion.history), minimal, fullest)


def report_html(finished: JobOutcome) -> str:
    """The page, with a place for what draws its plots."""
    return document_html("report.html", **content(finished))


def report_of_job(engine: Engine, job: JobRow) -> bytes:
    """The page of a finished job; a KeyError of one without a result."""
    kept = kept_report(engine, job.id)
    if kept is None:
        kept = _made_anew.of(
            engine, job.id, job.updated_at, lambda: report_html(job_outcome(engine, job.id))
        )
    return whole_page(kept)


REFUSED = "OPTIONS.refused.ini"  # what RocksDB did not take, for whoever looks for the reason


def write_artifacts(finished: JobOutcome, out: Path) -> list[Path]:
    """Writes the files, each whole or not at all; returns those that are there.

    Where nothing was proven better there is no OPTIONS file, and those of an earlier job go. Where
    one cannot be written, an InputError, nothing is lost: they are made of what the database has.
    """
    files: dict[str, str | bytes | None] = {
        OPTIONS: finished.options,
        DIFFERENCE: difference_of(finished.result["job"], finished.options),
        MINIMAL: finished.minimal,
        FULLEST: finished.fullest,
        REFUSED: (finished.result.get("export") or {}).get("options"),
        RESULT: json_text(finished.result),
        TRIALS: trials_csv(finished.trials, finished.fitness),
        REPORT: whole_page(report_html(finished)),
    }
    try:
        for name, text in files.items():
            if text is None:
                (out / name).unlink(missing_ok=True)
            else:
                atomic_write(out / name, text)
        return [out / name for name, text in files.items() if text is not None]
    except OSError as error:
        problem = f"cannot write to {str(out)!r}: {error.strerror or error}"
        raise InputError("out", f"{problem}; all that was measured is kept") from None
