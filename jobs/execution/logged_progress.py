"""Progress of a job as log lines."""

from __future__ import annotations

import structlog

from optimizer.run.progress import RunProgress
from optimizer.trials.trial import Phase, Trial

_log = structlog.get_logger("job")


class LoggedProgress:
    """One line for each phase and each trial; the job's number is bound by whoever runs it."""

    def phase(self, phase: Phase, why: str) -> None:
        """The job entered a phase."""
        _log.info("phase", phase=phase.value, why=why)

    def trial_started(self, trial: Trial) -> None:
        """A trial begins."""
        _log.debug("trial begins", trial=trial.number, attempt=trial.attempt)

    def trial_ended(self, trial: Trial, standing: RunProgress) -> None:
        """A trial ended."""
        _log.info(
            "trial ended",
            trial=trial.number,
            state=trial.state.value,
            seconds=round(trial.bench_seconds, 3),
            failure=trial.failure,
            done=standing.done,
            failed=standing.failed,
            total=standing.total,
        )

    def host_set_aside(self, host: str, why: str) -> None:
        """A host measures no more for this job."""
        _log.warning("host set aside", host=host, why=why)

    def tick(self) -> None:
        """A moment passed."""
