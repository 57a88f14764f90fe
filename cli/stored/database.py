"""`rocktune db`: the database that trials are kept in."""

from pathlib import Path
from typing import Annotated

import typer

from cli.options.database_option import (
    Db,
    Migrate,
    connected,
    open_database,
    require_there,
    upgrade,
)
from db.connection.migrate import current
from jobs.archive import restore_archive, write_archive
from sampler.common.errors import InputError

ARCHIVE_EXAMPLES = """
Examples:
  rocktune db archive 12 job-12.jsonl.gz                 all that job 12 has measured
  gzip -cd job-12.jsonl.gz | head -2                     the specification, and the first trial
"""
RESTORE_EXAMPLES = """
Examples:
  rocktune db restore job-12.jsonl.gz --db other.db      `tune ... --resume --db other.db` goes on
"""
db_command = typer.Typer(no_args_is_help=True, add_completion=False)


@db_command.command("upgrade")
def _upgrade(db: Db = None) -> None:
    """Makes or brings up to date the tables. Safe to run at any time, by several at once."""
    with connected(db) as engine:
        before = current(engine)
        upgrade(engine)
        after = current(engine)
        typer.echo(f"at {after}" if before == after else f"from {before or 'nothing'} to {after}")


@db_command.command("archive", epilog=ARCHIVE_EXAMPLES)
def _archive(
    job_id: Annotated[int, typer.Argument(metavar="ID", help="The job's number.")],
    file: Annotated[Path, typer.Argument(metavar="FILE", help="Such as job-12.jsonl.gz.")],
    db: Db = None,
) -> None:
    """Writes a job with all its trials to one compressed file of JSON lines."""
    require_there(db)
    with open_database(db) as engine:
        try:
            count = write_archive(engine, job_id, file)
        except KeyError as error:
            raise InputError("ID", str(error.args[0])) from None
    typer.echo(f"job {job_id} with {count} trials is in {file}")


@db_command.command("restore", epilog=RESTORE_EXAMPLES)
def _restore(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="What `db archive` wrote.")],
    db: Db = None,
    migrate: Migrate = False,
) -> None:
    """Puts an archived job into a database, where it can go on.

    An archive holds trials, not what was concluded from them: when the job goes on
    and all its trials are there, that is worked out again, and nothing is measured.
    """
    with open_database(db, migrate=migrate, make=True) as engine:
        job_id = restore_archive(engine, file)
    typer.echo(
        f"{file} is job {job_id} there, without a result yet: its `rocktune tune` command with "
        f"--resume goes on with it, or `rocktune resume {job_id}` and a worker"
    )
