"""Measures the policies of ``rocktune autotune``, and writes the page from what is there.

The page is docs/results/autotune.md. Run with ``make prove-autotune``: about an hour and a half,
alone on the machine, with 20 GB of free disk. It may be stopped at any time; called again it goes
on. With ``ARGS=--page`` it only writes the page.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from jobs.autotune.compare import run_alone
from jobs.autotune.request import FULL_SECONDS
from jobs.autotune.run import document, figures
from sampler.common.errors import InputError
from sampler.machine.machine import fingerprint
from sampler.runner.settings import Settings, load_settings
from studies.arguments import make_command
from studies.autotune.page import write_page
from studies.autotune.plan import asked, missing, probe, steps
from studies.json_lines import append_line, read_lines

RAW = Path("docs/results/autotune.jsonl")
_PROBE = "probe"
_MACHINE = ("cpu", "cores", "virtual", "memory_bytes", "disk", "file_system", "kernel", "system")


def main(arguments: Sequence[str] | None = None) -> None:
    """Makes the runs that are missing, and writes the page from all that is there."""
    given = _parser().parse_args(arguments)
    repeats = dict(zip(FULL_SECONDS, given.repeats, strict=False))
    try:
        given.raw.parent.mkdir(parents=True, exist_ok=True)
        if not given.page:
            run_missing(given.raw, repeats, given.share, given.capacity, load_settings())
        write_page(given.raw, make_command("prove-autotune", arguments), read_lines(given.raw))
        print(f"{given.raw.with_suffix('.md')} is written")
    except InputError as error:
        sys.exit(str(error))
    except KeyboardInterrupt:
        sys.exit("stopped; called again it goes on")


def run_missing(
    raw: Path,
    repeats: Mapping[str, int],
    share: float,
    capacity: float | None,
    settings: Settings,
) -> None:
    """Makes every run that is not in the file, in order.

    Args:
        raw: The file of raw results.
        repeats: Of each shape.
        share: How long a run takes, as a share of the thesis's.
        capacity: Bytes/s; None: as the file says, or else it is measured first.
        settings: Of this machine.

    Raises:
        InputError: The file is of another share or capacity, or the machine cannot run one.
    """
    rows = read_lines(raw)
    first = next((row for row in rows if row["run"] == _PROBE), None)
    if first is None:
        first = {
            "run": _PROBE,
            "share": share,
            "capacity": capacity or _capacity(share, settings),
            "measured": capacity is None,
            "host": {k: v for k, v in fingerprint(settings.bench_dir).items() if k in _MACHINE},
            "ended": _now(),
        }
        append_line(raw, first)
    if first["share"] != share or capacity not in (None, first["capacity"]):
        problem = f"{raw} is of share {first['share']:g} and capacity {first['capacity']:g}"
        raise InputError("--share", f"{problem}: move it away, or ask for the same")
    wanted = steps(repeats)
    todo = missing(wanted, rows)
    for place, step in enumerate(todo, start=len(wanted) - len(todo) + 1):
        run = run_alone(
            asked(step, capacity=first["capacity"], share=share), settings, told=_waiting
        )
        row: dict[str, Any] = {
            "run": step.name,
            "shape": step.shape,
            "repeat": step.repeat,
            "policy": step.policy,
            "ended": _now(),
            **document(run),
        }
        append_line(raw, row)
        found = row["figures"]
        print(
            f"{place}/{len(wanted)} {step.name}: {found['insertion_rate'] / 1e6:.4g} MB/s in, "
            f"amplification {found['settled_write_amplification'] or 0:.3g}, "
            f"recovered after {found['recovery_seconds'] or float('nan'):.3g} s",
            flush=True,
        )


def _capacity(share: float, settings: Settings) -> float:
    found = figures(run_alone(probe(share), settings, told=_waiting))["insertion_rate"]
    if not found:
        raise InputError("--capacity", "could not be measured; give it in bytes/s")
    print(f"probe: flushes alone write {found / 1e6:.4g} MB/s", flush=True)
    return round(found)


def _waiting(told: str) -> None:
    if told.startswith("waiting"):
        print(told, flush=True)


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="seconds")


def _repeats(text: str) -> list[int]:
    found = [int(part) for part in text.split(",")]
    if not 1 <= len(found) <= len(FULL_SECONDS) or min(found) < 0:
        raise ValueError(text)
    return found


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(description="Compaction switched on a sine load.")
    parser.add_argument("--repeats", type=_repeats, default=[5, 3, 3],
                        help="of the shapes 350, 700 and 1000: 5,3,3")  # fmt: skip
    parser.add_argument("--share", type=float, default=0.1, help="of the thesis's seconds")
    parser.add_argument("--capacity", type=float, help="bytes/s; measured first if not given")
    parser.add_argument("--raw", type=Path, default=RAW, help="receives the runs")
    parser.add_argument("--page", action="store_true", help="measure nothing")
    return parser


if __name__ == "__main__":
    main()
