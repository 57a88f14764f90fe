"""Whether a command line, as a unit or a manifest holds it, is one that `rocktune` takes."""

from collections.abc import Sequence

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
