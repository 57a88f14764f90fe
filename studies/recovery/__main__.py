"""Makes databases with known loads, and lays what profiles say of them beside the truth.

Run with ``make prove-recovery``, and ``make prove-transfer`` alone on the machine. Both may be
stopped at any time; called again they go on. ``--again`` does anew what is there, but for the
databases; ``--page`` writes docs/results/recovery.md from what is kept.
"""

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from sampler.bench.settings import Settings, load_settings
from sampler.common.errors import InputError
from studies.recovery.applications import (
    APPLICATIONS,
    Application,
    make_application,
    recovered_application,
)
from studies.recovery.known_load import KnownLoad
from studies.recovery.loads import LOADS, TRANSFERRED
from studies.recovery.making import checked, make_database, recovered
from studies.recovery.page import write_page
from studies.recovery.transfer import transferred
from studies.study import append_line, names, read_lines

PARTS = {
    "log": recovered,
    "fidelity": lambda *given: [{"kind": "fidelity", **checked(*given)}],
    "transfer": lambda *given: [{"kind": "transfer", **transferred(*given)}],
}


def main(arguments: Sequence[str] | None = None) -> None:
    """Makes and reads what is missing, and writes the page from all that is there."""
    given = _parser().parse_args(arguments)
    try:
        if not given.page:
            _measure(given)
        rows = read_lines(given.raw)
        if not rows:
            sys.exit(f"{given.raw} holds nothing yet: make prove-recovery makes the databases")
        write_page(given.raw.with_suffix(".md"), rows)
        print(
            f"{given.raw.with_suffix('.md')} tells of {len({row['load'] for row in rows})} loads"
        )
    except InputError as error:
        sys.exit(str(error))
    except KeyboardInterrupt:
        sys.exit("stopped; called again it goes on")


def _measure(given: argparse.Namespace) -> None:
    settings = load_settings()
    given.raw.parent.mkdir(parents=True, exist_ok=True)
    known = {(row["kind"], row["load"]) for row in read_lines(given.raw)}
    for part in given.only:
        every = tuple(load.name for load in (*LOADS, *APPLICATIONS))
        usual = TRANSFERRED if part == "transfer" else every
        for load in (*LOADS, *(APPLICATIONS if part == "log" else ())):
            there = (part, load.name) in known and not given.again
            if there or load.name not in (given.loads or usual):
                continue
            print(f"{part} {load.name}", flush=True)
            for row in _rows(part, load, given.work, settings):
                append_line(given.raw, row)


def _rows(
    part: str, load: KnownLoad | Application, work: Path, settings: Settings
) -> list[dict[str, Any]]:
    if isinstance(load, Application):
        return recovered_application(load, make_application(load, work), settings)
    return PARTS[part](load, make_database(load, work, settings), settings)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(description="Profiles of known loads, and the truth.")
    parser.add_argument("--loads", type=names, help="with commas between; else all")
    parser.add_argument("--only", choices=PARTS, nargs="+", default=["log", "fidelity"])
    parser.add_argument("--again", action="store_true", help="do anew what is there")
    parser.add_argument("--page", action="store_true", help="write the page; measure nothing")
    parser.add_argument("--work", type=Path, default=Path("rocktune-recovery"),
                        help="receives LOG, OPTIONS and traces")  # fmt: skip
    parser.add_argument("--raw", type=Path, default=Path("docs/results/recovery.jsonl"),
                        help="where raw results are kept")  # fmt: skip
    return parser


if __name__ == "__main__":
    main()
