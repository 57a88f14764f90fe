"""The console and the table of every command: text on them is nothing but text."""

import json
import os
import sys
from collections.abc import Callable, Iterable, Sequence
from itertools import cycle
from typing import Annotated, Any

from rich.console import Console, ConsoleOptions, RenderableType
from rich.segment import Segment
from rich.table import Table
from rich.text import Text
from typer import Option

from sampler.common.untrusted_text import printable

_WIDTH = 10_000  # a pipe has none of its own: what reads it cuts no line


class TextConsole(Console):
    """A console on which text is nothing but text, whoever wrote it.

    Markup and emoji are off. All that is printed, in tables and bars too, comes by ``render``:
    what a terminal would obey is taken out there, and what Rich itself says to it is added later.

    Without a terminal a table is as wide as its cells, unless ``COLUMNS`` says how wide it may be.
    """

    def __init__(self, *, stderr: bool = False, highlight: bool = True) -> None:
        super().__init__(stderr=stderr, markup=False, emoji=False, highlight=highlight)
        if not self.is_terminal and not os.environ.get("COLUMNS", "").isdigit():
            self.width = _WIDTH

    def on_broken_pipe(self) -> None:
        """Ends the command, for whoever read its output has gone (``rocktune tune 2>&1 | head``).

        Standard error tells how far work is: without it the work ends as by Ctrl-C, and can be
        gone on with. Standard output has what was asked for: then nothing is left to do.

        Raises:
            KeyboardInterrupt: Nobody reads standard error any more.
            SystemExit: Nobody reads standard output any more.
        """
        if not self.stderr:
            super().on_broken_pipe()
        self.quiet = True
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stderr.fileno())
        raise KeyboardInterrupt

    def render(
        self, renderable: RenderableType, options: ConsoleOptions | None = None
    ) -> Iterable[Segment]:
        """The segments of what is printed, each without what a terminal would obey."""
        for segment in super().render(renderable, options):
            text, style, control = segment
            if control or text.isprintable():
                yield segment
            else:
                yield Segment("\n".join(map(printable, text.split("\n"))), style)


def screen(*, stderr: bool = False) -> Console:
    """A console for lines and tables, without colours for figures."""
    return TextConsole(stderr=stderr, highlight=False)


def json_alone(what: str) -> Any:
    """The option ``--json`` of a command that then writes a document and nothing else."""
    return Option("--json", help=f"Print only {what} to standard output.")


Verbose = Annotated[
    bool, Option("--verbose", help="Also print measurement, explanation and parameter ranking.")
]


def print_json(document: Any) -> None:
    """One JSON document as a line of standard output; a ValueError of what is not finite."""
    sys.stdout.write(json.dumps(document, allow_nan=False) + "\n")


def say(console: Console, *lines: str | Text, style: str | None = None) -> None:
    """Prints each line in one line, whatever it holds and however narrow the terminal is."""
    for line in lines:
        shown = printable(line) if isinstance(line, str) else line
        console.print(shown, style=style, markup=False, highlight=False, soft_wrap=True)


def bare_table(*titles: Sequence[str], no_wrap: bool = False) -> Table:
    """A table without lines; more columns may be added to it.

    ``titles`` are those of columns of words, then of figures, then of words again, and so on. With
    ``no_wrap`` figures are cut rather than wrapped where a terminal is narrow, and words folded.
    """
    table = Table(box=None, pad_edge=False, header_style="bold")
    for group, figures in zip(titles, cycle((False, True)), strict=False):
        for title in group:
            if figures:
                table.add_column(title, justify="right", no_wrap=no_wrap)
            else:
                table.add_column(title, overflow="fold" if no_wrap else "ellipsis")
    return table


def if_known(value: float | None, form: str, unknown: str = "") -> str:
    """A figure as ``str.format`` writes it."""
    return unknown if value is None else form.format(value)


def told_on_change(
    console: Console, line: str = "waiting: {} is using this host"
) -> Callable[[str], None]:
    """Says who is waited for, whenever it is somebody else."""
    told = [""]

    def tell(who: str) -> None:
        if who != told[0]:
            told[0] = who
            say(console, line.format(who))

    return tell


def told_by_tenths(console: Console) -> Callable[[str], None]:
    """Says lines; of those that begin with a percentage the first of each tenth."""
    reached = [-1]

    def tell(line: str) -> None:
        percent = line.partition("%")[0]
        if not percent.isdecimal():
            say(console, line)
        elif int(percent) // 10 > reached[0]:
            reached[0] = int(percent) // 10
            say(console, line)

    return tell
