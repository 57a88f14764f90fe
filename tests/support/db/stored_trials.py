"""The trials of a job as another process finds them in its database."""

from db.connection.engine import make_engine
from db.jobs.job_store import JobStore
from optimizer.trials.trial import Trial


def trials_of(url: str, job: int = 1) -> list[Trial]:
    engine = make_engine(url)
    try:
        return JobStore(engine).trials(job)
    finally:
        engine.dispose()
