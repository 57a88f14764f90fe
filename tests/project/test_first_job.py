"""The job of the README: what the pages show of it is what the terminal prints."""

import re
from pathlib import Path

import pytest

from db.connection.engine import make_engine
from db.connection.migrate import upgrade_tables
from studies.pictures.dashboard import concluded
from studies.pictures.terminal import ARCHIVE, found, unpadded
from tests.support import ROOT

KEPT = (ROOT / "docs/terminal/tune.txt").read_text()


def measured(text: str) -> str:
    """Without what models say, which learn a little otherwise on another processor."""
    lines = [x for x in text.splitlines() if not x.startswith("Most important parameters")]
    gains = re.compile(r" +[+-][\d,]+ \[[^]]*\]$")  # they also decide the order of their rows
    changed = sorted(gains.sub("", line) for line in lines if gains.search(line))
    return "\n".join([*(line for line in lines if not gains.search(line)), *changed])


@pytest.mark.db_bench
def test_the_terminal_prints_what_is_kept(tmp_path: Path):
    engine = make_engine(tmp_path / "rocktune.db")
    upgrade_tables(engine)
    printed = unpadded(found(concluded(engine, ARCHIVE, tmp_path).result, 100))
    assert measured(printed) == measured(KEPT)
    assert "  predicted fitness gain\n" in printed and "\nMost important parameters, " in printed
    engine.dispose()


@pytest.mark.parametrize("page", ["docs/tutorials/first-tune.md", "docs/results/first_job.md"])
def test_a_page_shows_all_of_it(page: str):
    assert f"```\n{KEPT}```" in (ROOT / page).read_text()


def test_the_readme_shows_rows_of_it():
    table = re.search(
        r"```\n(metric +baseline .*?)```", (ROOT / "README.md").read_text(), re.DOTALL
    )
    rows = table[1].splitlines()
    assert len(rows) == 7 and [row for row in rows if row not in KEPT.splitlines()] == []


def test_its_pictures_load_nothing():
    for picture in (ROOT / "docs/terminal").glob("*.svg"):
        assert not re.search(r"url\((?!#)|@import|<image|href=", picture.read_text()), picture
