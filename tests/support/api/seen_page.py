"""A page in the distribution's Chromium, and all that went wrong in it."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Browser, ConsoleMessage, Page, Request, expect

PROGRAM = "/usr/bin/chromium"
FLAGS = ["--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage"]
# Plotly brings the style of a map along, which no plot of ours has: it is refused, rightly.
_MAP = "sha256-ji27qzEtxXZW+7dun6UwjHXJ18e6WAin1VvNtkzIE/o="
_PATIENCE = 60_000.0  # ms; only what is wrong waits so long
expect.set_options(timeout=_PATIENCE)


@dataclass
class SeenPage:
    """A page.

    Attributes:
        wrong: What the console told of errors, refused styles and scripts among them.
        asked: The addresses that it asked for.
    """

    page: Page
    wrong: list[str] = field(default_factory=list)
    asked: list[str] = field(default_factory=list)

    def open(self, url: str, *, drawn: bool = False) -> None:
        """Opens an address; with ``drawn``, until its plots are drawn."""
        self.page.goto(url)
        if drawn:
            self.await_plots()

    def await_plots(self) -> None:
        """Waits for the first plot."""
        # Not by wait_for_function: that would evaluate text, which the page's policy forbids.
        expect(self.page.locator("html")).to_have_attribute("data-drawn", re.compile("[1-9]"))

    def log_in(self, url: str, token: str) -> None:
        """By the form."""
        self.page.goto(f"{url}/login")
        self.page.get_by_label("Token").fill(token)
        self.page.get_by_role("button", name="Log in").click()
        self.page.wait_for_url(f"{url}/")

    def size(self, width: int, height: int = 900, *, dark: bool = False) -> None:
        """Makes the window so large, and says what its user prefers."""
        self.page.set_viewport_size({"width": width, "height": height})
        self.page.emulate_media(color_scheme="dark" if dark else "light")

    def hindrances(self) -> list[str]:
        """What axe-core finds that hinders readers: rule, impact, places."""
        return _said(Axe().run(self.page).response["violations"])

    def hindrances_in_any_light(self) -> list[str]:
        """The same, and in the dark what hinders there: colours are all that differs."""
        found = self.hindrances()
        self.page.emulate_media(color_scheme="dark")
        rules = {"type": "rule", "values": ["color-contrast", "link-in-text-block"]}
        colours = {"resultTypes": ["violations"], "runOnly": rules}
        found += _said(Axe().run(self.page, options=colours).response["violations"])
        self.page.emulate_media(color_scheme="light")
        return found

    def without_plots(self) -> None:
        """From now on pages draw no plots: thousands of parts that a test may not be about."""
        self.page.route("**/plots.js", lambda route: route.fulfill(body=""))

    def overflows(self) -> bool:
        """Whether the page is wider than its window."""
        wider: bool = self.page.evaluate(
            "document.documentElement.scrollWidth > document.documentElement.clientWidth"
        )
        return wider


def _said(violations: list[dict[str, Any]]) -> list[str]:
    return [
        f"{each['id']} ({each['impact']}): {[node['target'] for node in each['nodes']][:3]}"
        for each in violations
    ]


@contextmanager
def seen_page(browser: Browser, **options: Any) -> Iterator[SeenPage]:
    """A page in a session of its own, which must end without a complaint.

    Args:
        browser: Where.
        options: Of the session, as Playwright names them.
    """
    context = browser.new_context(**{"viewport": {"width": 1100, "height": 900}, **options})
    context.set_default_timeout(_PATIENCE)
    seen = SeenPage(context.new_page())

    def told(message: ConsoleMessage) -> None:
        if message.type == "error" and _MAP not in message.text:
            seen.wrong.append(message.text)

    def asked(request: Request) -> None:
        seen.asked.append(request.url)

    seen.page.on("console", told)
    seen.page.on("pageerror", lambda error: seen.wrong.append(str(error)))
    seen.page.on("request", asked)
    try:
        yield seen
        assert seen.wrong == []
    finally:
        context.close()
