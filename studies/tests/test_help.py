"""Each study says what it measures."""

import subprocess
import sys

import pytest

from tests.support import ROOT


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
