"""The command lines of studies and benchmarks: their help, and lists in their options."""

from __future__ import annotations

import argparse
import subprocess
import sys

import pytest

from studies.study import counts, names
from tests.support import ROOT


def test_words_stand_in_their_order_each_once() -> None:
    assert names("mixed, load,,mixed") == ("mixed", "load")


def test_whole_numbers_stand_in_their_order_each_once() -> None:
    assert counts("4, 1,4") == (4, 1)


@pytest.mark.parametrize("text", ["", " , "])
def test_an_empty_list_is_refused(text: str) -> None:
    with pytest.raises(argparse.ArgumentTypeError, match="at least one"):
        names(text)


@pytest.mark.parametrize(("text", "part"), [("1,many", "many"), ("0", "0"), ("2,-4", "-4")])
def test_what_is_no_count_is_named(text: str, part: str) -> None:
    with pytest.raises(argparse.ArgumentTypeError, match=f"'{part}' is no whole number"):
        counts(text)


@pytest.mark.parametrize(
    "study", ["studies.search", "studies.watch.power", "benchmarks.page_views"]
)
def test_its_help_says_what_it_measures(study: str) -> None:
    ended = subprocess.run(
        [sys.executable, "-m", study, "--help"],
        cwd=ROOT, capture_output=True, text=True, check=False, timeout=60,
    )  # fmt: skip
    assert ended.returncode == 0, ended.stderr
    assert "usage:" in ended.stdout
