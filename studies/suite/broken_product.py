"""Breaks the product in ten places, one after the other: the tests must notice each.

Run with ``make prove-tests``. Each break is made in a copy of the sources, where the tests named
beside it are run until the first fails. It ends with 1 when one of them is not noticed.
"""

from __future__ import annotations

import argparse
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from studies.arguments import make_command

PAGE = Path("docs/results/broken_product.md")
_COPIED = ("sampler", "models", "optimizer", "db", "jobs", "api", "cli", "tests", "studies",
           "pyproject.toml")  # fmt: skip
_FAILED = re.compile(r"^(?:FAILED|ERROR) (\S+)", re.MULTILINE)


@dataclass(frozen=True)
class Break:
    """One place that is made wrong.

    Attributes:
        what: In words.
        file: Where.
        right: Stands there once.
        wrong: Is put in its place.
        tests: Names of test files that must notice.
    """

    what: str
    file: str
    right: str
    wrong: str
    tests: tuple[str, ...]


BREAKS = (
    Break("write amplification counts no compaction", "sampler/bench/metrics.py",
          "counted = sum(tickers[name] for name in _WRITTEN)",
          'counted = tickers["flush.write.bytes"]', ("test_measured_metrics",)),
    Break("sizes are not scaled down", "sampler/options/option_values.py",
          "return max(1, int(value) // scale)", "return int(value)", ("test_option_values",)),
    Break("two controllers may hold the lock of a host", "sampler/runner/host_lock.py",
          "fcntl.LOCK_EX | fcntl.LOCK_NB", "fcntl.LOCK_SH | fcntl.LOCK_NB", ("test_host_locks",)),
    Break("a metric that should fall is better when it rises", "optimizer/objective/objective.py",
          'return clipped if self.direction == "max" else -clipped', "return clipped",
          ("test_objective_value",)),
    Break("a broken limit confirms a winner", "optimizer/confirmation/proof.py",
          "enough and not broken and not failed and", "enough and not failed and",
          ("test_limits_in_the_proof",)),
    Break("a winner may be proven in two pairs", "optimizer/budget/budget.py",
          "pairs = min(max(trials // 12, 3), 8)", "pairs = min(max(trials // 12, 2), 8)",
          ("test_budget_plan",)),
    Break("a controller that was replaced goes on writing", "db/leases.py",
          "(job.c.lease_epoch == lease.epoch, job.c.lease_owner == lease.owner)",
          "(job.c.lease_owner == lease.owner,)", ("test_lease",)),
    Break("a revoked token opens the door", "db/access/tokens.py",
          "found is None or found.revoked_at is not None", "found is None", ("test_tokens",)),
    Break("a role may not do what it may", "db/access/tokens.py",
          "order.index(self) >= order.index(needed)", "order.index(self) > order.index(needed)",
          ("test_roles_of_routes",)),
    Break("pages take the words of others for HTML", "jobs/results/pages.py",
          "autoescape=True", "autoescape=False", ("test_run_stored_job", "test_report_page")),
)  # fmt: skip


def copied(folder: Path) -> None:
    """Makes a copy of the sources."""
    for name in _COPIED:
        source = Path(name)
        if source.is_dir():
            left_out = shutil.ignore_patterns("__pycache__")
            shutil.copytree(source, folder / name, ignore=left_out)
        else:
            shutil.copy(source, folder / name)


def first_failure(folder: Path, tests: Iterable[str]) -> str | None:
    """The first test of these files that fails in a copy; None where all pass.

    Raises:
        ValueError: The tests cannot be run.
    """
    files = [
        str(path.relative_to(folder))
        for test in tests
        for path in (folder / "tests").rglob(f"{test}.py")
    ]
    ended = subprocess.run(
        [sys.executable, "-m", "pytest", "-x", "-q", "-p", "no:cacheprovider",
         "-m", "not (postgres or chromium)", *files],
        cwd=folder, capture_output=True, text=True, check=False,
    )  # fmt: skip
    if ended.returncode not in (0, 1):
        raise ValueError(f"{files}: {ended.stdout[-2000:]}{ended.stderr[-2000:]}")
    found = _FAILED.search(ended.stdout)
    return found[1] if found else None


def noticed(each: Break, folder: Path) -> str | None:
    """The first test that fails when a copy is broken, which is mended again.

    Raises:
        ValueError: What should be broken does not stand there once.
    """
    path = folder / each.file
    text = path.read_text()
    if text.count(each.right) != 1:
        raise ValueError(f"{each.file} does not hold {each.right!r} once")
    path.write_text(text.replace(each.right, each.wrong))
    try:
        return first_failure(folder, each.tests)
    finally:
        path.write_text(text)


def main(arguments: Sequence[str] | None = None) -> int:
    """Makes every break and writes the page; the exit status."""
    parser = argparse.ArgumentParser(prog="make prove-tests ARGS=...", description=__doc__)
    parser.add_argument("--out", type=Path, default=PAGE, help="receives the page")
    asked = parser.parse_args(arguments)
    rows, missed = [], 0
    with tempfile.TemporaryDirectory(prefix="rocktune-broken-") as name:
        folder = Path(name)
        copied(folder)
        if failing := first_failure(folder, {test for each in BREAKS for test in each.tests}):
            sys.exit(f"{failing} fails although nothing is broken")
        for each in BREAKS:
            test = noticed(each, folder)
            missed += test is None
            rows.append(f"| {each.what} | `{each.file}` | {f'`{test}`' if test else 'nothing'} |")
            print(rows[-1], flush=True)
    lines = [
        "# Breaks that the tests notice",
        "",
        f"`{make_command('prove-tests', arguments)}`, {datetime.now(UTC).date()}: the product is "
        f"made wrong in {len(BREAKS)} places, one at a time; {len(BREAKS) - missed} are noticed.",
        "",
        "| what is wrong | where | the first test that fails |",
        "|---|---|---|",
        *rows,
    ]
    asked.out.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
