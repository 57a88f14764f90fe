"""Counts reads of a result by string key outside of ``optimizer/results``: a line for each file.

A read is ``name["key"]`` or ``name.get("key")`` where the expression begins with one of the names
that hold a result or a part of it; in a template ``{{ name.key }}`` of such a name.
"""

import ast
import re
import sys
from pathlib import Path

ROOMS = ("jobs", "api", "cli", "db")
WORDS = ("result", "verdict", "best", "explanation", "explained", "minimal", "price", "power",
         "start", "untraded", "full", "found", "row", "rows", "step", "forest", "outcome",
         "parameter", "host", "noise")  # fmt: skip
TOLD = ("jobs/report", "jobs/results", "jobs/views", "jobs/charts", "jobs/experiments/told.py",
        "jobs/experiments/explain.py", "cli/render/outcome_screen.py", "cli/stored/results.py",
        "api/routes/results.py", "api/pages/job_page.py", "jobs/templates/report.html",
        "api/pages/templates/won.html", "api/pages/templates/matters.html",
        "api/pages/templates/outcome.html")  # fmt: skip
_IN_TEMPLATE = re.compile(rf"\b(?:{'|'.join(WORDS)})(?:\.[a-z_]+)+")
_CODE, _QUOTED = re.compile(r"\{[{%].*?[%}]\}", re.DOTALL), re.compile(r'"[^"]*"')


def _root(node: ast.expr) -> str:
    while True:
        match node:
            case ast.Subscript() | ast.Attribute():
                node = node.value
            case ast.Call(func=ast.Attribute()):
                node = node.func
            case ast.BoolOp():
                node = node.values[0]
            case ast.Name():
                return node.id
            case _:
                return ""


def _is_key(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and isinstance(node.value, str)


def reads_of(source: str) -> int:
    """How many reads by key a module makes of names that hold a result."""
    count = 0
    for node in ast.walk(ast.parse(source)):
        match node:
            case ast.Subscript(value=value, slice=key, ctx=ast.Load()) if _is_key(key):
                count += _root(value) in WORDS
            case ast.Call(func=ast.Attribute(value=value, attr="get"), args=[key, *_]):
                count += _is_key(key) and _root(value) in WORDS
    return count


def main(root: Path) -> None:
    """Prints the files with most reads first, and the sum."""
    found = {}
    for path in sorted(p for room in ROOMS for p in (root / room).rglob("*.*")):
        name = path.relative_to(root).as_posix()
        if not name.startswith(TOLD):
            continue
        if path.suffix == ".py":
            found[name] = reads_of(path.read_text())
        elif path.suffix == ".html":
            code = " ".join(_CODE.findall(path.read_text()))
            found[name] = len(_IN_TEMPLATE.findall(_QUOTED.sub("", code)))
    for name, count in sorted(found.items(), key=lambda pair: -pair[1]):
        if count:
            print(f"{count:5} {name}")
    print(f"{sum(found.values()):5} in all")


if __name__ == "__main__":
    main(Path(sys.argv[1] if len(sys.argv) > 1 else "."))
