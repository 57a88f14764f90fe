"""Counts what verdicts say falsely, and what they miss: `make prove-verdicts`.

Run with ``make prove-verdicts ARGS="--times 1500"``: some minutes, no RocksDB. It may be stopped
at any time; called again it goes on. ``--page`` counts nothing.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import Any

from sampler.common.errors import InputError
from studies.study import append_line, counts, make_command, read_lines
from studies.verdicts.page import page
from studies.verdicts.simulation import (
    CASES,
    METRICS,
    Pool,
    cost_count,
    is_kept_unchanged,
    limit_count,
    null_count,
    read_pools,
)

RAW = Path("docs/results/verdicts.jsonl")
COSTS = (0.2, 0.5)
_SEED = 49
Part = tuple[Mapping[str, Any], Callable[[], Any]]


def main(arguments: Sequence[str] | None = None) -> None:
    """Counts what is missing, and writes the page from all that is there."""
    given = _parser().parse_args(arguments)
    try:
        rows = read_lines(given.raw)
        there = [row["part"] for row in rows]
        parts = [] if given.page else parts_of(read_pools(), given.pairs, given.times)
        for part, counted in parts:
            if part not in there:
                row = {"part": part, "found": asdict(counted())}
                append_line(given.raw, row)
                rows.append(row)
                print(part, flush=True)
        if not rows:
            raise InputError(str(given.raw), "holds nothing yet: make prove-verdicts counts")
    except InputError as error:
        sys.exit(str(error))
    except KeyboardInterrupt:
        sys.exit("stopped; called again it goes on")
    out = given.raw.with_suffix(".md")
    out.write_text(page(rows, make_command("prove-verdicts", arguments)), encoding="utf-8")
    print(f"{out} tells of {len(rows)} counts")


def parts_of(pools: Mapping[str, Pool], sizes: Sequence[int], times: int) -> Iterator[Part]:
    """All that is counted: what it is, and how. Of costs a third as many verdicts."""
    for name, pool in pools.items():
        for pairs in sizes:
            null, size = (
                {"times": many, "pairs": pairs, "seed": _SEED} for many in (times, times // 3)
            )
            where: dict[str, Any] = {"pool": name, "pairs": pairs}
            yield {"what": "null", **where, "times": times}, partial(null_count, pool, **null)
            for case in (case for case in CASES if is_kept_unchanged(pool, case)):
                what = {"what": "limit", "limit": case.limit, "breaking": case.breaking}
                yield (
                    {**what, **where, "times": times},
                    partial(limit_count, pool, case, **null),
                )
            about = {**where, "times": times // 3}
            # ``memory`` is of the configuration, and without noise.
            for metric in (name for name in METRICS if name != "memory" and pairs == sizes[0]):
                for cost in COSTS:
                    what = {"what": "cost", "metric": metric, "cost": cost}
                    yield {**what, **about}, partial(cost_count, pool, metric, cost, **size)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(description="What verdicts say falsely, and what they miss.")
    parser.add_argument("--times", type=int, default=1500, help="verdicts of each kind")
    parser.add_argument("--pairs", type=counts, default=(7,), help="the first: costs, too")
    parser.add_argument("--raw", type=Path, default=RAW)
    parser.add_argument("--page", action="store_true", help="counts nothing")
    return parser


if __name__ == "__main__":
    main()
