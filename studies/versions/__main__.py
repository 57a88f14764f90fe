"""Tries every RocksDB build of this machine: what is found, accepted, tuned, and what differs.

Run with ``make prove-versions``. Builds are the one on PATH and those that ``make db_bench
VERSION=`` has brought. It may be stopped at any time; called again it goes on. ``ARGS=--page``
tries nothing and writes docs/results/versions.md from what is kept. ``make prove-readers`` runs
the tests of the readers alone, on every build but the one on PATH, and keeps nothing.
"""

import argparse
import sys
from collections.abc import Sequence
from itertools import combinations
from pathlib import Path

from sampler.bench.builds import installed_build, named_programs
from sampler.bench.installed import InstalledDbBench
from sampler.bench.settings import load_settings
from sampler.common.errors import InputError
from studies.study import make_command, names
from studies.versions.page import PageSettings, write_page, wrong_rows
from studies.versions.trial import (
    Rows,
    readers_tested,
    try_build,
    try_draws,
    try_pair,
    try_readers,
    try_tune,
)

RAW = Path("docs/results/versions.jsonl")
PAGE = Path("docs/results/versions.md")


def main(arguments: Sequence[str] | None = None) -> None:
    """Tries what is missing, and writes the page from all that is there."""
    given = _parser().parse_args(arguments)
    rows = Rows(given.raw)
    try:
        if given.readers:
            sys.exit(_readers_that_fail(given.builds))
        if not given.page:
            given.raw.parent.mkdir(parents=True, exist_ok=True)
            _try_all(rows, given)
        if not rows.of("build"):
            sys.exit(f"{given.raw} holds nothing yet: make prove-versions tries the builds")
        settled = PageSettings(draws=given.draws, trials=given.trials, long=given.long)
        write_page(given.out, make_command("prove-versions", arguments), rows, settled)
        print(f"{given.out} tells of {len(rows.of('build'))} builds")
        sys.exit("\n".join(wrong_rows(rows, settled)) or None)
    except InputError as error:
        sys.exit(str(error))
    except KeyboardInterrupt:
        sys.exit("stopped; called again it goes on")


def builds_here(wanted: Sequence[str]) -> list[InstalledDbBench]:
    """Builds by name, or all of this machine; each version once, the oldest first.

    Raises:
        InputError: One of those that were asked for does not work.
    """
    settings = load_settings()
    found = [installed_build(name, settings) for name in wanted or named_programs(settings)]
    by_version = {each.version: each for each in reversed(found)}
    return sorted(by_version.values(), key=lambda b: [*map(int, b.version.split("."))])


def _try_all(rows: Rows, given: argparse.Namespace) -> None:
    builds = builds_here(given.builds)
    for installed in builds:
        try_build(rows, installed)
        _say(installed, "trying the readers")
        try_readers(rows, installed)
        for said in try_draws(rows, installed, given.draws):
            _say(installed, said)
        _say(installed, "tuning the quick load")
        try_tune(rows, installed, given.trials)
    for old, new in combinations(builds, 2):
        try_pair(rows, old, new)
    for installed in {each.version: each for each in (builds[0], builds[-1])}.values():
        _say(installed, f"tuning the quick load with {given.long} runs")
        try_tune(rows, installed, given.long)


def _readers_that_fail(wanted: Sequence[str]) -> str | None:
    """Runs the readers' tests on every build but the one on PATH; which failed."""
    settings = load_settings()
    done, failed = {installed_build(None, settings).version}, []
    for name in wanted or named_programs(settings):
        try:
            installed = installed_build(name, settings)
        except InputError as error:
            failed.append(f"{name}: {error}")
            continue
        if installed.version in done:
            continue
        done.add(installed.version)
        tested = readers_tested(installed)
        _say(installed, ", ".join(f"{count} {what}" for what, count in tested.counted.items()))
        if tested.failed:
            print(tested.printed, flush=True)
        failed += [f"RocksDB {installed.version}: {test}" for test in tested.failed]
    return "\n".join(failed) or None


def _say(installed: InstalledDbBench, what: str) -> None:
    print(f"RocksDB {installed.version}: {what}", flush=True)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(description="Every build of this machine, tried.")
    parser.add_argument("--builds", type=names, default=(), help="names, with commas; all")
    parser.add_argument("--draws", type=int, default=1000, help="of each space")
    parser.add_argument("--trials", type=int, default=40, help="of the job that tunes")
    parser.add_argument("--long", type=int, default=150, help="of the jobs on oldest and newest")
    parser.add_argument("--readers", action="store_true", help="only the tests of the readers")
    parser.add_argument("--page", action="store_true", help="write the page; try nothing")
    parser.add_argument("--raw", type=Path, default=RAW, help="where raw results are kept")
    parser.add_argument("--out", type=Path, default=PAGE, help="the page")
    return parser


if __name__ == "__main__":
    main()
