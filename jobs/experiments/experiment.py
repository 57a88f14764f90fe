"""Experiments: what is measured by real runs, interleaved, and the findings that are made of them.

Sides are measured next to each other in a drawn order, each run kept as it ends. Machines drift:
what is compared with each other is measured one after the other, who goes first is drawn in one
round and turned round in the next, and the cases of a round (workloads, configurations) come in
random order. A terminal keeps the runs in a folder, a job in the database; all else is the same.
"""

from __future__ import annotations

import fcntl
import json
import os
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime, timedelta
from itertools import count
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np

from db.schema.types import storable
from jobs.results.output_folder import RESULT, json_text, require_folder, write_files
from jobs.results.pages import whole_page
from optimizer.confirmation.choice import order_of
from optimizer.run.ports import TrialLog
from sampler.bench.outcome import Outcome, TrialState
from sampler.bench.runner import Benchmark, LocalRunner
from sampler.bench.settings import Settings
from sampler.common.atomic_write import private
from sampler.common.errors import InputError
from sampler.space.space import Configuration

Side = str  # "old" or "new"; in a comparison the name of a subject
RUNS = "runs.jsonl"


@dataclass(frozen=True, kw_only=True)
class MeasuredRun:
    """One run of one case on one build."""

    round: int  # from 1; each round measures every case once on each build
    case: str
    side: Side
    started_at: str
    state: str  # how it ended, `done` if well
    failure: str | None  # why it did not
    metrics: Mapping[str, float]
    seconds: float  # how long db_bench lived

    @property
    def done(self) -> bool:
        """Whether it ended well."""
        return self.state == TrialState.DONE.value


@dataclass(frozen=True)
class KeptRuns:
    """The runs so far, in the order in which they were measured; by default none is stored."""

    runs: list[MeasuredRun] = field(default_factory=list)
    # stores a run, so that a crash after it loses nothing
    keep: Callable[[MeasuredRun], None] = lambda _: None


@contextmanager
def runs_file(folder: Path, check: Mapping[str, Any], *, resume: bool) -> Iterator[KeptRuns]:
    """Opens the runs of a check in a folder; one process at a time holds them.

    ``check`` is what is compared with what: a file of another check is refused.

    Raises:
        InputError: There are runs and ``resume`` is not given, they are another check's, or
            another process is at it.
    """
    path = folder / RUNS
    with open(path, "a+b", opener=private) as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            raise InputError("out", f"{str(folder)!r} is in use; name another") from None
        lines = _whole_lines(file)
        check = json.loads(json.dumps(check))
        if lines:
            _require_same(lines[0], check, folder, resume=resume)
        else:
            _write(file, check)
        runs = [MeasuredRun(**line) for line in lines[1:]]
        yield KeptRuns(runs, lambda run: _write(file, asdict(run)))


def runs_of_job(log: TrialLog, check: Mapping[str, Any], name: str = "round-{}") -> KeptRuns:
    """The runs that are kept with a job, a document for each round by this ``name``.

    ``check`` is what is compared with what: the runs of another, as on another host or with
    another RocksDB, are left out.
    """
    known, runs = storable(check), list[MeasuredRun]()
    for number in count(1):
        kept = log.recall(name.format(number))
        if kept is None or kept["experiment"] != known:
            break
        runs += [MeasuredRun(**each) for each in kept["runs"]]

    def keep(run: MeasuredRun) -> None:
        same = [asdict(each) for each in (*runs, run) if each.round == run.round]
        log.remember(name.format(run.round), {"experiment": known, "runs": same})

    return KeptRuns(runs, keep)


def _whole_lines(file: BinaryIO) -> list[dict[str, Any]]:
    """The lines; one that a crash cut off goes."""
    file.seek(0)
    content = file.read()
    whole = content[: content.rfind(b"\n") + 1]
    if len(whole) < len(content):
        file.truncate(len(whole))
    file.seek(0, os.SEEK_END)
    try:
        return [json.loads(line) for line in whole.splitlines()]
    except ValueError:
        raise InputError("out", f"its {RUNS} does not hold JSON lines; move it away") from None


def _require_same(
    found: Mapping[str, Any], check: Mapping[str, Any], folder: Path, *, resume: bool
) -> None:
    if not resume:
        problem = f"{str(folder)!r} already holds runs"
        raise InputError("out", f"{problem}; continue with `resume`, or name another folder")
    other = [name for name in {**check, **found} if found.get(name) != check.get(name)]
    if other:
        problem = f"{str(folder)!r} holds other runs (different: {', '.join(other)})"
        raise InputError("resume", f"{problem}; name another folder")


def jsonl_text(documents: Iterable[Mapping[str, Any]]) -> str:
    """Documents as the lines of ``RUNS``: what is measured, then its runs."""
    return "".join(json.dumps(each, allow_nan=False) + "\n" for each in documents)


def _write(file: BinaryIO, document: Mapping[str, Any]) -> None:
    file.write(jsonl_text([document]).encode())
    file.flush()
    os.fsync(file.fileno())


Sets = Mapping[tuple[int, str], Mapping[Side, MeasuredRun]]


def order_of_runs(
    cases: Sequence[str], sides: Sequence[Side], *, rounds: int, seed: int
) -> Iterator[tuple[int, str, list[Side]]]:
    """Round, case, and the sides in their turn; every second round takes them backwards."""
    for number in range(1, rounds + 1):
        rng = np.random.default_rng([seed, number])
        for place in rng.permutation(len(cases)):
            case = cases[place]
            # Of the places, for sides need no order of their own.
            turns = order_of(range(len(sides)), number, seed=f"{seed}/{case}" if case else seed)
            yield number, case, [sides[turn] for turn in turns]


def whole_sets(runs: Sequence[MeasuredRun], sides: Sequence[Side]) -> Sets:
    """The runs of all sides by round and case.

    Only runs next to each other are a set: what an interruption left of one is measured again
    with the rest, and does not count.
    """
    sets: dict[tuple[int, str], Mapping[Side, MeasuredRun]] = {}
    begun: list[MeasuredRun] = []
    for run in runs:
        same = all((run.round, run.case) == (each.round, each.case) for each in begun)
        if not same or run.side in {each.side for each in begun}:
            begun = []
        begun.append(run)
        if len(begun) == len(sides):
            sets[run.round, run.case] = {each.side: each for each in begun}
            begun = []
    return sets


@dataclass(frozen=True, kw_only=True)
class RunsObserver:
    """Who is told what, while it goes on."""

    # what is measured, and how many runs of it are left
    begins: Callable[[Experiment, int], None] = lambda _runs, _left: None
    waiting: Callable[[str], None] = lambda _: None  # who holds the host
    starts: Callable[[str, Side, int], None] = lambda _case, _side, _round: None
    ended: Callable[[MeasuredRun], None] = lambda _: None  # a run that did
    # called about every second of a run; what it raises ends the run
    meanwhile: Callable[[], None] = lambda: None
    pause: Callable[[float], None] = time.sleep  # between looks at the host's lock
    away: Callable[[str], None] = lambda _: None  # the database is, or is back

    def run(self, bench: Benchmark, configuration: Configuration, settings: Settings) -> Outcome:
        """Measures once; an InputError if the machine cannot."""
        runner = LocalRunner(bench, settings, waiting=self.waiting, pause=self.pause)
        return runner.run(configuration, meanwhile=self.meanwhile)


@dataclass(frozen=True, kw_only=True)
class Findings:
    """What came of an experiment."""

    document: Mapping[str, Any]  # as JSON
    name: str = RESULT  # of the file that holds it
    more: Mapping[str, str] = field(default_factory=dict)  # other files by name

    @property
    def files(self) -> dict[str, str]:
        """All its files by name; pages without their library."""
        return {self.name: json_text(self.document), **self.more}


@dataclass(frozen=True, kw_only=True)
class Experiment:
    """Cases measured on sides in interleaved rounds on this machine, and the conclusion."""

    # What its runs are runs of: all that must be the same to go on with them.
    identity: Mapping[str, Any]
    # each is measured on all sides before the next one; one without a name is alone
    cases: Sequence[str]
    sides: Sequence[Side]  # which are compared with each other
    # the benchmark and the configuration of a case on a side
    bench: Callable[[str, Side], tuple[Benchmark, Configuration]]
    rounds: int  # how often each case is measured; 0: nothing is measured
    seed: int  # decides the order, the same when it is gone on with
    conclude: Callable[[Sets], Findings]  # from the runs that count
    # whether the runs so far are enough, though rounds are left
    enough: Callable[[Sequence[MeasuredRun]], bool] = lambda _: False
    # the field of the InputError with which a run that fails ends it; that run is made again when
    # it is gone on with. None: a failure is a finding.
    failure_field: str | None = None
    cautions: Sequence[str] = ()  # to be known before figures are read
    subjects: Sequence[str] = ()  # what is measured, a line each

    @property
    def total(self) -> int:
        """The number of runs, at most."""
        return self.rounds * len(self.cases) * len(self.sides)

    def measure(self, settings: Settings, kept: KeptRuns, observer: RunsObserver) -> Findings:
        """Measures what is missing of the runs kept, and concludes.

        Each run holds the host-wide lock, and is kept as it ends.

        Raises:
            InputError: The machine cannot run it.
        """
        if self.failure_field is not None:
            kept.runs[:] = [run for run in kept.runs if run.done]
        there = whole_sets(kept.runs, self.sides)
        order = order_of_runs(self.cases, self.sides, rounds=self.rounds, seed=self.seed)
        missing = [turn for turn in order if turn[:2] not in there]
        if self.rounds:
            observer.begins(self, len(missing) * len(self.sides))
        for number, case, sides in missing:
            if self.enough(kept.runs):
                break
            for side in sides:
                run = self._run(number, case, side, settings, observer)
                kept.keep(run)
                kept.runs.append(run)
                observer.ended(run)
                if self.failure_field is not None and not run.done:
                    raise InputError(self.failure_field, f"the load failed: {run.failure}")
        return self.conclude(whole_sets(kept.runs, self.sides))

    def _run(
        self, number: int, case: str, side: Side, settings: Settings, observer: RunsObserver
    ) -> MeasuredRun:
        bench, configuration = self.bench(case, side)
        observer.starts(case, side, number)
        outcome = observer.run(bench, configuration, settings)
        # It may have waited for the host before.
        started = datetime.now(UTC) - timedelta(seconds=outcome.bench_seconds)
        return MeasuredRun(
            round=number,
            case=case,
            side=side,
            started_at=started.isoformat(timespec="milliseconds"),
            state=outcome.state.value,
            failure=outcome.failure,
            metrics=dict(outcome.metrics),
            seconds=outcome.bench_seconds,
        )


def measure_in_folder(
    experiment: Experiment, settings: Settings, out: Path, *, resume: bool, observer: RunsObserver
) -> Findings:
    """Measures what is missing; ``out`` receives every run as it ends, and the files.

    Raises:
        InputError: The folder holds runs and ``resume`` is not given, or those of another
            experiment; or this machine cannot measure it.
    """
    require_folder(out)
    with (
        runs_file(out, experiment.identity, resume=resume)
        if experiment.rounds
        else nullcontext(KeptRuns())
    ) as kept:
        found = experiment.measure(settings, kept, observer)
    # A page leaves with what draws its plots.
    files = found.files.items()
    write_files(out, {n: whole_page(text) if n.endswith(".html") else text for n, text in files})
    return found
