"""docs/reference/parameters.md, made from the catalogue and the shipped spaces."""

from collections.abc import Sequence
from pathlib import Path

from sampler.common.text import format_bytes
from sampler.rocksdb.parameters import Bound, Parameter, Value, catalogue
from sampler.space.space_file import SHIPPED, load_space

PAGE = Path("docs/reference/parameters.md")
_SECTIONS = {
    "CFOptions": "Of a column family\n\nIn an OPTIONS file: `[CFOptions]`.",
    "Table": "Of the tables\n\nIn an OPTIONS file: `[TableOptions/BlockBasedTable]`.",
    "DBOptions": "Of the database\n\nIn an OPTIONS file: `[DBOptions]`.",
    "deployment": "Beside the OPTIONS file\n\nNo OPTIONS file can hold it: it goes to `db_bench` "
    "as a flag and is named beside the file.",
    "workload": "Of the load\n\nFacts of the load, drawn but not searched, unless a space says "
    "`searched = true`.",
}
_COLUMNS = """| parameter | values | default | what it does | spaces |
|---|---|---|---|---|"""
_HEAD = """# Parameters

Every parameter that Rocktune knows. Any of them may stand in [a space of your
own](../how-to/own-space.md); `rocktune space all` shows them in the terminal. Ranges are proposals
at production scale, and a space may narrow or widen them. The default is RocksDB 7.8.3's; if [the
build has another](../explanation/versions.md), that one is used. This page is written by
`python -m studies.reference`, and a test compares it with the code.

*Spaces* are the shipped ones that move the parameter. *Scaled* values are divided by the
workload's scale while measuring."""


def parameters_page() -> str:
    """The whole page."""
    spaces = {name: load_space(name).by_name for name in SHIPPED}
    parts = [_HEAD, _spaces_table()]
    for section, title in _SECTIONS.items():
        rows = [
            _row(each, [name for name, held in spaces.items() if each.name in held])
            for each in catalogue().values()
            if each.section == section
        ]
        parts += [f"## {title}", "\n".join([_COLUMNS, *rows])]
    return "\n\n".join(parts) + "\n"


def _spaces_table() -> str:
    rows = []
    for name in SHIPPED:
        space = load_space(name)
        budget = "yes" if space.memory_budget else "no"
        rows.append(f"| `{name}` | {len(space.parameters)} | {budget} |")
    head = "| space | parameters | keeps the memory of the baseline |\n|---|--:|---|"
    return "\n".join(["## Spaces that ship", "", head, *rows])


def _row(parameter: Parameter, spaces: Sequence[str]) -> str:
    key = parameter.key
    named = f"`{parameter.name}`"
    if key and key != parameter.name:
        named += f"<br>(`{key}`)"
    shown = ", ".join(f"`{name}`" for name in spaces) or "none"
    default = _value(parameter, parameter.default)
    cells = [named, _values(parameter), default, _words(parameter), shown]
    return "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |"


def _values(parameter: Parameter) -> str:
    if parameter.kind == "bool":
        return "false, true"
    if parameter.values:
        said = ", ".join(str(value) for value in parameter.values)
    elif parameter.multiple_of:
        said = f"{parameter.low:g} to {parameter.high:g} times `{parameter.multiple_of}`"
    else:
        ends = [end for end in (parameter.low, parameter.high) if end is not None]
        said = " to ".join(_value(parameter, end) for end in ends)
    special = ", ".join(_value(parameter, value) for value in parameter.special)
    return f"{said}, or {special}" if special else said


def _words(parameter: Parameter) -> str:
    said = [parameter.help]
    if parameter.floor:
        said.append(f"At least {_bound(parameter.floor)}.")
    if parameter.ceiling:
        said.append(f"At most {_bound(parameter.ceiling)}.")
    for condition in parameter.active_if:
        values = " or ".join(_value(parameter, value) for value in condition.values)
        said.append(f"Only with `{condition.parameter}` {values}.")
    if parameter.scaled:
        said.append("Scaled.")
    if parameter.varies:
        said.append("The default differs between versions.")
    return " ".join(said)


def _bound(bound: Bound) -> str:
    return f"`{bound.parameter}`" + (f" less {-bound.offset}" if bound.offset else "")


def _value(parameter: Parameter, value: Value | float) -> str:
    """A value as a person writes it."""
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, str):
        return value
    if value > 0 and parameter.is_bytes:
        return format_bytes(value)
    return f"{int(value):,}" if float(value).is_integer() else f"{value:g}"
