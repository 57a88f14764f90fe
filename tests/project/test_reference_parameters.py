"""docs/reference/parameters.md is what the catalogue and the shipped spaces say."""

import re

from sampler.rocksdb.parameters import catalogue
from sampler.space.space_file import SHIPPED
from studies.reference.parameters import PAGE, parameters_page
from tests.support import ROOT

TEXT = (ROOT / PAGE).read_text()


def test_the_page_is_made_from_the_code() -> None:
    """If it fails: python -m studies.reference."""
    assert parameters_page() == TEXT


def test_every_parameter_and_space_is_there_once() -> None:
    named = re.findall(r"^\| `([\w-]+)`", TEXT, re.MULTILINE)
    assert named == [*SHIPPED, *sorted(catalogue(), key=named.index)]
