"""Whose turn it is: rounds of all sides next to each other, whose order is drawn.

Machines drift: what is compared with each other is measured one after the other, who goes first
is drawn in one round and turned round in the next, and the cases of a round (workloads,
configurations) come in random order.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

import numpy as np

from jobs.experiments.in_turn.runs_file import Run, RunsFile, Side
from optimizer.confirmation.blocks import order_of
from sampler.bench.db_bench import DbBench
from sampler.runner.runner import LocalRunner
from sampler.runner.settings import Settings
from sampler.space.space import Configuration

Sets = Mapping[tuple[int, str], Mapping[Side, Run]]


@dataclass(frozen=True, kw_only=True)
class Turns:
    """What is measured.

    Attributes:
        cases: Each is measured on all sides before the next one.
        sides: Which are compared with each other.
        bench: The benchmark and the configuration of a case on a side.
        rounds: How often each case is measured.
        seed: Decides the order, the same when it is gone on with.
    """

    cases: Sequence[str]
    sides: Sequence[Side]
    bench: Callable[[str, Side], tuple[DbBench, Configuration]]
    rounds: int
    seed: int


@dataclass(frozen=True, kw_only=True)
class Watcher:
    """Who is told what, while it goes on.

    Attributes:
        begins: How many runs are left, of how many.
        waiting: Who holds the host.
        ended: A run that did.
    """

    begins: Callable[[int, int], None] = lambda _left, _of: None
    waiting: Callable[[str], None] = lambda _: None
    ended: Callable[[Run], None] = lambda _: None


def order_of_runs(
    cases: Sequence[str], sides: Sequence[Side], *, rounds: int, seed: int
) -> Iterator[tuple[int, str, list[Side]]]:
    """Round, case, and the sides in their turn; every second round takes them backwards."""
    for number in range(1, rounds + 1):
        rng = np.random.default_rng([seed, number])
        for place in rng.permutation(len(cases)):
            # Of the places, for sides need no order of their own.
            turns = order_of(range(len(sides)), number, seed=f"{seed}/{cases[place]}")
            yield number, cases[place], [sides[turn] for turn in turns]


def whole_sets(runs: Sequence[Run], sides: Sequence[Side]) -> Sets:
    """The runs of all sides by round and case.

    Only runs next to each other are a set: what an interruption left of one is measured again
    with the rest, and does not count.
    """
    sets: dict[tuple[int, str], Mapping[Side, Run]] = {}
    begun: list[Run] = []
    for run in runs:
        same = all((run.round, run.case) == (each.round, each.case) for each in begun)
        if not same or run.side in {each.side for each in begun}:
            begun = []
        begun.append(run)
        if len(begun) == len(sides):
            sets[run.round, run.case] = {each.side: each for each in begun}
            begun = []
    return sets


def measure_turns(turns: Turns, settings: Settings, kept: RunsFile, watcher: Watcher) -> None:
    """Measures what is missing; each run holds the host-wide lock.

    Args:
        turns: What.
        settings: Where.
        kept: Has the runs so far, and receives each run as it ends.
        watcher: Told how it goes.

    Raises:
        InputError: The machine cannot run it.
    """
    there = whole_sets(kept.runs, turns.sides)
    order = [*order_of_runs(turns.cases, turns.sides, rounds=turns.rounds, seed=turns.seed)]
    missing = [turn for turn in order if turn[:2] not in there]
    watcher.begins(len(missing) * len(turns.sides), len(order) * len(turns.sides))
    for number, case, sides in missing:
        for side in sides:
            bench, configuration = turns.bench(case, side)
            outcome = LocalRunner(bench, settings, waiting=watcher.waiting).run(configuration)
            # It may have waited for the host before.
            started = datetime.now(UTC) - timedelta(seconds=outcome.bench_seconds)
            run = Run(
                round=number,
                case=case,
                side=side,
                started_at=started.isoformat(timespec="milliseconds"),
                state=outcome.state.value,
                failure=outcome.failure,
                metrics=dict(outcome.metrics),
                seconds=outcome.bench_seconds,
            )
            kept.append(run)
            watcher.ended(run)
