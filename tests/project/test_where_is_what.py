"""The ways that CONTRIBUTING.md shows from the README to the code are there, step by step."""

import ast
import re
from pathlib import PurePosixPath

import pytest

from tests.support import ROOT

SECTION = (ROOT / "CONTRIBUTING.md").read_text().split("## Where is what?")[1].split("\n## ")[0]
ROWS = [
    [cell.strip() for cell in line.strip("|").split("|")]
    for line in SECTION.splitlines()
    if line.startswith("|") and "?" in line
]


def defined(path: str) -> set[str]:
    """The names of a module, and of what its classes hold as ``Class.name``."""
    names: set[str] = set()
    for node in ast.parse((ROOT / path).read_text()).body:
        if isinstance(node, ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            names.add(node.name)
        if isinstance(node, ast.ClassDef):
            held = (each for each in node.body if isinstance(each, ast.FunctionDef))
            names |= {f"{node.name}.{each.name}" for each in held}
    return names


def test_there_are_twelve_questions_or_more() -> None:
    assert len({row[0] for row in ROWS}) == len(ROWS) >= 12
    assert all(len(row) == 4 for row in ROWS)


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row[0])
def test_every_step_leads_to_the_next(row: list[str]) -> None:
    title, page = re.fullmatch(r"\[(.+)\]\(([^#]+)(?:#.+)?\)", row[1]).groups()
    assert f"({page})" in (ROOT / "README.md").read_text()
    text = (ROOT / page).read_text()
    path, *more = (cell.strip("`") for cell in row[2:] if cell)
    assert (ROOT / path).is_file()
    if title == "architecture":
        # By its own path, or by its package within the section of its room.
        room, *_ = parts = PurePosixPath(path).parts
        section = re.split(rf"^## `{room}`", text, flags=re.MULTILINE)[1].split("\n## ")[0]
        assert f"`{path}`" in text or f"`{parts[1]}`" in section or f"{path} " in text
    elif page == "CONTRIBUTING.md":
        assert path in text.split(f"## {title}")[1].split("\n## ")[0]
    for step in more:
        assert (ROOT / step).is_file() if "/" in step else step in defined(path)


PAGE = (ROOT / "docs/explanation/architecture.md").read_text()
ONE_TRIAL = PAGE.split("## One trial")[1].split("\n## ")[0]
CLASSES = re.findall(r"^\| `(\w+)` \| `(\S+\.py)` \|", ONE_TRIAL, re.MULTILINE)
SETTINGS = re.findall(r"^\| `(\w+)` \| `(\S+\.py)` \| `(\w+)` \|$", PAGE, re.MULTILINE)
# What declares a setting or an option: a field of a model, or a parameter of a command.
DECLARED = re.compile(r"(?:Field|Option)\(")
# The same names of something else: a machine's check and its memory, figures of a result, and the
# limits that an objective's own document holds.
OTHERS = {
    ("optimizer/objective/objective.py", "Objective"),
    ("cli/tuning/doctor.py", "doctor_command"),
    ("cli/tuning/catalogue.py", "guide_command"),
    ("optimizer/explained.py", "Dependence"),
    ("optimizer/results/ranking.py", "Contributions"),
    ("optimizer/explained.py", "Explanation"),
}


def test_the_classes_that_a_trial_passes_are_where_the_page_says() -> None:
    assert len(CLASSES) == len(set(CLASSES)) == 28
    assert [name for name, path in CLASSES if name not in defined(path)] == []


def declares(node: ast.AST, name: str) -> bool:
    """Whether a class or a function gives a field of this name its help and its limits."""
    if isinstance(node, ast.ClassDef):
        given = [(e.target, ast.unparse(e)) for e in node.body if isinstance(e, ast.AnnAssign)]
        return any(ast.unparse(at) == name and DECLARED.search(text) for at, text in given)
    if isinstance(node, ast.FunctionDef):
        all_of = [*node.args.args, *node.args.kwonlyargs]
        return any(e.arg == name and DECLARED.search(ast.unparse(e)) for e in all_of)
    return False


def test_ten_settings_are_shown() -> None:
    assert len({name for name, _, _ in SETTINGS}) == len(SETTINGS) == 10


@pytest.fixture(scope="module")
def modules() -> dict[str, list[ast.stmt]]:
    """By path, what stands in the modules that could declare a setting."""
    return {
        str(file.relative_to(ROOT)): ast.parse(file.read_text()).body
        for folder in ("optimizer", "jobs", "api/pages", "api/services", "cli")
        for file in (ROOT / folder).rglob("*.py")
    }


@pytest.mark.parametrize(("name", "path", "cls"), SETTINGS, ids=lambda each: each)
def test_a_setting_is_declared_in_one_place(
    name: str, path: str, cls: str, modules: dict[str, list[ast.stmt]]
) -> None:
    places = {
        (place, node.name)
        for place, body in modules.items()
        for node in body
        if declares(node, name)
    }
    assert places - OTHERS == {(path, cls)}
