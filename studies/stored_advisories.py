"""Runs pip-audit on every lock against the advisories that docs/results/advisories.md keeps.

For where PyPI's own service of advisories cannot be reached: ``make audit-stored``. pip-audit asks
a server on loopback that answers as OSV does (https://google.github.io/osv.dev/post-v1-query/).
First it must find what is planted, or it says nothing about the locks.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

from packaging.utils import canonicalize_name
from packaging.version import Version

KEPT = Path("docs/results/advisories.md")
_CELL = r" ([^|]*) \|"
_ROW = re.compile(r"^\| ([\w.-]+) \| ([A-Z]+-\S+) \|" + 3 * _CELL, re.MULTILINE)
_PLANTED = "jinja2==3.1.5"  # mended in 3.1.6, which is locked


@dataclass(frozen=True)
class Range:
    """Versions from the first, to the last (``closed``) or to the one that mends."""

    low: Version
    high: Version
    closed: bool

    def holds(self, version: Version) -> bool:
        """Whether a version is within."""
        below = version <= self.high if self.closed else version < self.high
        return self.low <= version and below

    def events(self) -> list[dict[str, str]]:
        """As OSV writes it."""
        end = {"last_affected" if self.closed else "fixed": str(self.high)}
        return [{"introduced": str(self.low)}, end]


@dataclass(frozen=True)
class Advisory:
    """A hole in some versions.

    Attributes:
        package: Its name, in canonical form.
        identity: As the database calls it.
        aliases: As others do.
        ranges: The versions that have it; none of one that was withdrawn before it said any.
        what: In a few words.
    """

    package: str
    identity: str
    aliases: tuple[str, ...]
    ranges: tuple[Range, ...]
    what: str

    def affects(self, version: Version) -> bool:
        """Whether a version has the hole."""
        return any(each.holds(version) for each in self.ranges)

    def document(self) -> dict[str, Any]:
        """As OSV writes it."""
        events = [event for each in self.ranges for event in each.events()]
        return {
            "id": self.identity,
            "aliases": list(self.aliases),
            "summary": self.what,
            "details": self.what,
            "affected": [
                {
                    "package": {"name": self.package, "ecosystem": "PyPI"},
                    "ranges": [{"type": "ECOSYSTEM", "events": events}],
                }
            ],
        }


def read_advisories(path: Path = KEPT) -> list[Advisory]:
    """Every row of the page's second table; withdrawn ones, too."""
    return [
        Advisory(
            package=canonicalize_name(package),
            identity=identity,
            aliases=tuple(alias.strip() for alias in aliases.split(",") if alias.strip()),
            ranges=tuple(_range(each) for each in ranges.split(";") if ".." in each),
            what=what.strip(),
        )
        for package, identity, aliases, ranges, what in _ROW.findall(
            path.read_text(encoding="utf-8")
        )
    ]


def _range(text: str) -> Range:
    """Of ``low..high``; with ``=`` before the last, that one is in it."""
    low, _, high = text.strip().partition("..")
    return Range(Version(low), Version(high.lstrip("=")), high.startswith("="))


@contextmanager
def answering(advisories: Sequence[Advisory]) -> Iterator[tuple[str, list[str]]]:
    """A server on loopback.

    Yields:
        The address of its query, and what it was asked for so far, as ``name==version``.
    """
    asked: list[str] = []
    with ThreadingHTTPServer(("127.0.0.1", 0), partial(_Answer, advisories, asked)) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_port}/v1/query", asked
        finally:
            server.shutdown()
            thread.join()


class _Answer(BaseHTTPRequestHandler):
    def __init__(self, advisories: Sequence[Advisory], asked: list[str], *connection: Any) -> None:
        self._advisories, self._asked = advisories, asked
        super().__init__(*connection)

    def do_POST(self) -> None:
        query = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        name, version = canonicalize_name(query["package"]["name"]), query["version"]
        self._asked.append(f"{name}=={version}")
        found = [
            advisory.document()
            for advisory in self._advisories
            if advisory.package == name and advisory.affects(Version(version))
        ]
        body = json.dumps({"vulns": found} if found else {}).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: Any) -> None:
        """Says nothing of each request."""


def _audit(url: str, *requirements: str, hashed: bool = True) -> subprocess.CompletedProcess[str]:
    given = [part for file in requirements for part in ("--requirement", file)]
    service = ["--vulnerability-service", "osv", "--osv-url", url]
    kept = ["--require-hashes" if hashed else "--no-deps"]
    command = [".venv/bin/pip-audit", "--strict", "--disable-pip", "--progress-spinner", "off"]
    return subprocess.run([*command, *kept, *service, *given], capture_output=True, text=True)


def _unconditional(locks: Sequence[str]) -> set[str]:
    """What every Python and system installs: of the rest pip-audit asks what is for this one."""
    found: set[str] = set()
    for lock in locks:
        text = Path(lock).read_text(encoding="utf-8")
        for name, version, marker in re.findall(
            r"^([\w.-]+)==([^\s;]+) ?(;?)", text, re.MULTILINE
        ):
            if not marker:
                found.add(f"{canonicalize_name(name)}=={version}")
    return found


def main() -> int:
    """Audits every lock; 0 when nothing is found in them, and what was planted is."""
    advisories = read_advisories()
    locks = sorted(str(path) for path in Path("requirements").glob("*.txt"))
    with answering(advisories) as (url, asked):
        with tempfile.NamedTemporaryFile("w", suffix=".txt") as planted:
            planted.write(_PLANTED + "\n")
            planted.flush()
            found = _audit(url, planted.name, hashed=False)
        if found.returncode != 1 or "PYSEC" not in found.stdout:
            sys.exit(f"pip-audit did not find {_PLANTED}: {found.stdout}{found.stderr}")
        asked.clear()
        told = _audit(url, *locks)
    unasked = _unconditional(locks) - set(asked)
    if unasked:
        sys.exit(f"pip-audit did not ask for {', '.join(sorted(unasked))}")
    counted = f"{len(set(asked))} versions in {len(locks)} locks, {len(advisories)} advisories\n"
    sys.stdout.write(told.stdout + told.stderr + counted)
    return told.returncode


if __name__ == "__main__":
    sys.exit(main())
