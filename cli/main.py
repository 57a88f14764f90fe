"""The command `rocktune`."""

from __future__ import annotations

import os
import sys
from typing import Annotated

import typer
from typer.exceptions import Abort, TyperException

from cli.client.client_errors import ServiceError
from cli.lazy_commands import LazyCommand, lazy_group
from cli.options.exits import Exit, complain
from sampler.common.errors import InputError

COMMANDS = {
    "tune": LazyCommand(
        "cli.tuning.tune:tune_command", "Tunes RocksDB on this machine and proves the result."
    ),
    "bench": LazyCommand(
        "cli.tuning.bench:bench_command",
        "Measures one configuration with the real benchmark, outside of any job.",
    ),
    "compare": LazyCommand(
        "cli.tuning.compare:compare_command",
        "Measures A and B in turn on this machine, and says what differs and how sure that is.",
    ),
    "doctor": LazyCommand(
        "cli.tuning.doctor:doctor_command",
        "Tells whether this machine is fit to measure on, and what to do about it.",
    ),
    "space": LazyCommand("cli.tuning.catalogue:space_command", "Shows parameter spaces."),
    "workloads": LazyCommand("cli.tuning.catalogue:workloads_command", "Shows workloads."),
    "objectives": LazyCommand("cli.tuning.catalogue:objectives_command", "Shows objectives."),
    "starts": LazyCommand(
        "cli.tuning.catalogue:starts_command",
        "Shows the starting points that --start-from knows, each with its source.",
    ),
    "guide": LazyCommand(
        "cli.tuning.guide:guide_command",
        "Works out options from the size of a database, as KIOXIA's tuning guide does.",
    ),
    "submit": LazyCommand(
        "cli.stored.submit:submit_command",
        "Asks a service for a tuning job, and prints the job's number.",
    ),
    "jobs": LazyCommand("cli.stored.jobs:jobs_command", "Lists jobs, newest first."),
    "show": LazyCommand(
        "cli.stored.show:show_command",
        "Shows a job: its phase and why, how far it is, and what it found.",
    ),
    "parameters": LazyCommand(
        "cli.stored.importance:parameters_command",
        "Ranks the parameters, the most important first.",
    ),
    "options": LazyCommand(
        "cli.stored.files:options_command",
        "Writes the OPTIONS file of what a job has proven better.",
    ),
    "pick": LazyCommand(
        "cli.stored.trade_offs:pick_command",
        "Picks the best configurations that a job has measured, by any preference.",
    ),
    "front": LazyCommand(
        "cli.stored.trade_offs:front_command",
        "Lists the Pareto front: what no other measured configuration beats.",
    ),
    "contributions": LazyCommand(
        "cli.stored.importance:contributions_command",
        "Says what each parameter contributed to what a greedy job found.",
    ),
    "explain": LazyCommand(
        "cli.stored.explain:explain_command",
        "Explains why a job's winner is better than its baseline.",
    ),
    "report": LazyCommand(
        "cli.stored.files:report_command",
        "Writes the report of a finished job: one HTML file that opens without a network.",
    ),
    "cancel": LazyCommand(
        "cli.stored.jobs:cancel_command",
        "Ends a job. The benchmark is stopped within two seconds; what was measured is kept.",
    ),
    "resume": LazyCommand(
        "cli.stored.jobs:resume_command",
        "Lets a failed or cancelled job go on from what it has measured.",
    ),
    "serve": LazyCommand(
        "cli.operations.service:serve_command",
        "Serves tuning jobs over HTTP, and runs them. Stop it with Ctrl-C or SIGTERM.",
    ),
    "worker": LazyCommand(
        "cli.operations.service:worker_command",
        "Runs the jobs of a database, one at a time; a second worker waits its turn.",
    ),
    "batch": LazyCommand(
        "cli.tuning.batch:batch_command",
        "Runs the jobs of a file once, one after another, here or on a cluster.",
    ),
    "nights": LazyCommand(
        "cli.operations.nights:nights_command",
        "Compares each night's default and best with the nights before.",
    ),
    "stats": LazyCommand(
        "cli.tuning.stats:stats_command",
        "Reads the statistics that RocksDB dumps: writes, compaction and stalls.",
    ),
    "autotune": LazyCommand(
        "cli.tuning.autotune:autotune_command",
        "Loads a database with a sine wave of writes under each policy, and compares them.",
    ),
    "upgrade-check": LazyCommand(
        "cli.tuning.upgrade_check:upgrade_check_command",
        "Compares two RocksDB builds: their defaults, and the same configurations measured on "
        "both.",
    ),
    "host": LazyCommand(
        "cli.operations.cluster:host_command",
        "Measures what controllers send, one trial at a time. Stop it with Ctrl-C or SIGTERM.",
    ),
    "schedule": LazyCommand(
        "cli.operations.schedule:schedules", "Batches that start by themselves."
    ),
    "cluster": LazyCommand(
        "cli.operations.cluster:cluster",
        "Many bench hosts: scheduler, certificates, who is there.",
    ),
    "token": LazyCommand(
        "cli.operations.service:tokens", "Tokens of the service: who may do what."
    ),
    "db": LazyCommand("cli.stored.database:database", "The database that trials are kept in."),
}
app = typer.Typer(
    name="rocktune",
    cls=lazy_group(COMMANDS),
    help="Finds better RocksDB options by experiment, and proves it.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
    epilog="Begin with: rocktune tune --minutes 10 --out my-first-tuning",
)


def _show_version(wanted: bool) -> None:
    if wanted:
        from importlib.metadata import version

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
