"""The command `rocktune`."""

from __future__ import annotations

import os
import sys
from importlib.metadata import version
from typing import Annotated

import typer
from typer.exceptions import Abort, TyperException

from cli.client.answers import ServiceError
from cli.operations import batch, cluster, host, nights, schedule, service
from cli.options.exits import Exit, complain
from cli.stored import (
    archive,
    contributions,
    database,
    front,
    jobs,
    options,
    parameters,
    pick,
    report,
    show,
    submit,
)
from cli.tuning import (
    autotune,
    bench,
    catalogue,
    compare,
    doctor,
    explain,
    guide,
    stats,
    tune,
    upgrade_check,
)
from sampler.common.errors import InputError

app = typer.Typer(
    name="rocktune",
    help="Finds better RocksDB options by experiment, and proves it.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
    epilog="Begin with: rocktune tune --minutes 10 --out my-first-tuning",
)
app.command("tune", epilog=tune.EXAMPLES)(tune.tune)
app.command("bench", epilog=bench.EXAMPLES)(bench.bench)
app.command("compare", epilog=compare.EXAMPLES)(compare.compare)
app.command("doctor", epilog=doctor.EXAMPLES)(doctor.doctor)
app.command("space", epilog=catalogue.SPACE_EXAMPLES)(catalogue.space)
app.command("workloads", epilog=catalogue.WORKLOAD_EXAMPLES)(catalogue.workloads)
app.command("objectives")(catalogue.objectives)
app.command("starts")(catalogue.starts)
app.command("guide", epilog=guide.EXAMPLES)(guide.guide)
app.command("submit", epilog=submit.EXAMPLES)(submit.submit)
app.command("jobs", epilog=jobs.JOBS_EXAMPLES)(jobs.jobs)
app.command("show", epilog=show.EXAMPLES)(show.show)
app.command("parameters", epilog=parameters.EXAMPLES)(parameters.parameters)
app.command("options", epilog=options.EXAMPLES)(options.options)
app.command("pick", epilog=pick.EXAMPLES)(pick.pick)
app.command("front", epilog=front.EXAMPLES)(front.front)
app.command("contributions", epilog=contributions.EXAMPLES)(contributions.contributions)
app.command("explain", epilog=explain.EXAMPLES)(explain.explain)
app.command("report", epilog=report.EXAMPLES)(report.report)
app.command("cancel", epilog=jobs.CANCEL_EXAMPLES)(jobs.cancel)
app.command("resume", epilog=jobs.RESUME_EXAMPLES)(jobs.resume)
app.command("serve", epilog=service.SERVE_EXAMPLES)(service.serve)
app.command("worker", epilog=service.WORKER_EXAMPLES)(service.worker)
app.command("batch", epilog=batch.EXAMPLES)(batch.batch)
app.command("nights", epilog=nights.EXAMPLES)(nights.nights)
app.command("stats", epilog=stats.EXAMPLES)(stats.stats)
app.command("autotune", epilog=autotune.EXAMPLES)(autotune.autotune)
app.command("upgrade-check", epilog=upgrade_check.EXAMPLES)(upgrade_check.upgrade_check)
schedule_app = typer.Typer(no_args_is_help=True, help="Batches that start by themselves.")
schedule_app.command("add", epilog=schedule.ADD_EXAMPLES)(schedule.add)
schedule_app.command("list")(schedule.list_)
schedule_app.command("show", epilog=schedule.SHOW_EXAMPLES)(schedule.show)
schedule_app.command("delete")(schedule.delete)
schedule_app.command("run", epilog=schedule.RUN_EXAMPLES)(schedule.run)
app.add_typer(schedule_app, name="schedule")
app.command("host", epilog=host.EXAMPLES)(host.host)
cluster_app = typer.Typer(
    no_args_is_help=True, help="Many bench hosts: scheduler, certificates, who is there."
)
cluster_app.command("scheduler", epilog=cluster.SCHEDULER_EXAMPLES)(cluster.scheduler)
cluster_app.command("certificates", epilog=cluster.CERTIFICATES_EXAMPLES)(cluster.certificates)
cluster_app.command("status", epilog=cluster.STATUS_EXAMPLES)(cluster.status)
app.add_typer(cluster_app, name="cluster")
token_app = typer.Typer(no_args_is_help=True, help="Tokens of the service: who may do what.")
token_app.command("make", epilog=service.TOKEN_EXAMPLES)(service.make)
token_app.command("list")(service.list_)
token_app.command("revoke")(service.revoke)
app.add_typer(token_app, name="token")
db_app = typer.Typer(no_args_is_help=True, help="The database that trials are kept in.")
db_app.command("upgrade")(database.upgrade)
db_app.command("archive", epilog=archive.ARCHIVE_EXAMPLES)(archive.archive)
db_app.command("restore", epilog=archive.RESTORE_EXAMPLES)(archive.restore)
app.add_typer(db_app, name="db")


def _show_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"rocktune {version('rocktune')}")
        raise typer.Exit


@app.callback()
def _root(
    _version: Annotated[
        bool, typer.Option("--version", callback=_show_version, is_eager=True, help="Shows it.")
    ] = False,
) -> None:
    pass


# Of the driver's errors those that are no fault of the statement.
_DATABASE_FAILS = ("OperationalError", "InterfaceError", "InternalError", "DatabaseError")


def main(arguments: list[str] | None = None) -> int:
    """Runs a command and returns its exit status.

    Args:
        arguments: Without the program's name; None for the process's own.
    """
    try:
        status = app(arguments, prog_name="rocktune", standalone_mode=False)
        return status if isinstance(status, int) else Exit.DONE
    except InputError as error:
        complain(str(error))
        return Exit.BAD_INPUT
    except ServiceError as error:
        complain(str(error))
        return Exit.TOOL_FAILED
    except TyperException as error:
        complain(f"{error.format_message()} (see `rocktune --help`)")
        return error.exit_code
    except (Abort, KeyboardInterrupt):
        complain("interrupted")
        return Exit.INTERRUPTED
    except SystemExit as leaving:
        # Typer leaves with 1 by itself when whoever read our output has gone, and only then.
        return Exit.DONE if leaving.code == 1 else int(leaving.code or 0)
    except BrokenPipeError:
        # Whoever read our output has gone; say nothing, and let no flush say it at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return Exit.DONE
    except Exception as error:
        if "ROCKTUNE_DEBUG" in os.environ:
            raise
        complain(f"{_failure(error)} (set ROCKTUNE_DEBUG=1 for the whole story)")
        return Exit.TOOL_FAILED


def _failure(error: Exception) -> str:
    kind = type(error).__name__
    # Only SQLAlchemy's errors have one: the driver's own words, without statement and link.
    driver = getattr(error, "orig", None)
    if driver is None or kind not in _DATABASE_FAILS:
        return f"failed: {kind}: {error}"
    return (
        f"--db: the database failed: {driver}; when that is mended, run the command again, "
        "a job with --resume: what was written goes on from there"
    )


if __name__ == "__main__":
    sys.exit(main())
