"""Measures every case on both builds, in pairs next to each other.

Machines drift: so the two runs of a pair follow each other, which goes first is drawn for each
pair, and the cases of a round come in random order.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

import numpy as np

from jobs.upgrade.cases import Case
from jobs.upgrade.runs_file import Run, RunsFile, Side
from sampler.runner import LocalRunner
from sampler.settings import Settings

RunPair = tuple[Run, Run]


@dataclass(frozen=True, kw_only=True)
class Watcher:
    """Who is told what, while it goes on."""

    waiting: Callable[[str], None] = lambda _: None
    ended: Callable[[Run], None] = lambda _: None


def measure_pairs(
    cases: Sequence[Case],
    settings: Settings,
    kept: RunsFile,
    *,
    pairs: int,
    seed: int,
    watcher: Watcher,
) -> None:
    """Measures what is missing; each run holds the host-wide lock.

    Args:
        cases: What.
        settings: Where.
        kept: Has the runs so far, and receives each run as it ends.
        pairs: Of each case.
        seed: Decides the order, the same when it is gone on with.
        watcher: Told how it goes.

    Raises:
        InputError: The machine cannot run it.
    """
    by_name = {case.name: case for case in cases}
    there = whole_pairs(kept.runs)
    for number, name, sides in order_of_runs([*by_name], pairs=pairs, seed=seed):
        if (number, name) in there:
            continue
        for side in sides:
            run = _run(by_name[name], number, side, settings, watcher)
            kept.append(run)
            watcher.ended(run)


def order_of_runs(
    names: Sequence[str], *, pairs: int, seed: int
) -> Iterator[tuple[int, str, tuple[Side, Side]]]:
    """Round, case, and which build goes first."""
    for number in range(1, pairs + 1):
        rng = np.random.default_rng([seed, number])
        for index in rng.permutation(len(names)):
            yield number, names[index], ("old", "new") if rng.random() < 0.5 else ("new", "old")


def whole_pairs(runs: Sequence[Run]) -> Mapping[tuple[int, str], RunPair]:
    """The pairs (old, new) by round and case.

    Only runs next to each other are a pair: the half that an interruption left is measured again
    with its partner, and does not count.
    """
    pairs: dict[tuple[int, str], RunPair] = {}
    half: Run | None = None
    for run in runs:
        if half and (half.round, half.case) == (run.round, run.case) and half.side != run.side:
            pair = (half, run) if half.side == "old" else (run, half)
            pairs[run.round, run.case] = pair
            half = None
        else:
            half = run
    return pairs


def _run(case: Case, number: int, side: Side, settings: Settings, watcher: Watcher) -> Run:
    benchmark = case.old if side == "old" else case.new
    outcome = LocalRunner(benchmark, settings, waiting=watcher.waiting).run(case.configuration)
    # It may have waited for the host before.
    started = datetime.now(UTC) - timedelta(seconds=outcome.bench_seconds)
    return Run(
        round=number,
        case=case.name,
        side=side,
        started_at=started.isoformat(timespec="milliseconds"),
        state=outcome.state.value,
        failure=outcome.failure,
        metrics=dict(outcome.metrics),
        seconds=outcome.bench_seconds,
    )
