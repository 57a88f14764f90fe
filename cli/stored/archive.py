"""`rocktune db archive` and `db restore`: a job with all its trials as one file."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from cli.options.database_option import Db, require_there
from cli.options.exits import Exit
from sampler.common.errors import InputError

if TYPE_CHECKING:
    from sqlalchemy import Engine

ARCHIVE_EXAMPLES = """
Examples:

  rocktune db archive 12 job-12.jsonl.gz                 all that job 12 has measured

  gzip -cd job-12.jsonl.gz | head -2                     the specification, and the first trial
"""
RESTORE_EXAMPLES = """
Examples:

  rocktune db restore job-12.jsonl.gz --db other.db      `tune ... --resume --db other.db` goes on
"""


def archive(
    job_id: Annotated[int, typer.Argument(metavar="ID", help="The job's number.")],
    file: Annotated[Path, typer.Argument(metavar="FILE", help="Such as job-12.jsonl.gz.")],
    db: Db = None,
) -> int:
    """Writes a job with all its trials to one compressed file of JSON lines."""
    from db.connection.migrate import require_current
    from jobs.archive import write_archive

    require_there(db)
    with _opened(db) as engine:
        require_current(engine)
        try:
            count = write_archive(engine, job_id, file)
        except KeyError as error:
            raise InputError("ID", str(error.args[0])) from None
    typer.echo(f"job {job_id} with {count} trials is in {file}")
    return Exit.DONE


def restore(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="What `db archive` wrote.")],
    db: Db = None,
) -> int:
    """Puts an archived job into a database, where it can go on.

    An archive holds trials, not what was concluded from them: when the job goes on
    and all its trials are there, that is worked out again, and nothing is measured.
    """
    from db.connection.migrate import upgrade_tables
    from jobs.archive import restore_archive

    with _opened(db) as engine:
        upgrade_tables(engine)
        job_id = restore_archive(engine, file)
    typer.echo(
        f"{file} is job {job_id} there, without a result yet: its `rocktune tune` command with "
        f"--resume goes on with it, or `rocktune resume {job_id}` and a worker"
    )
    return Exit.DONE


@contextmanager
def _opened(db: str | None) -> Iterator[Engine]:
    from db.connection.engine import make_engine

    engine = make_engine(db)
    try:
        yield engine
    finally:
        engine.dispose()
