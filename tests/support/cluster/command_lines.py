"""What is in ``deploy``: command lines that `rocktune` must take, documents that have schemas."""

import copy
from collections.abc import Sequence
from functools import reduce
from typing import Any

import jsonschema_rs
import typer

from cli.main import app
from tests.support import ROOT

DEPLOY = ROOT / "deploy"


def not_taken(words: Sequence[str]) -> list[str]:
    """What `rocktune` does not know of these words: a command, or options."""
    command, left = typer.main.get_command(app), list(words)
    while hasattr(command, "commands"):
        if not left or left[0] not in command.commands:
            return [left[0] if left else "no command"]
        command = command.commands[left.pop(0)]
    known = {name for each in command.params for name in each.opts + each.secondary_opts}
    given = [word.partition("=")[0] for word in left if word.startswith("-")]
    return [name for name in given if name not in known]


def schema_errors(schema: Any, document: Any) -> list[str]:
    found = jsonschema_rs.validator_for(schema).iter_errors(document)
    return [f"{list(error.instance_path)}: {error.message}" for error in found]


def changed(document: Any, place: str, value: object) -> Any:
    """The document with a value at ``a.0.b``; without what is there for None."""
    made = copy.deepcopy(document)
    *outer, last = (int(part) if part.isdecimal() else part for part in place.split("."))
    within = reduce(lambda each, part: each[part], outer, made)
    if value is None:
        del within[last]
    else:
        within[last] = value
    return made
