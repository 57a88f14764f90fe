"""Whatever others wrote, a terminal is given nothing that it would obey."""

import io
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.progress import Progress, TextColumn

from cli.options.exits import complain
from cli.render.screen import TextConsole, bare_table, screen
from sampler.common.text import printable
from tests.support import ROOT

SAID = st.text(max_size=20) | st.text("\x1b\x07\x9b\x90]0;[2Jm\u202e\u2066\n\r\t a", max_size=12)
EVIL = "\x1b]0;title\x07 \x9b2J \u202e[red]name[/red] :smile: [link=http://a]b"
TAME = "]0;title 2J [red]name[/red] :smile: [link=http://a]b"


def page(*, terminal: bool = False) -> TextConsole:
    console = TextConsole()
    console.file = io.StringIO()
    console.width = 4000
    console._force_terminal = terminal
    return console


def on(console: TextConsole) -> str:
    assert isinstance(console.file, io.StringIO)
    return console.file.getvalue()


@given(SAID)
def test_lines_and_tables_hold_nothing_that_a_terminal_obeys(text: str):
    console = page()
    console.print(text, soft_wrap=True)
    table = bare_table((text,), ("n",))
    table.add_row(text, text)
    console.print(table)
    assert all(each.isprintable() for each in on(console).replace("\n", ""))


def test_markup_and_emoji_of_others_are_text():
    console = page()
    console.print(EVIL, soft_wrap=True)
    table = bare_table(("name",))
    table.add_row(EVIL)
    console.print(table)
    assert [line.strip() for line in on(console).splitlines()] == [TAME, "name", TAME]


def test_a_bar_on_a_terminal_says_only_what_rich_says():
    console = page(terminal=True)
    bar = Progress(TextColumn("{task.description}", markup=False), console=console)
    with bar:
        bar.add_task(EVIL, total=None)
    said = on(console)
    assert TAME in re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", said)
    assert not re.search("[\x07\x9b\u202e]|\x1b]", said)


def test_every_command_prints_on_this_console():
    made = {
        path.relative_to(ROOT).as_posix()
        for path in (ROOT / "cli").rglob("*.py")
        if re.search(r"(?<!Text)\bConsole\(", path.read_text(encoding="utf-8"))
    }
    assert made == set()


@given(SAID)
def test_an_error_is_one_line_of_text(text: str):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("sys.stderr", said := io.StringIO())
        complain(text)
    line = said.getvalue()
    assert line.endswith("\n") and line[:-1].isprintable()
    assert line == f"rocktune: {printable(' '.join(text.split()))}\n"


@pytest.mark.parametrize(("columns", "wraps"), [(None, False), ("60", True), ("wide", False)])
def test_a_table_without_a_terminal_is_as_wide_as_its_cells(
    columns: str | None, wraps: bool, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.delenv("COLUMNS", raising=False)
    if columns is not None:
        monkeypatch.setenv("COLUMNS", columns)
    for console in (TextConsole(), screen()):
        console.file = io.StringIO()
        table = bare_table(("name", "why"))
        table.add_row("a", "word " * 400)
        console.print(table)
        assert (len(console.file.getvalue().splitlines()) > 2) is wraps
