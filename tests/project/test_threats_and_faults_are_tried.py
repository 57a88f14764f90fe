"""Every test that a table of docs/ names exists; no threat or fault stands there without one."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
NAMED = re.compile(r"`(tests/[\w/]+\.py)::(test_\w+)`")


@pytest.mark.parametrize(("page", "head"), [("security", "threat"), ("faults", "fault")])
def test_every_row_names_tests_that_exist(page: str, head: str) -> None:
    text = (ROOT / "docs" / f"{page}.md").read_text()
    rows = text.partition(f"| {head} |")[2].partition("\n## ")[0].splitlines()[2:]
    told = [row for row in rows if row.startswith("|")]
    assert len(told) >= 15
    for row in told:
        named = NAMED.findall(row)
        assert named, row
        for file, test in named:
            assert re.search(rf"def {test}\(", (ROOT / file).read_text()), f"{file}::{test}"
