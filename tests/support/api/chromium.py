"""A real headless Chromium, driven over its DevTools protocol through a pipe."""

from __future__ import annotations

import base64
import fcntl
import json
import os
import select
import shutil
import signal
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

PROGRAM = "chromium"
_FLAGS = (
    "--headless", "--no-sandbox", "--disable-gpu", "--no-first-run", "--hide-scrollbars",
    "--disable-background-networking", "--disable-component-update", "--disable-sync",
    "--disable-dev-shm-usage", "--remote-debugging-pipe",
)  # fmt: skip
_ANSWER_SECONDS = 60.0


@dataclass
class Page:
    """One page and all that happened in it.

    Attributes:
        events: What the browser told, in order, as DevTools names it.
    """

    read_from: int
    write_to: int
    session: str = ""
    events: list[dict[str, Any]] = field(default_factory=list)
    _last: int = 0
    _rest: bytes = b""

    def call(self, method: str, **parameters: Any) -> dict[str, Any]:
        """Asks the browser, and waits for its answer."""
        self._last += 1
        message: dict[str, Any] = {"id": self._last, "method": method, "params": parameters}
        if self.session:
            message["sessionId"] = self.session
        data = json.dumps(message).encode() + b"\0"
        while data:
            data = data[os.write(self.write_to, data) :]
        return self._until(lambda told: told.get("id") == self._last, method)

    def open(self, url: str, *, width: int = 1100, height: int = 900, dark: bool = False) -> None:
        """Opens an address and waits until it is loaded."""
        self.size(width, height)
        self.colours(dark=dark)
        self.events.clear()
        self.call("Page.navigate", url=url)
        self.wait("Page.loadEventFired")

    def size(self, width: int, height: int) -> None:
        """Makes the screen so wide and high, in CSS pixels; below 600 a phone's."""
        self.call(
            "Emulation.setDeviceMetricsOverride",
            width=width, height=height, deviceScaleFactor=1, mobile=width < 600,
        )  # fmt: skip

    def colours(self, *, dark: bool) -> None:
        """What the system prefers."""
        wanted = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
        self.call("Emulation.setEmulatedMedia", features=[wanted])

    def value(self, script: str) -> Any:
        """The value of an expression; a promise is waited for."""
        answer = self.call(
            "Runtime.evaluate", expression=script, returnByValue=True, awaitPromise=True
        )
        assert "exceptionDetails" not in answer, answer["exceptionDetails"]
        return answer["result"].get("value")

    def become(self, script: str) -> None:
        """Waits, with the page's own clock, until an expression is true."""
        self.value(
            "new Promise((done, failed) => { const limit = performance.now() + 30000;"
            f"const look = () => ({script}) ? done(true) : performance.now() > limit"
            " ? failed(new Error('it never became true')) : requestAnimationFrame(look);"
            "look(); })"
        )

    def wait(self, event: str) -> dict[str, Any]:
        """The first event of a kind, now or when it comes."""
        for told in self.events:
            if told["method"] == event:
                return told["params"]
        return self._until(lambda told: told.get("method") == event, event)

    def told(self, *methods: str) -> list[dict[str, Any]]:
        """What came of some kinds of event."""
        return [told["params"] for told in self.events if told["method"] in methods]

    def picture(self, *, whole: bool = False, width: int = 1100) -> bytes:
        """A PNG of the screen, or of the whole page."""
        more: dict[str, Any] = {}
        if whole:
            height = self.value("document.documentElement.scrollHeight")
            more = {
                "captureBeyondViewport": True,
                "clip": {"x": 0, "y": 0, "width": width, "height": height, "scale": 1},
            }
        return base64.b64decode(self.call("Page.captureScreenshot", format="png", **more)["data"])

    def printed(self) -> bytes:
        """The page as a PDF, on A4."""
        answer = self.call("Page.printToPDF", paperWidth=8.27, paperHeight=11.69,
                           printBackground=False, preferCSSPageSize=True)  # fmt: skip
        return base64.b64decode(answer["data"])

    def _until(self, wanted: Callable[[dict[str, Any]], bool], what: str) -> dict[str, Any]:
        limit = time.monotonic() + _ANSWER_SECONDS
        while True:
            while b"\0" in self._rest:
                raw, _, self._rest = self._rest.partition(b"\0")
                told = json.loads(raw)
                if "method" in told:
                    self.events.append(told)
                if wanted(told):
                    assert "error" not in told, (what, told["error"])
                    return told.get("result", told.get("params", {}))
            left = limit - time.monotonic()
            assert left > 0, f"the browser does not answer {what}"
            if select.select([self.read_from], [], [], left)[0]:
                got = os.read(self.read_from, 1 << 20)
                assert got, "the browser has gone"
                self._rest += got


def give_pipes(read_from: int, write_to: int) -> None:
    """Puts two descriptors where the browser expects them: it reads from 3 and writes to 4.

    Either may be one of these numbers already, and dup2 closes what it lands on: so both are
    moved above them first.
    """
    read_from, write_to = (
        fcntl.fcntl(number, fcntl.F_DUPFD_CLOEXEC, 5) for number in (read_from, write_to)
    )
    os.dup2(read_from, 3)
    os.dup2(write_to, 4)


@contextmanager
def chromium(folder: Path) -> Iterator[Page]:
    """A browser of one's own with an empty page, in an empty folder."""
    program = shutil.which(PROGRAM)
    assert program, f"{PROGRAM} is not installed: make chromium"
    theirs_in, ours_out = os.pipe()
    ours_in, theirs_out = os.pipe()

    process = subprocess.Popen(
        [program, *_FLAGS, f"--user-data-dir={folder}", "about:blank"],
        stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True,
        close_fds=False, preexec_fn=lambda: give_pipes(theirs_in, theirs_out),
    )  # fmt: skip
    os.close(theirs_in)
    os.close(theirs_out)
    page = Page(ours_in, ours_out)
    try:
        targets = page.call("Target.getTargets")["targetInfos"]
        target = next(each["targetId"] for each in targets if each["type"] == "page")
        answer = page.call("Target.attachToTarget", targetId=target, flatten=True)
        page.session = answer["sessionId"]
        for domain in ("Page", "Runtime", "Log", "Network"):
            page.call(f"{domain}.enable")
        yield page
        # Killed, it would leave its socket in the system's temporary folder.
        page.session = ""
        page.call("Browser.close")
        process.wait(_ANSWER_SECONDS)
    finally:
        os.close(ours_out)
        os.close(ours_in)
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()
