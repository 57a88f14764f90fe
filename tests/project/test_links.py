"""Links between pages lead to files and headings that are there, and every page can be reached."""

import re
from pathlib import Path

import pytest

from tests.support import ROOT

TOP = [ROOT / name for name in ("README.md", "CONTRIBUTING.md", "CHANGELOG.md")]
DOCS = sorted((ROOT / "docs").rglob("*.md"))
_LINK = re.compile(r"\]\((?!https?:|mailto:)([^()\s]+)\)")
_CODE = re.compile(r"^```.*?^```|`[^`\n]*`", re.MULTILINE | re.DOTALL)


def links(page: Path) -> list[str]:
    """Those outside of code."""
    return _LINK.findall(_CODE.sub("", page.read_text()))


def anchors(page: Path) -> set[str]:
    """What headings are linked by, where the pages are hosted."""
    text = re.sub(r"^```.*?^```", "", page.read_text(), flags=re.MULTILINE | re.DOTALL)
    found: set[str] = set()
    for heading in re.findall(r"^#+ +(.+?) *$", text, re.MULTILINE):
        plain = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", heading)
        name = re.sub(r"[^\w\- ]", "", plain.lower()).replace(" ", "-")
        again = sum(re.fullmatch(rf"{name}(-\d+)?", each) is not None for each in found)
        found.add(f"{name}-{again}" if again else name)
    return found


@pytest.mark.parametrize("page", TOP + DOCS, ids=lambda page: str(page.relative_to(ROOT)))
def test_every_link_leads_somewhere(page: Path) -> None:
    wrong = []
    for link in links(page):
        place, _, anchor = link.partition("#")
        to = (page.parent / place).resolve() if place else page
        if not to.exists() or (anchor and to.suffix == ".md" and anchor not in anchors(to)):
            wrong.append(link)
    assert wrong == []


def test_the_index_names_every_page() -> None:
    index = ROOT / "docs/README.md"
    named = {(index.parent / link.partition("#")[0]).resolve() for link in links(index)}
    folders = ("tutorials", "how-to", "reference", "explanation")
    pages = {page for folder in folders for page in (ROOT / "docs" / folder).glob("*.md")}
    assert pages - named == set()
