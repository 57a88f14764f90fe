"""A stored job run in this terminal, with its progress on standard error."""

from __future__ import annotations

import signal
from typing import TYPE_CHECKING, Any

from cli.render.progress_screen import TuningProgress
from cli.render.screen import say

if TYPE_CHECKING:
    from rich.console import Console
    from sqlalchemy import Engine

    from jobs.execution.assembly import Assembly
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
    **how: Any,
) -> JobOutcome:
    """Runs what is left of a job and shows how it goes; takes and raises what ``run_job`` does."""
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
            **how,
        )


def tell_warnings(console: Console, assembly: Assembly) -> None:
    """Prints what the user must know before it runs."""
    say(console, *(f"warning: {warning}" for warning in assembly.warnings))


def terminate_like_interrupt() -> None:
    """From now on SIGTERM ends what goes on as Ctrl-C does."""
    signal.signal(signal.SIGTERM, signal.default_int_handler)
