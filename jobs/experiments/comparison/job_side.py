"""The best that a job has proven, as one side of a comparison."""

from __future__ import annotations

from sqlalchemy import Engine

from db.jobs.job_store import JobStore
from jobs.experiments.comparison.side import Side
from jobs.specification.specification import specification_from_document
from sampler.common.errors import InputError
from sampler.parameters.catalogue import catalogue
from sampler.space.space_file import space_from_document


def side_of_job(engine: Engine, number: int, field: str) -> Side:
    """The winner of a job over the job's own baseline; not its workload, nor its scale.

    Args:
        engine: The database that holds the job.
        number: The job's.
        field: What the user calls this side.

    Raises:
        InputError: There is no such job, it has no result or no winner, or it tuned a program
            that is not db_bench.
    """
    store = JobStore(engine)
    try:
        row = store.job(number)
    except KeyError:
        raise InputError(field, f"there is no job {number} in the database (--db)") from None
    result = store.result(number)
    if result is None:
        raise InputError(field, f"job {number} is {row.state.value} and has no result")
    best = result["best"]
    if best is None:
        raise InputError(field, f"job {number} found nothing better than its baseline")
    specification = specification_from_document(row.specification)
    space = space_from_document(specification.space)
    configuration = best["configuration"]
    unknown = [name for name in configuration if name not in catalogue()]
    if unknown:
        raise InputError(field, f"job {number} tuned {unknown[0]}, which is no option of RocksDB")
    facts = [name for name in configuration if catalogue()[name].section == "workload"]
    notes = [
        f"{name} = {configuration[name]} of job {number} is a fact of its load, left out here"
        for name in facts
    ]
    baseline = specification.baseline or space.baseline
    return Side(
        asked=f"job:{number}",
        what=f"the best of job {number}, trial {best['trial']}",
        build=specification.db_bench,
        base="library" if specification.baseline_options is not None else baseline,
        options=specification.baseline_options,
        values={name: value for name, value in configuration.items() if name not in facts},
        notes=tuple(notes),
        drop_unknown=specification.drop_unknown,
    )
