"""Commands that are imported when they are run: lists of commands name them from a table.

So `rocktune --help` imports no command, and a command imports nothing of another.
"""

from __future__ import annotations

import copy
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from importlib import import_module
from typing import Any, cast

import typer
from typer.core import TyperCommand, TyperGroup
from typer.main import get_command


@dataclass(frozen=True)
class LazyCommand:
    """A command that need not be imported yet.

    Attributes:
        place: Where it is, as ``cli.tuning.tune:tune``: a function, or a ``typer.Typer`` that
            holds several.
        help: The first paragraph of its help, which lists of commands show.
    """

    place: str
    help: str

    def load(self, name: str) -> TyperCommand | TyperGroup:
        """The command itself, under its name.

        The help of a function ``name_command`` ends with the constant ``NAME_EXAMPLES`` of its
        module, or else with ``EXAMPLES``.
        """
        module_name, _, attribute = self.place.partition(":")
        module = import_module(module_name)
        found: Any = getattr(module, attribute)
        if isinstance(found, typer.Typer):
            loaded = get_command(found)
            loaded.name = name
        else:
            own = f"{attribute.removesuffix('_command').upper()}_EXAMPLES"
            epilog = getattr(module, own, getattr(module, "EXAMPLES", None))
            alone = typer.Typer(add_completion=False)
            alone.command(name, epilog=epilog)(found)
            loaded = get_command(alone)
        return cast(TyperCommand | TyperGroup, loaded)


class _Loaded(Mapping[str, Any]):
    """Commands by name, each imported as it is looked up."""

    def __init__(self, table: Mapping[str, LazyCommand]) -> None:
        self._table = table

    def __getitem__(self, name: str) -> TyperCommand | TyperGroup:
        return self._table[name].load(name)

    def __iter__(self) -> Iterator[str]:
        return iter(self._table)

    def __len__(self) -> int:
        return len(self._table)


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

        def format_help(self, ctx: Any, formatter: Any) -> None:
            """The help of the group, by what the table says of each command."""
            listed = copy.copy(self)
            listed.commands = {
                name: TyperCommand(name, help=each.help) for name, each in table.items()
            }
            TyperGroup.format_help(listed, ctx, formatter)

    return LazyGroup
