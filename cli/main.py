"""The command `rocktune`, whose commands are imported when they are run.

So `rocktune --help` imports no command, and a command imports nothing of another.
"""

import copy
import json
import os
import re
import sys
from collections import UserDict
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import wraps
from importlib import import_module
from pathlib import Path
from typing import Annotated, Any, cast

import typer
from typer.core import TyperCommand, TyperGroup
from typer.exceptions import Abort, TyperException
from typer.main import get_command

from cli.client.client_errors import ServiceError
from cli.options.exits import Exit, complain, importing, names_typed, spelled
from sampler.common.errors import InputError, value_problem
from sampler.common.text import printable


@dataclass(frozen=True)
class LazyCommand:
    """A command that need not be imported yet.

    In its module ``name_command`` is a function, or a ``typer.Typer`` that holds several. The help
    of a function ends with the constant ``NAME_EXAMPLES`` there, or else with ``EXAMPLES``.
    """

    module: str  # where it is, as ``cli.tuning.tune``
    # The first paragraph of its help, which lists of commands show; all that a group has.
    help: str
    group: str  # the heading that it stands under in the help

    def load(self, name: str) -> TyperCommand | TyperGroup:
        """The command itself, under its name."""
        with importing():
            module = import_module(self.module)
        plain_name = name.replace("-", "_")
        found: Any = getattr(module, f"{plain_name}_command")
        if isinstance(found, typer.Typer):
            loaded = get_command(found)
            loaded.name, loaded.help = name, self.help
        else:
            of_all = getattr(module, "EXAMPLES", None)
            epilog = getattr(module, f"{plain_name.upper()}_EXAMPLES", of_all)
            alone = typer.Typer(add_completion=False)
            alone.command(name, epilog=epilog)(found)
            loaded = get_command(alone)
        for command in (loaded, *getattr(loaded, "commands", {}).values()):
            command.callback = _spelling(command)
            # On the screen every example is a paragraph; in the source they are lines.
            command.epilog = re.sub(r"\n(?=  \S)", "\n\n", command.epilog or "") or None
        return cast(TyperCommand | TyperGroup, loaded)


def _spelling(command: TyperCommand | TyperGroup) -> Callable[..., Any] | None:
    """What a command calls, with fields of an InputError named as they are typed for it."""
    call = command.callback
    if call is None:
        return None

    @wraps(call)
    def run(*args: Any, **given: Any) -> Any:
        try:
            return call(*args, **given)
        except InputError as error:
            raise spelled(error, names_typed(command.params)) from error.__cause__

    return run


class _Loaded(UserDict[str, Any]):
    """Commands by name, each imported as it is looked up."""

    def __getitem__(self, name: str) -> TyperCommand | TyperGroup:
        found: LazyCommand | TyperCommand | TyperGroup = self.data[name]
        if isinstance(found, LazyCommand):
            found = self.data[name] = found.load(name)
        return found


def lazy_group(table: Mapping[str, LazyCommand]) -> type[TyperGroup]:
    """The class of a group that holds the commands of a table, for ``typer.Typer(cls=...)``."""

    class LazyGroup(TyperGroup):
        """A group of commands that are not imported yet."""

        def __init__(self, **given: Any) -> None:
            super().__init__(**given)
            self.commands = cast(Any, _Loaded(table))

        def list_commands(self, ctx: Any) -> list[str]:
            """Their names, in the order of the table."""
            del ctx
            return list(table)

        def invoke(self, ctx: Any) -> Any:
            """Runs a command; Typer itself would end an interrupted one without a word."""
            try:
                return super().invoke(ctx)
            except KeyboardInterrupt:
                raise Abort from None

        def format_help(self, ctx: Any, formatter: Any) -> None:
            """The help of the group, by what the table says of each command."""
            listed = copy.copy(self)
            listed.commands = {
                name: TyperCommand(name, help=each.help, rich_help_panel=each.group)
                for name, each in table.items()
            }
            TyperGroup.format_help(listed, ctx, formatter)

    return LazyGroup


# Name, module below `cli`, and the first paragraph of its help, which a test compares. In the help
# they stand in these groups, those first that matter most.
_TABLE = """
# Tune and measure
tune           tuning.tune           Tunes RocksDB on this machine and proves the result.
doctor         tuning.doctor         Checks whether this machine is fit to measure on, and says what to fix.
profile        tuning.profile        Writes a workload that imitates a database, from its folder, LOG or trace.
compare        tuning.experiments    Compares A and B by interleaved runs on this machine, with confidence intervals.
upgrade-check  tuning.experiments    Compares two RocksDB builds: their defaults, and the same configurations measured on both.
bench          tuning.experiments    Runs the benchmark with one configuration, outside of any job.
stats          tuning.stats          Shows the statistics in a RocksDB LOG or db_bench output: writes, compaction, stalls.
# Jobs and results
show           stored.jobs           Shows a job: its phase, progress and result.
report         stored.results        Writes the report of a finished job: one HTML file that opens offline.
options        stored.results        Writes the OPTIONS file of a job's winner, or the same in another format.
explain        stored.results        Explains why a job's winner is better than its baseline.
jobs           stored.jobs           Lists jobs, newest first.
parameters     stored.results        Ranks the parameters of a job by importance.
pick           stored.results        Picks a job's best measured configurations by other weights or limits.
front          stored.results        Lists the Pareto front of a job's measured configurations.
cancel         stored.jobs           Cancels a job and keeps its measurements. The benchmark stops within 2 s.
resume         stored.jobs           Resumes a failed or cancelled job. Its measurements are kept.
# Catalogue
workloads      tuning.catalogue      Lists the workloads, or shows one.
space          tuning.catalogue      Lists the parameter spaces, or shows one.
objectives     tuning.catalogue      Lists the objectives, or shows one.
starts         tuning.catalogue      Lists the starting points for --start-from, or shows one with its sources.
# Service
serve          operations.service    Runs the HTTP service and its jobs. Stop it with Ctrl-C or SIGTERM.
submit         stored.jobs           Submits a tuning job to a service, and prints the job's number.
worker         operations.service    Runs the queued jobs of a database, one at a time. A second worker stands by.
token          operations.service    Creates, lists and revokes the tokens of the service.
webhooks       operations.schedule   Manages webhooks, which send messages to a chat or to a program of yours.
db             operations.service    Upgrades the trial database; archives and restores its jobs.
# Nightly benchmarks
batch          tuning.batch          Runs the jobs of a batch file, one after another, here or on a cluster.
schedule       operations.schedule   Starts batches at the times of a cron expression.
check          tuning.batch          Runs a batch for CI; exits with 3 on a regression against earlier nights.
nights         operations.nights     Shows the nights of a batch, and detects regressions.
# Cluster
cluster        operations.cluster    Runs a cluster of bench hosts: scheduler, certificates, status.
host           operations.cluster    Runs a bench host: measures one trial at a time. Stop it with Ctrl-C or SIGTERM.
hosts          operations.cluster    Shows the bench hosts: state, noise, speed and drift.
# From the literature
guide          tuning.catalogue      Computes options from the size of a database, by KIOXIA's tuning guide.
autotune       tuning.autotune       Compares compaction policies under a sine wave of writes.
contributions  stored.results        Shows the gain of each parameter in a greedy job.
"""  # noqa: E501
COMMANDS = {
    name: LazyCommand(f"cli.{module}", help, group.split("\n")[0])
    for group in _TABLE.strip().removeprefix("# ").split("\n# ")
    for name, module, help in (line.split(maxsplit=2) for line in group.split("\n")[1:])
}
app = typer.Typer(
    name="rocktune",
    cls=lazy_group(COMMANDS),
    help="Finds better RocksDB options by experiment, and proves that they are better.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
    epilog="Start with: rocktune doctor. Then: rocktune tune --trials 90",
)


def _show_version(wanted: bool) -> None:
    if wanted:
        from importlib.metadata import version

        typer.echo(f"rocktune {version('rocktune')}")
        raise typer.Exit


def _show_license(wanted: bool) -> None:
    """That of Rocktune, and that of the plots' library, which stands in its pages."""
    if wanted:
        from importlib.metadata import distribution

        rocktune, plotly = distribution("rocktune"), distribution("plotly")
        typer.echo(f"Rocktune {rocktune.version}: Apache-2.0\n")
        typer.echo(rocktune.read_text("licenses/LICENSE") or "Its text is in the sources: LICENSE")
        typer.echo(f"Reports and pages contain the JavaScript of Plotly {plotly.version}: MIT\n")
        typer.echo(plotly.read_text("licenses/LICENSE.txt") or "Its text is in each page")
        raise typer.Exit


def _next_steps() -> str:
    """What to do next in this folder, by what a job has left in it."""
    out = Path("rocktune-out")
    try:
        result = json.loads((out / "result.json").read_bytes())
        found = "a better one was proven" if result.get("best") else "nothing was proven better"
        found = printable(str((result["verdict"] or {}).get("trade") or found))
    except (OSError, ValueError, KeyError, TypeError, AttributeError):  # or not that of a job
        return """Nothing is tuned in this folder yet. Next:
  rocktune doctor                     is this machine fit to measure on?
  rocktune tune                       tunes a small load: about five minutes, into rocktune-out
  rocktune tune --like /var/lib/mydb  the load and the OPTIONS of your own database"""
    file = "  rocktune-out/OPTIONS.ini            open a copy of your database with it\n"
    return f"""The last job in this folder: {found}
Next:
  rocktune-out/report.html            the report: opens without a network
{file if (out / "OPTIONS.ini").exists() else ""}\
  rocktune jobs                       all jobs, with their numbers
  rocktune explain ID                 what each changed option gains"""


@app.callback()
def _root(
    _version: Annotated[
        bool,
        typer.Option("--version", callback=_show_version, is_eager=True, help="Show the version."),
    ] = False,
    _license: Annotated[
        bool,
        typer.Option(
            "--license",
            callback=_show_license,
            is_eager=True,
            help="Show the licences of Rocktune and of the JavaScript in its pages.",
        ),
    ] = False,
) -> None:
    pass


_COMPLETES = "_ROCKTUNE_COMPLETE"  # by it a shell asks what may follow, without arguments
# Of the driver's errors those that are no fault of the statement.
_DATABASE_FAILS = ("OperationalError", "InterfaceError", "InternalError", "DatabaseError")


def main(arguments: list[str] | None = None) -> int:
    """Runs a command, by default with the process's own arguments; returns its exit status."""
    given = sys.argv[1:] if arguments is None else arguments
    try:
        if not given and _COMPLETES not in os.environ:
            typer.echo(f"{_next_steps()}\n\nAll commands: rocktune --help")
            return Exit.DONE
        status = app(arguments, prog_name="rocktune", standalone_mode=False)
        return status if isinstance(status, int) else Exit.DONE
    except (InputError, ServiceError) as error:
        complain(str(error))
        return Exit.BAD_INPUT if isinstance(error, InputError) else Exit.TOOL_FAILED
    except TyperException as error:
        complain(f"{_refusal(error)} (see `rocktune --help`)")
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
        complain(f"{_failure(error)} (set ROCKTUNE_DEBUG=1 for the traceback)")
        return Exit.TOOL_FAILED


def _refusal(error: TyperException) -> str:
    """What is wrong with the command line, in our words where a value is of the wrong type."""
    # Pydantic has refused it, for Typer: neither is named by what Typer shows of its errors.
    found, option = getattr(error.__cause__, "errors", None), getattr(error, "param", None)
    if found is None or option is None:
        return error.format_message()
    return f"{option.get_error_hint().strip(chr(39))}: {value_problem(found()[0])}"


def _failure(error: Exception) -> str:
    kind = type(error).__name__
    # Only SQLAlchemy's errors have one: the driver's own words, without statement and link.
    driver = getattr(error, "orig", None)
    if driver is None or kind not in _DATABASE_FAILS:
        return f"failed: {kind}: {error}"
    return (
        f"--db: the database failed: {driver}; once that is fixed, run the command again (a job "
        "with --resume, to continue from what was stored)"
    )


if __name__ == "__main__":
    sys.exit(main())
