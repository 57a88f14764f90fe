"""No locked version is in the range of an advisory that is kept."""

import json
import urllib.request

import pytest
from packaging.version import Version
from test_lock import ASKED, locked

from studies.stored_advisories import Advisory, Range, answering, read_advisories
from tests.support import ROOT

KEPT = ROOT / "docs/results/advisories.md"


@pytest.fixture(scope="module")
def advisories() -> list[Advisory]:
    return read_advisories(KEPT)


def test_every_row_is_read(advisories: list[Advisory]) -> None:
    table = KEPT.read_text().partition("## The advisories")[2]
    rows = [line for line in table.splitlines() if line.startswith("| ")][1:]
    assert len(advisories) == len(rows) > 0
    assert f"{len(rows)} in all" in KEPT.read_text()


@pytest.mark.parametrize("file", ASKED)
def test_no_locked_version_is_affected(file: str, advisories: list[Advisory]) -> None:
    versions = locked(file)
    assert not [
        f"{advisory.package} {version}: {advisory.identity}"
        for advisory in advisories
        for version in versions.get(advisory.package, ())
        if advisory.affects(version)
    ]


@pytest.mark.parametrize(
    ("version", "affected"), [("0.9", False), ("1.0", True), ("1.9", True), ("2.0", False)]
)
def test_a_range_ends_before_the_version_that_mends(version: str, affected: bool) -> None:
    mended = Range(Version("1.0"), Version("2.0"), closed=False)
    assert mended.holds(Version(version)) is affected
    assert Range(Version("1.0"), Version("2.0"), closed=True).holds(Version("2.0"))
    both = (mended, Range(Version("3.0"), Version("3.1"), closed=False))
    advisory = Advisory("p", "PYSEC-1", (), both, "a hole")
    assert advisory.affects(Version(version)) is affected and advisory.affects(Version("3.0.1"))


def test_the_server_answers_as_osv_does(advisories: list[Advisory]) -> None:
    def ask(url: str, version: str) -> dict:
        query = {"package": {"name": "Jinja2", "ecosystem": "PyPI"}, "version": version}
        with urllib.request.urlopen(
            urllib.request.Request(url, json.dumps(query).encode())
        ) as got:
            return json.load(got)

    with answering(advisories) as (url, asked):
        (held,) = locked("runtime.txt")["jinja2"]
        assert ask(url, str(held)) == {}
        found = ask(url, "3.1.5")["vulns"]
    assert asked == [f"jinja2=={held}", "jinja2==3.1.5"]
    (event,) = {str(v["affected"][0]["ranges"][0]["events"][1]) for v in found}
    assert event == "{'fixed': '3.1.6'}"
