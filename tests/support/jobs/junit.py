"""JUnit XML, read as Jenkins' xUnit plugin describes it (its junit-10.xsd, read on 2026-11-27)."""

from dataclasses import dataclass
from xml.etree import ElementTree

_COUNTED = {"failures": "failure", "errors": "error", "skipped": "skipped"}
_SAID = ({"message", "type"}, set[str](), set[str]())
# Of each element the attributes that it may have, those that it must, and its children.
_ELEMENTS: dict[str, tuple[set[str], set[str], set[str]]] = {
    "testsuites": ({"name", "time", "tests", "failures", "errors"}, set(), {"testsuite"}),
    "testsuite": (
        {"name", "tests", "failures", "errors", "skipped", "time", "timestamp", "hostname", "id"},
        {"name", "tests", "failures", "errors"},
        {"testsuite", "properties", "testcase", "system-out", "system-err"},
    ),
    "testcase": (
        {"name", "time", "classname", "group"},
        {"name"},
        {"skipped", "error", "failure", "system-out", "system-err"},
    ),
    **dict.fromkeys(("skipped", "error", "failure"), _SAID),
    "system-out": (set(), set(), set()),
}


@dataclass(frozen=True)
class Case:
    kind: str  # the name of its element, or `passed`
    words: str


def read_junit(text: str) -> dict[str, dict[str, Case]]:
    """The cases of each suite by name, once all is as the schema says and the counts are true."""
    root = ElementTree.fromstring(text)
    assert root.tag == "testsuites"
    for each in root.iter():
        may, must, children = _ELEMENTS[each.tag]
        assert must <= each.attrib.keys() <= may, (each.tag, each.attrib)
        assert {child.tag for child in each} <= children, each.tag
    suites = {}
    for suite in root:
        found: dict[str, Case] = {}
        for case in suite:
            (said,) = list(case) or [ElementTree.Element("system-out")]
            kind = "passed" if said.tag == "system-out" else said.tag
            assert kind == "passed" or said.get("message") == said.text
            found[case.attrib["name"]] = Case(kind, said.text or "")
        assert int(suite.attrib["tests"]) == len(found) == len(suite)
        for count, kind in _COUNTED.items():
            told = int(suite.attrib[count])
            assert told == sum(each.kind == kind for each in found.values())
        suites[suite.attrib["name"]] = found
    assert len(suites) == len(root)
    return suites
