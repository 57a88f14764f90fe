"""A stored job run in this terminal, with its progress on standard error."""

from __future__ import annotations

import signal
from collections.abc import Callable, Collection
from types import FrameType
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rich.console import Console
    from sqlalchemy import Engine

    from db.schema.job_row import JobState
    from jobs.execution.assembly import Assembly
    from jobs.execution.execution_backend import ExecutionBackend
    from jobs.results.outcome import JobOutcome
    from jobs.specification.specification import Specification
    from sampler.runner.settings import Settings


def run_here(
    engine: Engine,
    job_id: int,
    specification: Specification,
    assembly: Assembly,
    settings: Settings,
    *,
    console: Console,
    check: Callable[[], None] = lambda: None,
    expected: Collection[JobState] | None = None,
    backend: ExecutionBackend | None = None,
) -> JobOutcome:
    """Runs what is left of a job, as ``run_job`` does, and raises what that raises.

    Args:
        engine: The store.
        job_id: The job.
        specification: As it is stored with the job.
        assembly: Made of the specification on this machine.
        settings: Where things are on this machine.
        console: Where it is shown.
        check: Called at every tick; what it raises ends the trial in flight and is passed on.
        expected: The states that the job may be in; None for any.
        backend: Where it is measured; None for this machine.
    """
    from cli.render.progress_screen import TuningProgress
    from db.schema.job_row import JobState
    from jobs.execution.run_job import run_job

    with TuningProgress(console, specification.trials) as progress:
        return run_job(
            engine,
            job_id,
            specification,
            assembly,
            settings,
            progress=progress,
            waiting=progress.waiting,
            away=progress.note,
            told=progress.note,
            check=check,
            expected=tuple(JobState if expected is None else expected),
            backend=backend,
        )


def tell_warnings(console: Console, assembly: Assembly) -> None:
    """Prints what the user must know before it runs."""
    for warning in assembly.warnings:
        console.print(f"warning: {warning}", markup=False, highlight=False, soft_wrap=True)


def terminate_like_interrupt() -> None:
    """From now on SIGTERM ends the trial in flight as Ctrl-C does."""
    signal.signal(signal.SIGTERM, _interrupt)


def _interrupt(_signal: int, _frame: FrameType | None) -> None:
    raise KeyboardInterrupt
