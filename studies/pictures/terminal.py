"""Pictures of the terminal: what a job found, and the help, each light, dark and narrow.

    make terminal-pictures

The job is that of docs/results/first_job.md, put back from its archive and concluded by today's
code. The text is that of the commands; Rich draws it. Nothing is loaded over the network. db_bench
must be installed.
"""

from __future__ import annotations

import io
import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.terminal_theme import DEFAULT_TERMINAL_THEME, SVG_EXPORT_THEME
from rich.text import Text

from cli.render.outcome_screen import print_outcome
from db.connection.engine import make_engine
from db.connection.migrate import upgrade_tables
from studies.pictures.dashboard import concluded
from tests.support import ROOT

ARCHIVE = ROOT / "docs" / "results" / "first_job.jsonl.gz"
_LOOKS = {
    "light": (110, DEFAULT_TERMINAL_THEME),
    "dark": (110, SVG_EXPORT_THEME),
    "narrow": (80, DEFAULT_TERMINAL_THEME),
}
_FONT = re.compile(r"@font-face \{.*?\}\s*", re.DOTALL)  # Rich would load it from a server
_PROGRAM = Path(sys.executable).with_name("rocktune")


def found(result: Mapping[str, Any], width: int) -> Text:
    """What ``rocktune tune`` prints at the end of a job."""
    console = Console(width=width, force_terminal=True, file=io.StringIO(), highlight=False)
    print_outcome(console, result, job=1, out=Path("rocktune-out"))
    return Text.from_ansi(console.file.getvalue())  # type: ignore[attr-defined]


def unpadded(text: Text) -> str:
    """Its lines without the spaces that end them."""
    return "".join(f"{line.rstrip()}\n" for line in text.plain.splitlines())


def printed(command: list[str], width: int) -> Text:
    """What a command prints on a terminal of this width."""
    env = {**os.environ, "FORCE_COLOR": "1", "COLUMNS": str(width), "TERMINAL_WIDTH": str(width)}
    run = subprocess.run([_PROGRAM, *command], env=env, stdout=subprocess.PIPE, check=True)
    return Text.from_ansi(run.stdout.decode())


def main(folder: str) -> None:
    """Writes them, and the text of the first as ``tune.txt``."""
    out = Path(folder)
    out.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as made:
        engine = make_engine(Path(made) / "rocktune.db")
        upgrade_tables(engine)
        result = concluded(engine, ARCHIVE, Path(made)).result
        engine.dispose()
    (out / "tune.txt").write_text(unpadded(found(result, 100)))
    for look, (width, theme) in _LOOKS.items():
        shown = {
            "tune": found(result, width),
            "help": printed(["--help"], width),
        }
        for name, text in shown.items():
            console = Console(width=width, record=True, file=io.StringIO())
            console.print(text, overflow="fold")
            title = "rocktune tune" if name == "tune" else f"rocktune --{name}"
            picture = console.export_svg(title=title, theme=theme, unique_id=f"{name}-{look}")
            lines = (line.rstrip() for line in _FONT.sub("", picture).splitlines())
            (out / f"{name}-{look}.svg").write_text("\n".join(filter(None, lines)) + "\n")


if __name__ == "__main__":
    main(*sys.argv[1:])
