"""The commands that README, docs/ and the pages of the service show."""

import html
import re
import textwrap
from pathlib import Path

from tests.support import ROOT

# Results show commands of the day that they were measured on.
GUIDES = sorted({*(ROOT / "docs").rglob("*.md")} - {*(ROOT / "docs/results").rglob("*.md")})
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *GUIDES]
TEMPLATES = [ROOT / "api/pages/templates", ROOT / "jobs/templates"]


def blocks(page: Path) -> list[str]:
    """Those of numbered steps, too, which are indented."""
    found = re.findall(r"^ *```\w*\n(.*?)^ *```", page.read_text(), re.MULTILINE | re.DOTALL)
    return [textwrap.dedent(each) for each in found]


def commands(page: Path) -> list[str]:
    """Those in blocks, and those within a sentence."""
    text = page.read_text()
    prose = re.sub(r"^ *```.*?^ *```", "", text, flags=re.M | re.S)
    within = re.findall(r"`(rocktune [^`]*)`", prose)
    lines = "\n".join(blocks(page)).replace("\\\n", " ").splitlines()
    shown = [re.search(r"(?:^|bin/|&& )(rocktune [a-z][^)]*)", line) for line in lines]
    return [each.split("#")[0] for each in (*within, *(m[1] for m in shown if m))]


def commands_of_a_template(page: Path) -> list[str]:
    """Those of an HTML page, with a number in place of what the page fills in."""
    text = re.sub(r"\{\{.*?\}\}", "1", page.read_text())
    shown = re.findall(r"(?:<code>|`)(rocktune [a-z].*?)(?:</code>|`)", text)
    return [html.unescape(each).strip() for each in shown]


IN_TEMPLATES = {
    each
    for folder in TEMPLATES
    for page in folder.glob("*.html")
    for each in commands_of_a_template(page)
}
COMMANDS = sorted({each.strip() for page in PAGES for each in commands(page)} | IN_TEMPLATES)
