"""Whose turn it is: rounds of all subjects next to each other, in an order drawn anew each time.

Machines drift: what is compared with each other is measured one after the other, who goes first
is drawn, and the workloads of a round come in random order.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

import numpy as np

from jobs.comparison.subject import Subject
from jobs.upgrade.runs_file import Run, RunsFile
from sampler.runner import LocalRunner
from sampler.settings import Settings

Sets = Mapping[tuple[int, str], Mapping[str, Run]]


@dataclass(frozen=True, kw_only=True)
class Watcher:
    """Who is told what, while it goes on."""

    begins: Callable[[int, int], None] = lambda _left, _of: None
    waiting: Callable[[str], None] = lambda _: None
    ended: Callable[[Run], None] = lambda _: None


def order_of_runs(
    workloads: Sequence[str], subjects: Sequence[str], *, rounds: int, seed: int
) -> Iterator[tuple[int, str, list[str]]]:
    """Round, workload, and the subjects in their turn."""
    for number in range(1, rounds + 1):
        rng = np.random.default_rng([seed, number])
        for place in rng.permutation(len(workloads)):
            yield number, workloads[place], [subjects[i] for i in rng.permutation(len(subjects))]


def whole_sets(runs: Sequence[Run], subjects: Sequence[str]) -> Sets:
    """The runs of all subjects by round and workload.

    Only runs next to each other are a set: what an interruption left of one is measured again
    with the rest, and does not count.
    """
    sets: dict[tuple[int, str], Mapping[str, Run]] = {}
    begun: list[Run] = []
    for run in runs:
        same = all((run.round, run.case) == (each.round, each.case) for each in begun)
        if not same or run.side in {each.side for each in begun}:
            begun = []
        begun.append(run)
        if len(begun) == len(subjects):
            sets[run.round, run.case] = {each.side: each for each in begun}
            begun = []
    return sets


def measure_turns(
    subjects: Sequence[Subject],
    settings: Settings,
    kept: RunsFile,
    *,
    rounds: int,
    seed: int,
    watcher: Watcher,
) -> None:
    """Measures what is missing; each run holds the host-wide lock.

    Args:
        subjects: What.
        settings: Where.
        kept: Has the runs so far, and receives each run as it ends.
        rounds: Of each workload.
        seed: Decides the order, the same when it is gone on with.
        watcher: Told how it goes.

    Raises:
        InputError: The machine cannot run it.
    """
    by_name = {subject.name: subject for subject in subjects}
    there = whole_sets(kept.runs, [*by_name])
    turns = [*order_of_runs([*subjects[0].benches], [*by_name], rounds=rounds, seed=seed)]
    missing = [turn for turn in turns if turn[:2] not in there]
    watcher.begins(len(missing) * len(by_name), len(turns) * len(by_name))
    for number, workload, names in missing:
        for name in names:
            run = _run(by_name[name], number, workload, settings, watcher)
            kept.append(run)
            watcher.ended(run)


def _run(
    subject: Subject, number: int, workload: str, settings: Settings, watcher: Watcher
) -> Run:
    runner = LocalRunner(subject.benches[workload], settings, waiting=watcher.waiting)
    outcome = runner.run(subject.side.values)
    # It may have waited for the host before.
    started = datetime.now(UTC) - timedelta(seconds=outcome.bench_seconds)
    return Run(
        round=number,
        case=workload,
        side=subject.name,
        started_at=started.isoformat(timespec="milliseconds"),
        state=outcome.state.value,
        failure=outcome.failure,
        metrics=dict(outcome.metrics),
        seconds=outcome.bench_seconds,
    )
