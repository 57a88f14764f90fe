"""One public artefact, the command that a user would run on it, and the figures that are right."""

from __future__ import annotations

import gzip
import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from tests.support import ROOT

ARTEFACTS = ROOT / "tests" / "data" / "cases"
Figures = Mapping[str, object]


@dataclass(frozen=True)
class Ran:
    """A command that has ended: exit status and both outputs."""

    status: int
    stdout: str
    stderr: str


@dataclass(frozen=True, kw_only=True)
class Case:
    """What a command must say of an artefact.

    Attributes:
        artefact: Its path below ``tests/data/cases``.
        command: Arguments of ``rocktune``; ``{file}`` stands for the artefact, ``{folder}`` for an
            empty folder.
        expected: Figures by name; a float is met within ``within``, all else exactly.
        read: Finds the same figures in what the command printed.
        status: The exit status.
        within: Relative tolerance of floats; measured ones need some, read ones none.
        db_bench: Whether the command runs the real db_bench.
        missing: Why a figure, or the ``exit status``, is not as expected yet, by its name: the
            table shows it as wrong, and the test fails as soon as it is right.
        sooner: Arguments by which `make test` has the same figures of a smaller load.
    """

    artefact: str
    command: tuple[str, ...]
    expected: Figures
    read: Callable[[Ran], Figures]
    status: int = 0
    within: float = 0.0
    db_bench: bool = False
    missing: Mapping[str, str] = field(default_factory=dict)
    sooner: tuple[str, ...] = ()
    environment: Mapping[str, str] = field(default_factory=dict)

    def arguments(self, folder: Path) -> list[str]:
        """Of ``rocktune``.

        Args:
            folder: An empty folder, for what the command writes.
        """
        places = {"file": str(_unpacked(ARTEFACTS / self.artefact, folder)), "folder": str(folder)}
        return [argument.format(**places) for argument in self.command]

    def run(self, folder: Path) -> Ran:
        """Runs the command in a process of its own; for ``folder`` see ``arguments``."""
        argv = self.arguments(folder)
        # A host of its own: it neither waits for other tests nor makes them wait.
        apart = {"ROCKTUNE_LOCK": f"{folder}/host.lock", "ROCKTUNE_BENCH_DIR": f"{folder}/bench"}
        ran = subprocess.run(
            [sys.executable, "-m", "cli.main", *argv],
            cwd=ROOT,
            env={**os.environ, "COLUMNS": "200", "NO_COLOR": "1", **apart, **self.environment},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=600,
            check=False,
        )
        return Ran(ran.returncode, ran.stdout, ran.stderr)


def _unpacked(artefact: Path, folder: Path) -> Path:
    """The artefact, or a copy of its folder in ``folder`` where files of that are packed."""
    if not artefact.is_dir() or not any(artefact.glob("*.gz")):
        return artefact
    copy = folder / artefact.name
    shutil.copytree(artefact, copy, dirs_exist_ok=True)
    for packed in copy.glob("*.gz"):
        packed.with_suffix("").write_bytes(gzip.decompress(packed.read_bytes()))
        packed.unlink()
    return copy
