"""What the sources are made of, in figures: ``python scripts/count_code.py [FOLDER]``.

Counts the files that git tracks. A line of code holds a token that is neither a comment nor part
of a docstring. A module is a file of Python other than an empty ``__init__.py``. An arrow is a
pair of folders of which one imports the other; it runs back up where the two import each other,
at once or by way of others.
"""

import ast
import io
import subprocess
import sys
import tokenize
from collections import Counter, defaultdict
from dataclasses import dataclass
from pathlib import Path

ROOMS = ("sampler", "models", "optimizer", "db", "jobs", "report", "experiments", "nightly",
         "api", "cli", "drivers")  # fmt: skip
OTHERS = ("tests", "studies", "benchmarks", "scripts")
# Lines that a reader reads as well: they count as lines of a room, not as code.
TEXTS = (".py", ".html", ".css", ".js", ".csv", ".toml", ".java", ".mako", ".ini")
_NO_CODE = {
    tokenize.COMMENT, tokenize.NL, tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT,
    tokenize.ENCODING, tokenize.ENDMARKER,
}  # fmt: skip


@dataclass(frozen=True)
class Source:
    """One module, read."""

    path: Path
    text: str
    tree: ast.Module

    @property
    def folder(self) -> str:
        """The package of the module, with dots."""
        return ".".join(self.path.parts[:-1])


def tracked(root: Path) -> list[Path]:
    """The files that git tracks, as paths relative to the root."""
    listed = subprocess.run(
        ["git", "ls-files", "-z"], cwd=root, check=True, capture_output=True, text=True
    )
    return [Path(each) for each in listed.stdout.split("\0") if each and (root / each).is_file()]


_DOCUMENTED = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)


def docstring_lines(tree: ast.Module) -> set[int]:
    """The numbers of the lines on which docstrings of modules, classes and functions stand."""
    lines: set[int] = set()
    for node in ast.walk(tree):
        if not isinstance(node, _DOCUMENTED):
            continue
        if ast.get_docstring(node, clean=False) is not None:
            said = node.body[0]
            lines.update(range(said.lineno, (said.end_lineno or said.lineno) + 1))
    return lines


def code_lines(source: Source) -> set[int]:
    """The numbers of the lines with a token that is neither comment nor docstring."""
    lines: set[int] = set()
    for token in tokenize.generate_tokens(io.StringIO(source.text).readline):
        if token.type not in _NO_CODE:
            lines.update(range(token.start[0], token.end[0] + 1))
    return lines - docstring_lines(source.tree)


def imported(source: Source, folders: set[str]) -> set[str]:
    """The folders of the sources whose modules a module imports, other than its own."""
    names: set[str] = set()
    for node in ast.walk(source.tree):
        if isinstance(node, ast.Import):
            names.update(alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            names.update(f"{node.module}.{alias.name}" for alias in node.names)
    found: set[str] = set()
    for name in names:
        parts = name.split(".")
        prefixes = (".".join(parts[:n]) for n in range(len(parts), 0, -1))
        folder = next((each for each in prefixes if each in folders), None)
        if folder is not None and folder != source.folder:
            found.add(folder)
    return found


def reachable(arrows: dict[str, set[str]], start: str) -> set[str]:
    """All folders that a folder imports, at once or by way of others."""
    seen: set[str] = set()
    waiting = [start]
    while waiting:
        for folder in arrows.get(waiting.pop(), set()) - seen:
            seen.add(folder)
            waiting.append(folder)
    return seen


def arrows_of(sources: list[Source]) -> dict[str, set[str]]:
    """By folder, which others its modules import."""
    folders = {source.folder for source in sources}
    arrows: dict[str, set[str]] = defaultdict(set)
    for source in sources:
        arrows[source.folder] |= imported(source, folders)
    return arrows


def rooms_of(root: Path) -> list[Source]:
    """The modules of the rooms, other than empty ``__init__.py`` files."""
    paths = [path for path in tracked(root) if path.parts[0] in ROOMS and path.suffix == ".py"]
    read = [(path, (root / path).read_text(encoding="utf-8")) for path in paths]
    return [Source(path, text, ast.parse(text)) for path, text in read if not is_empty(path, text)]


def is_empty(path: Path, text: str) -> bool:
    """Whether a file does no more than make its folder a package."""
    return path.name == "__init__.py" and text.count("\n") <= 5


def classes(sources: list[Source]) -> Counter[str]:
    """How many modules define a class of each name; names that begin with ``_`` are left out."""
    named = Counter(
        node.name
        for source in sources
        for node in source.tree.body
        if isinstance(node, ast.ClassDef) and not node.name.startswith("_")
    )
    return Counter({name: count for name, count in named.items() if count > 1})


def main(root: Path) -> None:
    """Prints the figures of the sources below a folder that git tracks."""
    paths = tracked(root)
    lines: Counter[str] = Counter()
    sources: dict[str, list[Source]] = defaultdict(list)
    for path in paths:
        if path.parts[0] not in ROOMS + OTHERS or path.suffix not in TEXTS:
            continue
        text = (root / path).read_text(encoding="utf-8")
        if path.suffix == ".py":
            lines[path.parts[0]] += text.count("\n")
            if not is_empty(path, text):
                sources[path.parts[0]].append(Source(path, text, ast.parse(text)))
        else:
            lines[path.parts[0] + ", other texts"] += text.count("\n")
    rooms = [source for room in ROOMS for source in sources[room]]
    code = {source.path: len(code_lines(source)) for source in rooms}
    said = sum(len(docstring_lines(source.tree)) for source in rooms)
    arrows = arrows_of(rooms)
    back = {
        (start, end)
        for start, ends in arrows.items()
        for end in ends
        if start in reachable(arrows, end)
    }
    total = sum(code.values())
    rows: list[tuple[str, object]] = [
        ("rooms: lines of Python", sum(lines[room] for room in ROOMS)),
        ("rooms: lines of code", total),
        ("rooms: docstring lines per line of code", f"{said / total:.3f}"),
        ("rooms: modules", len(rooms)),
        ("rooms: folders with modules", len(arrows)),
        ("rooms: arrows between folders", sum(map(len, arrows.values()))),
        ("rooms: arrows that run back up", len(back)),
        ("rooms: class names defined twice", ", ".join(sorted(classes(rooms))) or "none"),
        *((f"{each}: lines of Python", lines[each]) for each in (*ROOMS, *OTHERS) if lines[each]),
        *((f"{each}: modules", len(sources[each])) for each in (*ROOMS, *OTHERS) if sources[each]),
        *((f"{each}: lines", n) for each, n in sorted(lines.items()) if each.endswith("texts")),
    ]
    width = max(len(name) for name, _ in rows)
    for name, value in rows:
        print(f"{name:<{width}}  {value}")
    for start, end in sorted(back):
        print(f"runs back up: {start} -> {end}")


if __name__ == "__main__":
    main(Path(sys.argv[1] if len(sys.argv) > 1 else ".").resolve())
