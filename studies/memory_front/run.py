"""Runs one job in the product's own way: `rocktune tune`, its trials kept as an archive."""

from __future__ import annotations

import signal
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Protocol

from jobs.specification.specification import Specification
from sampler.common.errors import InputError
from studies.reproduction.study import read_study

_DATABASES = Path("rocktune-memory")
INTERRUPTED = 130


class Asked(Protocol):
    """A job that is asked for under a name."""

    @property
    def name(self) -> str:
        """Of its archive."""
        ...

    @property
    def specification(self) -> Specification:
        """What `rocktune tune` makes of its arguments."""
        ...

    def arguments(self) -> list[str]:
        """Of `rocktune tune`."""
        ...


def archive_of(folder: Path, job: Asked) -> Path:
    """Where a job's trials are kept."""
    return folder / f"{job.name}.jsonl.gz"


def finish(job: Asked, folder: Path, *, databases: Path = _DATABASES) -> int:
    """Goes on with a job to its end, or until it is interrupted; one that is done is left alone.

    Args:
        job: What is asked for.
        folder: Receives the archive.
        databases: Receives the database and what else the job leaves.

    Returns:
        0, or the exit status of what went wrong.

    Raises:
        InputError: What is kept under its name was asked for otherwise.
    """
    kept = archive_of(folder, job)
    if kept.exists():
        study = read_study(kept)
        if study.archive.specification.digest() != job.specification.digest():
            problem = "was asked for otherwise; move it away, or give what was asked then"
            raise InputError(str(kept), problem)
        if study.complete:
            return 0
    command = ["studies/reproduction/kept-job.sh", str(kept), str(databases / f"{job.name}.db")]
    # In a session of its own: an interrupt from the terminal is passed on once, not sent twice.
    script = subprocess.Popen([*command, *job.arguments()], start_new_session=True)
    with _interrupts_passed_to(script):
        return script.wait()


@contextmanager
def _interrupts_passed_to(script: subprocess.Popen[bytes]) -> Iterator[None]:
    signals = (signal.SIGINT, signal.SIGTERM)
    before = [signal.signal(each, lambda *_: script.terminate()) for each in signals]
    try:
        yield
    finally:
        for each, handler in zip(signals, before, strict=True):
            signal.signal(each, handler)
