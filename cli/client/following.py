"""Following a job to its end, also over a service that restarts meanwhile."""

import signal
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, Protocol, TypeVar

from api.schemas.job_schemas import JobPublic
from cli.client.client_errors import UnavailableError, understood
from cli.client.remote import Remote
from db.schema.job_row import ENDED

_Answer = TypeVar("_Answer")
_ROUND_SECONDS = 1.0
_PATIENCE_SECONDS = 600.0


class FollowedJob(Protocol):
    """Where a followed job is shown."""

    def show(self, job: JobPublic) -> None:
        """The job as it is now."""

    def note(self, text: str) -> None:
        """A line about the following itself."""


def job_of(remote: Remote, job_id: int) -> tuple[JobPublic, dict[str, Any]]:
    """The job as it is now, and the document that says so."""
    document = remote.get(f"jobs/{job_id}")
    return understood(JobPublic, document), document


def follow(remote: Remote, job_id: int, view: FollowedJob) -> tuple[JobPublic, dict[str, Any]]:
    """Shows the job once a second until it has ended, and returns it; see ``patiently``."""
    while True:
        job, document = patiently(lambda: job_of(remote, job_id), view)
        view.show(job)
        if job.state in ENDED:
            return job, document
        time.sleep(_ROUND_SECONDS)


def patiently(ask: Callable[[], _Answer], view: FollowedJob) -> _Answer:
    """The answer, once there is one; an UnavailableError after ten minutes without."""
    since: float | None = None
    while True:
        try:
            answer = ask()
        except UnavailableError as error:
            now = time.monotonic()
            if since is None:
                since = now
                view.note(f"{error}; trying again, the job is not affected")
            elif now - since > _PATIENCE_SECONDS:
                raise
            time.sleep(_ROUND_SECONDS)
        else:
            if since is not None:
                view.note("the service answers again")
            return answer


@contextmanager
def terminated_like_interrupted() -> Iterator[None]:
    """Within, SIGTERM is what Ctrl-C is, so that the terminal is left as it was."""
    before = signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)
