"""Tables as CSV: read back as they were, and without a formula of anybody's."""

import csv
import io
import re
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from jobs.results.output_folder import csv_text, rows_as_csv

WORDS = st.text(st.characters(codec="utf-8"), max_size=12) | st.text(
    "=+-@'\t\r\n1,\"a", max_size=6
)
CELLS = WORDS | st.none() | st.integers() | st.floats(allow_nan=False) | st.booleans()
NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?", re.ASCII)


def read(text: str) -> list[list[str]]:
    return list(csv.reader(io.StringIO(text, newline=""), strict=True))


def without_apostrophe(cell: str) -> str:
    return re.sub(r"^'(?='*[=+\-@\t\r\n])", "", cell)


@given(st.lists(st.tuples(CELLS, WORDS), max_size=4), st.tuples(WORDS, WORDS))
def test_a_table_is_read_back_and_holds_no_formula(
    rows: list[tuple[Any, str]], head: tuple[str, str]
):
    found = read(csv_text(head, rows))
    for cells, values in zip(found, (head, *rows), strict=True):
        for cell, value in zip(cells, values, strict=True):
            if isinstance(value, str):
                assert without_apostrophe(cell) == value
                assert cell[:1] not in ("=", "+", "-", "@", "\t", "\r") or NUMBER.fullmatch(cell)
            else:
                assert cell == ("" if value is None else str(value))


def test_numbers_stay_numbers_and_failures_are_texts():
    text = rows_as_csv([{"waf": -1.5, "failure": "=HYPERLINK(1)", "@home": "-2e-3"}])
    assert text == "waf,failure,'@home\n-1.5,'=HYPERLINK(1),-2e-3\n"
