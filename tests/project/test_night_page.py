"""The page of the night, from what was kept of the last one."""

import json
from copy import deepcopy
from typing import Any

import pytest

from studies.night.__main__ import OUT
from studies.night.page import write_page, wrong

FOUND: dict[str, Any] = json.loads((OUT / "night.json").read_text())


def test_the_page_says_what_was_found(tmp_path):
    page = write_page(tmp_path / "night.md", FOUND)
    assert page == (tmp_path / "night.md").read_text() == OUT.with_suffix(".md").read_text()
    assert FOUND["message"]["text"].splitlines()[0] in page


@pytest.mark.parametrize(
    ("words", "path", "value"),
    [
        ("the triage names another night", ("triage", "night", "batch"), 1),
        ("the chat was told of another batch", ("message", "batch", "id"), 1),
        ("`rocktune check` did not end with 3", ("check", -1, "status"), 0),
        ("JUnit fails by no metric that the triage names", ("check", -1, "junit"), {}),
        ("the triage's command found no worsening", ("again", "status"), 0),
        ("TIME is not among what moved", ("triage", "moved"), []),
    ],
)
def test_what_is_not_as_it_should_be_is_named(words, path, value):
    found = deepcopy(FOUND)
    *way, last = path
    place = found
    for step in way:
        place = place[step]
    place[last] = value
    assert words in wrong(found)
