"""Files of /proc and /sys: any of them may be missing, as in a sandbox or in a container."""

from __future__ import annotations

from pathlib import Path

PROC, SYS = Path("/proc"), Path("/sys")


def text_of(file: Path) -> str | None:
    """What a file holds; None where it cannot be read."""
    try:
        return file.read_text(encoding="utf-8", errors="replace")
    except OSError:
        return None


def line_of(file: Path) -> str | None:
    """The text of a file of one line, without its end; None where it cannot be read."""
    text = text_of(file)
    return None if text is None else text.strip()
