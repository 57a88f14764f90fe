"""Every test that docs/security.md names exists, and no threat stands there without one."""

import re
from pathlib import Path

ROOT = Path(__file__).parents[2]
NAMED = re.compile(r"`(tests/[\w/]+\.py)::(test_\w+)`")


def test_every_threat_names_tests_that_exist() -> None:
    text = (ROOT / "docs" / "security.md").read_text()
    rows = text.partition("| threat |")[2].partition("\n## ")[0].splitlines()[2:]
    threats = [row for row in rows if row.startswith("|")]
    assert len(threats) >= 15
    for row in threats:
        named = NAMED.findall(row)
        assert named, row
        for file, test in named:
            assert re.search(rf"def {test}\(", (ROOT / file).read_text()), f"{file}::{test}"
