import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from optimizer.budget.power import p_figure, p_words

ROOT = Path(__file__).parents[3]


@pytest.mark.parametrize(
    ("p", "figure"),
    [
        (0.0, "<0.001"),
        (4.5e-15, "<0.001"),
        (0.0009999, "<0.001"),
        (0.001, "0.001"),
        (0.01234, "0.012"),
        (1.0, "1.000"),
    ],
)
def test_a_p_value_is_told_no_finer_than_it_is_known(p: float, figure: str):
    assert p_figure(p) == figure
    assert p_words(p) == ("p < 0.001" if figure.startswith("<") else f"p = {figure}")


def test_a_missing_p_value_is_told_as_such():
    assert (p_figure(None), p_words(None)) == ("n/a", "p unknown")


@given(st.floats(0, 1))
def test_no_p_value_is_told_as_0(p: float):
    digits = re.findall(r"[\d.]+", p_words(p))
    assert digits == re.findall(r"[\d.]+", p_figure(p))
    assert float(digits[0]) > 0
    assert p < 0.001 or abs(float(digits[0]) - p) <= 0.0005 + 1e-12


def test_all_sentences_and_tables_take_their_p_values_from_here():
    """A format of its own is how ``p = 0`` came into three of them."""
    own = re.compile(r"p = \{|\bp(_holm)?(['\"]\])?:\.\d")
    rooms = ("models", "optimizer", "jobs", "api", "cli")
    files = [file for room in rooms for file in (ROOT / room).rglob("*") if file.suffix in
             (".py", ".html") and file != ROOT / "optimizer/budget/power.py"]  # fmt: skip
    assert len(files) > 200
    assert [str(file.relative_to(ROOT)) for file in files if own.search(file.read_text())] == []
