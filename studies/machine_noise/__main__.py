"""Measures what the machine's conditions explain: `make prove-noise`.

Run with ``make prove-noise ARGS="--jobs 5 --size 20"``, alone on the machine: two hours. It may be
stopped at any time; called again it goes on. ``--page`` measures nothing.
"""

from __future__ import annotations

import argparse
import dataclasses
import itertools
import sys
from collections.abc import Sequence
from pathlib import Path

from sampler.common.errors import InputError
from sampler.runner.settings import load_settings
from studies.arguments import make_command, names
from studies.json_lines import append_line, read_lines
from studies.machine_noise.page import page
from studies.machine_noise.runs import PARTS, WORKLOADS, measured, row_from_document, runs_of

RAW = Path("docs/results/machine_noise.jsonl")


def main(arguments: Sequence[str] | None = None) -> None:
    """Measures the runs that are missing, and writes the page from all that is there."""
    given = _parser().parse_args(arguments)
    try:
        if unknown := [part for part in given.parts if part not in PARTS]:
            raise InputError("--parts", f"{unknown[0]!r} is none of {', '.join(PARTS)}")
        rows = [row_from_document(row) for row in read_lines(given.raw)]
        there = {row.run for row in rows}
        sizes = {"rounds": given.rounds, "jobs": given.jobs, "size": given.size}
        wanted = itertools.chain.from_iterable(
            runs_of(part, workloads=given.workloads, **sizes) for part in given.parts
        )
        missing = [] if given.page else [run for run in wanted if run not in there]
        for row in measured(missing, load_settings()):
            append_line(given.raw, dataclasses.asdict(row))
            rows.append(row)
            print(f"{row.run}: {row.state}", flush=True)
        if not rows:
            raise InputError(str(given.raw), "holds no run yet: make prove-noise measures them")
    except InputError as error:
        sys.exit(str(error))
    except KeyboardInterrupt:
        sys.exit("stopped; called again it goes on")
    out = given.raw.with_suffix(".md")
    out.write_text(page(rows, make_command("prove-noise", arguments)), encoding="utf-8")
    print(f"{out} tells of {len(rows)} runs")


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(description="What the machine does beside a run.")
    parser.add_argument("--parts", type=names, default=PARTS, help="with commas between")
    parser.add_argument("--workloads", type=names, default=WORKLOADS)
    parser.add_argument("--rounds", type=int, default=20, help="of `moved` and `cost`")
    parser.add_argument("--jobs", type=int, default=5, help="of each kind in `noise`")
    parser.add_argument("--size", type=int, default=20, help="runs of each job")
    parser.add_argument("--raw", type=Path, default=RAW, help="what was measured")
    parser.add_argument("--page", action="store_true", help="measure nothing")
    return parser


if __name__ == "__main__":
    main()
