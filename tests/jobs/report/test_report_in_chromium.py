"""The page in a real browser: nothing goes wrong, nothing is asked for, every plot is drawn."""

import re
import zlib
from collections.abc import Iterator
from pathlib import Path

import pytest

from jobs.report.artifacts import report_html
from jobs.results.outcome import JobOutcome
from jobs.results.pages import whole_page
from tests.support.api.chromium import Page, chromium

pytestmark = [pytest.mark.slow, pytest.mark.chromium]

DRAWN = "document.documentElement.dataset.drawn"
# What Plotly draws data with: points, lines and bars, boxes.
EMPTY = (
    "[...document.querySelectorAll('figure')].filter(frame => ![...frame.querySelectorAll("
    "'.plot svg.main-svg .trace path, .plot svg.main-svg .trace .point')]"
    ".some(mark => mark.getBoundingClientRect().width + mark.getBoundingClientRect().height > 0)"
    ").map(frame => frame.querySelector('h3').textContent)"
)
# All that shows beyond the right edge and is not in a box that scrolls.
TOO_WIDE = (
    "[...document.querySelectorAll('body *')].filter(e => !e.closest('.scroll, pre')"
    " && e.getBoundingClientRect().right > innerWidth + 0.5).map(e => e.outerHTML.slice(0, 200))"
)
COLOURS = (
    "[getComputedStyle(document.body).backgroundColor,"
    " getComputedStyle(document.querySelector('.plot .xtick text')).fill,"
    " getComputedStyle(document.querySelector('.plot .trace .point')).fill]"
)
LIGHT = ["rgb(255, 255, 255)", "rgb(27, 31, 36)", "rgb(0, 114, 178)"]
DARK = ["rgb(20, 24, 29)", "rgb(228, 232, 236)", "rgb(92, 184, 238)"]


@pytest.fixture(scope="module")
def page(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Page]:
    with chromium(tmp_path_factory.mktemp("browser")) as page:
        yield page


@pytest.fixture(scope="module")
def address(finished: JobOutcome, tmp_path_factory: pytest.TempPathFactory) -> str:
    path: Path = tmp_path_factory.mktemp("report") / "report.html"
    path.write_bytes(whole_page(report_html(finished)))
    return path.as_uri()


def require_peace(page: Page, address: str) -> None:
    wrong = page.told("Runtime.exceptionThrown", "Runtime.consoleAPICalled", "Log.entryAdded")
    assert wrong == []
    asked = [each["request"]["url"] for each in page.told("Network.requestWillBeSent")]
    assert asked == [address]


def test_on_a_screen_in_light_and_in_dark(page: Page, address: str):
    page.open(address, width=1280, height=800)
    page.become(DRAWN)
    top = page.value("document.getElementById('appendix').getBoundingClientRect().top")
    assert top < 3 * 800, "three screens tell what decides"
    assert page.value(EMPTY) == []
    assert page.value(f"{DRAWN} === String(document.querySelectorAll('figure').length)")
    assert page.value(TOO_WIDE) == []
    assert page.value(COLOURS) == LIGHT
    page.colours(dark=True)  # while it is open
    page.become(f"JSON.stringify({COLOURS}) === JSON.stringify({DARK})")
    assert page.value(EMPTY) == []
    require_peace(page, address)


def test_on_a_phone(page: Page, address: str):
    page.open(address, width=390, height=844, dark=True)
    page.become(DRAWN)
    assert page.value("[innerWidth, document.documentElement.scrollWidth]") == [390, 390]
    assert page.value(TOO_WIDE) == []
    assert page.value(EMPTY) == []
    assert page.value(COLOURS) == DARK
    assert page.value("document.querySelectorAll('.scroll').length") >= 6
    require_peace(page, address)


def test_what_is_no_script_of_ours_does_not_run(page: Page, address: str):
    """Even if words of others got into the page: the policy lets two scripts run."""
    page.open(address)
    page.become(DRAWN)
    page.value(
        "(() => { const s = document.createElement('script'); s.textContent = 'window.ran = 1';"
        " document.body.append(s); document.body.insertAdjacentHTML('beforeend',"
        ' \'<img src="http://127.0.0.1:9/x.png" onerror="window.ran = 2">\'); })()'
    )
    page.value("fetch('http://127.0.0.1:9/').catch(() => 0)")
    assert page.value("typeof window.ran") == "undefined"
    assert page.told("Log.entryAdded"), "the browser tells what it refuses"


def test_on_paper(page: Page, address: str):
    page.open(address, dark=True)
    page.become(DRAWN)
    pdf = page.printed()
    assert len(re.findall(rb"/Type\s*/Page\b", pdf)) > 3
    streams = [
        zlib.decompressobj().decompress(raw)  # the last byte may look like the line end
        for raw in re.findall(rb"/FlateDecode[^>]*>>\s*stream\r?\n(.*?)\r?\nendstream", pdf, re.S)
    ]
    drawn = b"\n".join(each for each in streams if b" re" in each or b" l\n" in each)
    # In the light form's colours, whatever the screen prefers: rgb(0, 114, 178) of points ...
    assert len(re.findall(rb"\n0 \.447\d* \.698\d* (?:rg|RG)", drawn)) > 50
    assert not re.findall(rb"\n\.36\d* \.72\d* \.93\d* (?:rg|RG)", drawn)
    # ... and hundreds of lines and curves, where tables alone have a few.
    assert len(re.findall(rb" [lc]\n", drawn)) > 2000
    page.become(f"JSON.stringify({COLOURS}) === JSON.stringify({DARK})")  # and back
    require_peace(page, address)


def test_without_scripts_the_tables_are_there(page: Page, address: str):
    page.call("Emulation.setScriptExecutionDisabled", value=True)
    try:
        page.open(address)
        shown = page.value("document.body.innerText")
    finally:
        page.call("Emulation.setScriptExecutionDisabled", value=False)
    assert "no plots are drawn" in shown
    assert "Baseline versus best" in shown
