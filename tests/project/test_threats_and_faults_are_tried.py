"""Every test that a table of docs/ names exists; no threat or fault stands there without one."""

import re

import pytest

from tests.support import ROOT

# Names of files are unique in tests/: pages need not say in which folder each is.
FILES = {path.name: path for path in (ROOT / "tests").rglob("test_*.py")}
NAMED = re.compile(r"`(test_\w+\.py)::(test_\w+)`")


@pytest.mark.parametrize(("page", "head"), [("security", "threat"), ("faults", "fault")])
def test_every_row_names_tests_that_exist(page: str, head: str) -> None:
    text = (ROOT / "docs/explanation" / f"{page}.md").read_text()
    rows = text.partition(f"| {head} |")[2].partition("\n## ")[0].splitlines()[2:]
    told = [row for row in rows if row.startswith("|")]
    assert len(told) >= 15
    for row in told:
        named = NAMED.findall(row)
        assert named, row
        for file, test in named:
            assert re.search(rf"def {test}\(", FILES[file].read_text()), f"{file}::{test}"
