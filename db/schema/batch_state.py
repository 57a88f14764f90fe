"""How a batch stands."""

from __future__ import annotations

from enum import StrEnum


class BatchState(StrEnum):
    """How a batch of jobs stands."""

    RUNNING = "running"
    DONE = "done"  # all of its jobs are
    FAILED = "failed"  # at least one failed or was cancelled
    SKIPPED = "skipped"  # a time of a schedule at which nothing was started


BATCH_ENDED = frozenset({BatchState.DONE, BatchState.FAILED})
"""Those that have measured something; a skipped one never began."""
