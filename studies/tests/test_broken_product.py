"""What `make prove-tests` would break still stands where it looks for it."""

import pytest

from studies.suite.broken_product import BREAKS, Break
from tests.support import ROOT


@pytest.mark.parametrize("each", BREAKS, ids=lambda each: each.what)
def test_what_would_be_broken_stands_there_once(each: Break) -> None:
    assert (ROOT / each.file).read_text().count(each.right) == 1
    found = {path.stem for path in (ROOT / "tests").rglob("test_*.py")}
    assert set(each.tests) <= found
