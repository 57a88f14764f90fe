"""Sections as Markdown, for a ticket, a wiki or a pull request. Plots are left out."""

import re
from collections.abc import Iterable

from jobs.report.section import Block, Cell, Code, Items, Section, Table, Text

_MARKUP = re.compile(r"`[^`]+`|[\\*<|\[]")

_BAR = re.compile(r"(?<!\\)\|")  # ends a cell, in backticks too


def markdown_text(title: str, sections: Iterable[Section]) -> str:
    """A document of the sections that say something."""
    parts = [f"# {_escaped(title)}"]
    for section in sections:
        if blocks := [text for text in map(_block, section.blocks) if text]:
            parts += [f"## {_escaped(section.title)}", *blocks]
    return "\n\n".join(parts)


def _block(block: Block) -> str:
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
            return _table(block)
    return ""


def _table(table: Table) -> str:
    head = [f"{each.name} {each.under}".strip() for each in table.columns]
    ways = ["---:" if each.figures else "---" for each in table.columns]
    rows = [[_cell(each) for each in row] for row in table.rows]
    lines = [f"| {' | '.join(row)} |" for row in (map(_escaped, head), ways, *rows)]
    return "\n".join([*lines, *(["", _escaped(table.caption)] if table.caption else [])])


def _cell(cell: str | Cell) -> str:
    if isinstance(cell, Cell):
        cell = ", ".join(filter(None, (cell.text, cell.under, cell.mark)))
    return _BAR.sub(r"\|", _escaped(cell))


def _escaped(words: str) -> str:
    """Markup as text; what stands in backticks is a command to paste, and stays as it is."""
    return _MARKUP.sub(lambda each: each[0] if each[0][0] == "`" else f"\\{each[0]}", words)
