"""Every line of a plot can be told from the others, and its name can be read."""

from collections.abc import Iterator
from xml.etree import ElementTree

import pytest

from studies.line_plot import COLOURS, Line, line_plot

SVG = "{http://www.w3.org/2000/svg}"
Style = tuple[str | None, str | None]


def plot(count: int) -> ElementTree.Element:
    lines = [Line(f"line {n}", [25, 200], [0.1, n / count]) for n in range(count)]
    return ElementTree.fromstring(line_plot("title", "draws", lines))


def styles(picture: ElementTree.Element, tag: str) -> Iterator[Style]:
    for each in picture.iter(SVG + tag):
        if each.get("stroke") in COLOURS:
            yield each.get("stroke"), each.get("stroke-dasharray")


@pytest.mark.parametrize("count", [1, 6, 7, 10, 12])
def test_lines_look_different_and_are_named_within_the_picture(count: int):
    picture = plot(count)
    drawn = [*styles(picture, "polyline")]
    assert len(set(drawn)) == count
    assert [*styles(picture, "line")] == drawn
    height = float(picture.attrib["viewBox"].split()[3])
    names = [each for each in picture.iter(SVG + "text") if (each.text or "").startswith("line")]
    assert [each.text for each in names] == [f"line {n}" for n in range(count)]
    assert all(float(each.attrib["y"]) < height for each in names)


def test_up_to_six_lines_are_solid_in_a_picture_of_one_size():
    assert not any(dashes for _, dashes in styles(plot(6), "polyline"))
    assert plot(1).attrib["viewBox"] == plot(6).attrib["viewBox"]
