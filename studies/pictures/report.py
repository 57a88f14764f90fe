"""Pictures of a report in a real browser: light, dark, on a phone and on paper.

    python -m studies.pictures.report REPORT.html FOLDER

Chromium and pngquant must be installed.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
from pathlib import Path

from tests.support.api.chromium import Page, chromium

DRAWN = "document.documentElement.dataset.drawn"
_WIDE, _NARROW = 1000, 390


def smaller(png: bytes) -> bytes:
    """The same picture with a palette of 24 colours: enough for text and plots."""
    return subprocess.run(
        ["pngquant", "--strip", "24", "-"], input=png, stdout=subprocess.PIPE, check=True
    ).stdout


def pictures(page: Page, address: str) -> dict[str, bytes]:
    """The files by name."""
    made = {}
    for name, width, dark in (
        ("light.png", _WIDE, False), ("dark.png", _WIDE, True), ("narrow.png", _NARROW, False)
    ):  # fmt: skip
        page.open(address, width=width, height=900, dark=dark)
        page.become(DRAWN)
        made[name] = smaller(page.picture(whole=True, width=width))
    page.open(address, width=_WIDE)
    page.become(DRAWN)
    return made | {"print.pdf": page.printed()}


def main(report: str, folder: str) -> None:
    """Writes them."""
    out = Path(folder)
    out.mkdir(parents=True, exist_ok=True)
    with (
        tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as own,
        chromium(Path(own)) as page,
    ):
        for name, content in pictures(page, Path(report).resolve().as_uri()).items():
            (out / name).write_bytes(content)


if __name__ == "__main__":
    main(*sys.argv[1:])
