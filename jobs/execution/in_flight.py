"""What was being measured when a job was left."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime

from optimizer.run.ports import TrialLog
from sampler.runner.outcome import TrialState


def lose_in_flight(log: TrialLog, failure: str) -> None:
    """Marks what was begun and has no outcome as lost, so that it is run again one day."""
    for trial in log.trials():
        if trial.state is TrialState.RUNNING:
            lost = replace(
                trial, state=TrialState.LOST, failure=failure, finished_at=datetime.now(UTC)
            )
            log.finish(lost)
