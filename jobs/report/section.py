"""What a result says, as sections of texts, tables and charts that every renderer draws.

The terminal, the report, the pages and the comment of an OPTIONS file draw the same sections, so
that a sentence stands in one place.
"""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import cycle
from typing import ClassVar, Literal

from jobs.charts.chart import Chart


@dataclass(frozen=True)
class Text:
    """A paragraph."""

    kind: ClassVar = "text"
    words: str
    style: Literal["", "strong", "dim", "warn"] = ""


@dataclass(frozen=True)
class Items:
    """A list of lines."""

    kind: ClassVar = "items"
    lines: Sequence[str]


@dataclass(frozen=True)
class Column:
    """A column of a table: its title, and that of what stands below its figures."""

    name: str
    figures: bool = False
    under: str = ""


@dataclass(frozen=True)
class Cell:
    """A cell with more than a text: what stands below it, whether it is good, where it leads."""

    text: str
    under: str = ""
    mark: str = ""  # ``better``, ``worse`` or ``not significant``
    link: Literal["", "trial", "parameter"] = ""
    to: str = ""  # which of these it leads to, where its text does not say so
    anchor: str = ""  # by which a link finds the row that begins with it


@dataclass(frozen=True)
class Table:
    """A table; a row has a text or a ``Cell`` for each column, the first names the row."""

    kind: ClassVar = "table"
    columns: Sequence[Column]
    rows: Sequence[Sequence[str | Cell]]
    caption: str = ""


@dataclass(frozen=True)
class Code:
    """A text to be copied, as a file or calls; ``folded`` opens by a click where that is known."""

    kind: ClassVar = "code"
    title: str
    text: str
    folded: bool = False


@dataclass(frozen=True)
class Charts:
    """Plots side by side."""

    kind: ClassVar = "charts"
    charts: Sequence[Chart]


Block = Text | Items | Table | Code | Chart | Charts


@dataclass(frozen=True)
class Section:
    """A part of what a result says, under one title in every place."""

    name: str  # by which pages and renderers know it
    title: str
    blocks: Sequence[Block]

    def numbered(self, job: object) -> "Section":
        """The section with a job's number in its commands, which say ID."""
        return replace(self, blocks=[_numbered(block, job) for block in self.blocks])

    @property
    def words(self) -> list[str]:
        """Its lines alone, without tables and charts."""
        lines = []
        for block in self.blocks:
            match block:
                case Text():
                    lines.append(block.words)
                case Items():
                    lines.extend(block.lines)
        return lines


def columns(*titles: Sequence[str]) -> list[Column]:
    """Columns by their titles: those of words, then of figures, then of words again, and so on."""
    groups = zip(titles, cycle((False, True)), strict=False)
    return [Column(name, figures) for names, figures in groups for name in names]


def numbered(line: str, job: object) -> str:
    """A line with a job's number in its commands, which say ID."""
    return re.sub(r"(`rocktune [a-z]+) ID\b", rf"\1 {job}", line)


def _numbered(block: Block, job: object) -> Block:
    match block:
        case Text():
            return replace(block, words=numbered(block.words, job))
        case Items():
            return replace(block, lines=[numbered(line, job) for line in block.lines])
    return block


_MARKUP = re.compile(r"`[^`]+`|[\\*<|\[]")

_BAR = re.compile(r"(?<!\\)\|")  # ends a cell, in backticks too


def markdown_text(title: str, sections: Iterable[Section]) -> str:
    """The sections that say something as Markdown, for a ticket or a wiki, without plots."""
    parts = [f"# {_escaped(title)}"]
    for section in sections:
        if blocks := [text for text in map(_markdown_block, section.blocks) if text]:
            parts += [f"## {_escaped(section.title)}", *blocks]
    return "\n\n".join(parts)


def _markdown_block(block: Block) -> str:
    match block:
        case Text(style="strong"):
            return f"**{_escaped(block.words)}**"
        case Text():
            return _escaped(block.words)
        case Items():
            return "\n".join(f"- {_escaped(line)}" for line in block.lines)
        case Code():
            return f"```\n{block.text}\n```"
        case Table():
            return _markdown_table(block)
    return ""


def _markdown_table(table: Table) -> str:
    head = [f"{each.name} {each.under}".strip() for each in table.columns]
    ways = ["---:" if each.figures else "---" for each in table.columns]
    rows = [[_markdown_cell(each) for each in row] for row in table.rows]
    lines = [f"| {' | '.join(row)} |" for row in (map(_escaped, head), ways, *rows)]
    return "\n".join([*lines, *(["", _escaped(table.caption)] if table.caption else [])])


def _markdown_cell(cell: str | Cell) -> str:
    if isinstance(cell, Cell):
        cell = ", ".join(filter(None, (cell.text, cell.under, cell.mark)))
    return _BAR.sub(r"\|", _escaped(cell))


def _escaped(words: str) -> str:
    """Markup as text; what stands in backticks is a command to paste, and stays as it is."""
    return _MARKUP.sub(lambda each: each[0] if each[0][0] == "`" else f"\\{each[0]}", words)
