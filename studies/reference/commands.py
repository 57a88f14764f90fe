"""What docs/reference takes from the code: every command with its options, and fields of jobs."""

import re
from collections.abc import Iterator
from enum import Enum
from pathlib import Path
from typing import Any, Literal, get_args, get_origin

from typer.main import get_command

from cli.main import app
from jobs.specification.request import JobRequest, field_kind

COMMANDS, HTTP = Path("docs/reference/commands.md"), Path("docs/reference/http.md")
_KINDS = {
    "whole": "whole number", "number": "number", "check": "true or false", "list": "list",
    "text": "text",
}  # fmt: skip
_VALUES = {int: "NUMBER", float: "NUMBER", Path: "PATH"}
_OBJECTS = {"space": "text or object", "objective": "text or object"}


def commands() -> list[tuple[str, Any]]:
    """Each command by its whole name, those of groups after their group."""
    return list(_within("rocktune", get_command(app)))


def _within(name: str, group: Any) -> Iterator[tuple[str, Any]]:
    for each in group.commands:
        command = group.commands[each]
        yield f"{name} {each}", command
        if getattr(command, "commands", None):
            yield from _within(f"{name} {each}", command)


def commands_text() -> str:
    """All commands, each with its arguments, options and examples."""
    found = commands()
    rows = [f"| [`{name}`](#{anchor(name)}) | {_first(one.help)} |" for name, one in found]
    head = ["| command | what it does |", "|---|---|", *rows]
    return "\n".join(head) + "\n\n" + "\n\n".join(_section(*each) for each in found)


def anchor(heading: str) -> str:
    """What a heading is linked by."""
    return re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-")


def _first(text: str | None) -> str:
    return _cell((text or "").strip().split("\n\n")[0])


def _cell(text: str) -> str:
    return " ".join(text.split()).replace("|", r"\|")


def _section(name: str, command: Any) -> str:
    arguments = [each for each in command.params if each.param_type_name == "argument"]
    options = [each for each in command.params if each.param_type_name == "option"]
    usage = " ".join([f"`{name}`", *(f"`{_argument(each)}`" for each in arguments)])
    told = [" ".join(each.split()) for each in (command.help or "").strip().split("\n\n")]
    parts = [f"## {name}", *told]
    if getattr(command, "commands", None):
        return "\n\n".join(parts)
    if arguments:
        parts.append(f"Usage: {usage}")
    rows = [f"| `{_argument(each)}` | {_help(each)} | |" for each in arguments if _help(each)]
    rows += [f"| {_names(each)} | {_help(each)} | {_default(each)} |" for each in options]
    if rows:
        parts.append("\n".join(["| option | meaning | default |", "|---|---|---|", *rows]))
    lines = [line.strip() for line in (command.epilog or "").splitlines() if line.strip()]
    examples = [line for line in lines if line.startswith("rocktune ")]
    if examples:
        shown = (re.sub(r"^(\S.*?\S)( {3,})(?=\S)", r"\1\2# ", line) for line in examples)
        parts.append("\n".join(["```", *shown, "```"]))
    return "\n\n".join(parts)


def _argument(argument: Any) -> str:
    name = argument.metavar or argument.name.upper()
    several = "..." if argument.nargs == -1 and not name.endswith("...") else ""
    return f"{name}{several}" if argument.required else f"[{name}]{several}"


def _names(option: Any) -> str:
    names = ", ".join(f"`{each}`" for each in option.opts)
    if option.secondary_opts:
        names += ", " + ", ".join(f"`{each}`" for each in option.secondary_opts)
    if option.is_flag:
        return names
    return f"{names} {_cell(option.metavar or _value(option))}"


def _value(option: Any) -> str:
    """What is written after an option."""
    kind = option.type_descriptor.annotation
    choices: tuple[Any, ...] = ()
    if get_origin(kind) in (list, tuple):
        kind = get_args(kind)[0]
    if get_origin(kind) is Literal:
        choices = get_args(kind)
    elif isinstance(kind, type) and issubclass(kind, Enum):
        choices = tuple(each.value for each in kind)
    return ", ".join(map(str, choices)) or _VALUES.get(kind, "TEXT")


def _help(parameter: Any) -> str:
    text = _cell(getattr(parameter, "help", None) or "")
    if parameter.envvar:
        text += f" Also `{parameter.envvar}`."
    return text


def _default(option: Any) -> str:
    default = option.default
    if isinstance(option.show_default, str):
        return _cell(option.show_default)
    if isinstance(default, Enum):
        default = default.value
    if isinstance(default, list | tuple):
        default = ", ".join(map(str, default))
    # A switch is off; None and callables are not shown.
    shown = isinstance(default, str | int | float | Path) and not isinstance(default, bool)
    return f"`{_cell(str(default))}`" if shown and default != "" else ""


def fields_text() -> str:
    """The fields of a tuning job over HTTP."""
    rows = []
    for name, field in JobRequest.model_fields.items():
        kind = _OBJECTS.get(name, _KINDS[field_kind(name)])
        rows.append(f"| `{name}` | {kind} | {_cell(field.description or '')} |")
    return "\n".join(["| field | type | meaning |", "|---|---|---|", *rows])


def written(text: str, name: str, made: str) -> str:
    """A page with the part between its two marks replaced.

    Raises:
        ValueError: There are no such marks.
    """
    begin, end = f"<!-- {name}: begin", f"<!-- {name}: end -->"
    before, mark, rest = text.partition(begin)
    line, _, tail = rest.partition("\n")
    _, last, after = tail.partition(end)
    if not (mark and last):
        raise ValueError(f"no part {name} is marked")
    return f"{before}{mark}{line}\n{made}\n{last}{after}"


PARTS = ((COMMANDS, "commands", commands_text), (HTTP, "fields", fields_text))
