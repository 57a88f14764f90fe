"""A controller in a process of its own, for the tests to stop and to go on with.

``URL JOB FOLDER``: runs the stored job with the bench in ``FOLDER``; says ``lost`` when another
has taken the job over, ``done`` otherwise.
"""

import sys
from pathlib import Path

from db.connection.engine import make_engine
from db.jobs.job_store import JobStore
from jobs.execution import run_job as room
from jobs.execution.assembly import assemble
from jobs.specification.specification import specification_from_document
from optimizer.run.ports import LeaseLost, Unwatched
from sampler.bench.settings import Settings


def main(url: str, job: str, folder: str) -> None:
    engine = make_engine(url)
    store = JobStore(engine)
    specification = specification_from_document(store.job(int(job)).specification)
    settings = Settings(
        bench_dir=Path(folder) / "bench", lock=Path(folder) / "lock", free_bytes=2**20
    )
    assembly = assemble(specification, settings)
    try:
        room.run_job(engine, int(job), specification, assembly, settings, progress=Unwatched())
        print("done")  # noqa: T201
    except LeaseLost as lost:
        print(f"lost: {lost}")  # noqa: T201
    engine.dispose()


if __name__ == "__main__":
    main(*sys.argv[1:])
