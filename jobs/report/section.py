"""What a result says, as sections of texts, tables and charts that every renderer draws.

The terminal, the report, the pages and the comment of an OPTIONS file draw the same sections, so
that a sentence stands in one place.
"""

import re
from collections.abc import Sequence
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
