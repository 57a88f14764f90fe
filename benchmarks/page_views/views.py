"""A page opened in a real browser: what came over the wire, and when it was seen."""

from __future__ import annotations

from dataclasses import dataclass
from statistics import median
from typing import Any

from playwright.sync_api import Browser, Page, expect

_PATIENCE = 120_000.0  # ms
_PAINTED = '() => performance.getEntriesByName("first-contentful-paint").length'
_TIMES = """() => {
  const [page] = performance.getEntriesByType("navigation");
  const seen = performance.getEntriesByName("first-contentful-paint")[0];
  const rest = performance.getEntriesByType("resource");
  const sum = (each) => [page, ...rest].reduce((so_far, one) => so_far + one[each], 0);
  return {
    html: page.encodedBodySize, wire: sum("transferSize"), requests: 1 + rest.length,
    server: page.responseStart - page.requestStart, seen: seen.startTime,
    drawn: performance.now(),
  };
}"""


@dataclass(frozen=True)
class View:
    """How a page came, medians over several visits.

    Attributes:
        html: Bytes of the page itself, as they were sent.
        first, again: Bytes over the wire in all, of a browser that knows nothing of the server,
            and of one that has opened a page of it before.
        requests: Of the first visit.
        server: Milliseconds from the request to the answer's first byte.
        seen: Milliseconds until text or a picture stood on the screen.
        drawn: Milliseconds until all of it was there, plots included.
        cold: The same, of the very first visit alone.
    """

    html: float
    first: float
    again: float
    requests: float
    server: float
    seen: float
    drawn: float
    cold: float


def view(browser: Browser, url: str, *, token: str, visits: int) -> View:
    """Opens a page so many times, each in a session that knows nothing, and once more in it."""
    firsts, agains = [], []
    for _ in range(visits):
        context = browser.new_context(
            viewport={"width": 1100, "height": 900},
            extra_http_headers={"Authorization": f"Bearer {token}"},
        )
        context.set_default_timeout(_PATIENCE)
        page = context.new_page()
        firsts.append(_visit(page, url))
        agains.append(_visit(page, url))
        context.close()

    def middle(rows: list[dict[str, Any]], name: str) -> float:
        return median(float(row[name]) for row in rows)

    return View(
        html=middle(firsts, "html"),
        first=middle(firsts, "wire"),
        again=middle(agains, "wire"),
        requests=middle(firsts, "requests"),
        server=middle(firsts, "server"),
        seen=middle(firsts, "seen"),
        drawn=middle(firsts, "drawn"),
        cold=float(firsts[0]["drawn"]),
    )


def _visit(page: Page, url: str) -> dict[str, Any]:
    page.goto(url)
    # What is fetched later is marked as busy before the page counts as loaded.
    expect(page.locator("[aria-busy]")).to_have_count(0, timeout=_PATIENCE)
    charts = page.locator("#charts")
    if charts.count():
        expect(charts.locator("figure")).not_to_have_count(0, timeout=_PATIENCE)
    waiting = page.locator("figure .plot:not(.js-plotly-plot)")
    expect(waiting).to_have_count(0, timeout=_PATIENCE)
    # A light page is there before the browser has told when it was painted.
    page.wait_for_function(_PAINTED)
    found: dict[str, Any] = page.evaluate(_TIMES)
    return found
