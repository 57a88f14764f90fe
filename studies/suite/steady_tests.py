"""Runs the tests again and again with other seeds, beside busy loops and on one core.

Run with ``make prove-steady ARGS="--times 20"``. Every run draws other examples (Hypothesis) and
other orders of sets (PYTHONHASHSEED). A third of the runs is alone, a third beside two loops that
keep every core busy, a third on one core. Whatever fails in any of them is named, and the program
ends with 1: a test that chance or a busy machine can break is mended, not tried again.

What follows ``--`` goes to pytest; without it the tests of ``make test-quick`` are run.
"""

from __future__ import annotations

import argparse
import os
import re
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from tempfile import gettempdir

from sampler.machine.machine import fingerprint
from studies.arguments import make_command

PAGE = Path("docs/results/steady_tests.md")
QUICK = ("-m", "not (slow or postgres or chromium or prometheus or db_bench)")
WAYS = ("alone", "beside two busy loops", "on one core")
_BUSY = "while True: pass"
_FAILED = re.compile(r"^(?:FAILED|ERROR) (\S+)", re.MULTILINE)
_COUNTS = re.compile(r"^=+ (.* in [0-9.]+s.*?) =+$", re.MULTILINE)


@dataclass(frozen=True)
class Run:
    """One run of the tests.

    Attributes:
        way: One of ``WAYS``.
        counts: pytest's closing line.
        failed: Names of tests.
    """

    seed: int
    way: str
    seconds: float
    counts: str
    failed: tuple[str, ...]


def run_tests(seed: int, way: str, arguments: Sequence[str]) -> Run:
    """Runs the tests once.

    Raises:
        RuntimeError: pytest itself did not get to its closing line.
    """
    command = [sys.executable, "-m", "pytest", "-q", "-rfE", "-p", "no:cacheprovider",
               "--hypothesis-profile=drawn", f"--hypothesis-seed={seed}", *arguments]  # fmt: skip
    if way == WAYS[2]:
        command = ["taskset", "--cpu-list", str(min(os.sched_getaffinity(0))), *command]
    environment = {
        **os.environ,
        "PYTHONHASHSEED": str(seed),
        "OMP_NUM_THREADS": "1",
        "OPENBLAS_NUM_THREADS": "1",
    }
    began = time.monotonic()
    with busy_loops(2) if way == WAYS[1] else nullcontext():
        ended = subprocess.run(
            command, env=environment, capture_output=True, text=True, check=False
        )
    closing = _COUNTS.findall(ended.stdout + "\n") or re.findall(
        r"^(\d+ \w+.* in [0-9.]+s.*)$", ended.stdout, re.MULTILINE
    )
    if not closing:
        raise RuntimeError(ended.stdout[-2000:] + ended.stderr[-2000:])
    failed = tuple(sorted(set(_FAILED.findall(ended.stdout))))
    return Run(seed, way, time.monotonic() - began, closing[-1], failed)


@contextmanager
def busy_loops(count: int) -> Iterator[None]:
    """Processes that do nothing as fast as they can, until the block ends."""
    loops = [subprocess.Popen([sys.executable, "-c", _BUSY]) for _ in range(count)]
    try:
        yield
    finally:
        for loop in loops:
            loop.kill()
            loop.wait()


def page(command: str, runs: Sequence[Run], machine: dict[str, object]) -> str:
    """The results as a page."""
    failed = sorted({name for run in runs for name in run.failed})
    lines = [
        "# Tests that chance and a busy machine cannot break",
        "",
        f"`{command}`, {datetime.now(UTC).date()}, {machine['cpu']}, {machine['cores']} cores, "
        f"{machine['system']}, Python {machine['python']}. Each run draws other examples "
        "(Hypothesis) and other orders of sets.",
        "",
        f"{len(runs)} runs; {len(failed)} tests failed in any of them.",
        "",
        "| seed | how | seconds | result |",
        "|--:|---|--:|---|",
        *(f"| {run.seed} | {run.way} | {run.seconds:.0f} | {run.counts} |" for run in runs),
        *(["", "Failed:", "", *(f"- `{name}`" for name in failed)] if failed else []),
    ]
    return "\n".join(lines) + "\n"


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs the tests as often as asked and writes the page; the exit status."""
    parser = argparse.ArgumentParser(prog="make prove-steady ARGS=...", description=__doc__)
    parser.add_argument("--times", type=int, default=20, help="runs in all")
    parser.add_argument("--seed", type=int, default=1, help="of the first run")
    parser.add_argument("--way", choices=WAYS, help="all runs so, instead of in turn")
    parser.add_argument("--out", type=Path, default=PAGE, help="receives the page")
    parser.add_argument("pytest", nargs="*", default=QUICK, help="after --: arguments of pytest")
    asked = parser.parse_args(arguments)
    runs: list[Run] = []
    for place in range(asked.times):
        way = asked.way or WAYS[place % len(WAYS)]
        run = run_tests(asked.seed + place, way, asked.pytest)
        runs.append(run)
        print(f"{place + 1}/{asked.times} seed {run.seed}, {way}: {run.counts}", flush=True)
        for name in run.failed:
            print(f"  failed: {name}", flush=True)
        machine = fingerprint(Path(gettempdir()))
        asked.out.write_text(page(make_command("prove-steady", arguments), runs, machine))
    return 1 if any(run.failed for run in runs) else 0


if __name__ == "__main__":
    sys.exit(main())
