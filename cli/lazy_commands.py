"""Commands that are imported when they are run: lists of commands name them from a table.

So `rocktune --help` imports no command, and a command imports nothing of another.
"""

import copy
import gc
import re
from collections import UserDict
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from functools import wraps
from importlib import import_module
from typing import Any, cast

import typer
from typer.core import TyperCommand, TyperGroup
from typer.exceptions import Abort
from typer.main import get_command

from cli.options.exits import names_typed, spelled
from sampler.common.errors import InputError


@contextmanager
def importing() -> Iterator[None]:
    """For imports that stay for good: looking through them for garbage takes a third of the time.

    What was made within is never looked through later either.
    """
    gc.disable()
    try:
        yield
    finally:
        gc.freeze()
        gc.enable()


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
        loaded: TyperCommand | TyperGroup = self.data[name].load(name)
        return loaded


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
