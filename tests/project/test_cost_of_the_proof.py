"""The table of docs/explanation/proving.md is how a budget is divided."""

import re

import pytest

from optimizer.budget.budget import divide
from tests.support import ROOT

SECTION = (ROOT / "docs/explanation/proving.md").read_text().split("## What the proof costs")[1]
ROWS = re.findall(r"^\| ([\d,]+(?: \| [\d,]+%?)+) \|$", SECTION, re.MULTILINE)


@pytest.mark.parametrize("row", ROWS)
def test_a_row_is_what_the_code_does(row: str) -> None:
    runs, *told = (int(cell.strip("% ").replace(",", "")) for cell in row.split("|"))
    plan = divide(runs, starts=True)
    proof = plan.pairs * plan.sides
    choice = plan.confirm_runs - proof
    share = round(100 * plan.confirm_runs / runs)
    assert told == [plan.explore, plan.simplified, choice, proof, share]


def test_there_are_some() -> None:
    assert len(ROWS) == 8
