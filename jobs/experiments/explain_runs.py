"""Checks an explanation by real runs on this machine, interleaved; keeps them with the job."""

from __future__ import annotations

import time
from collections import Counter, defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from itertools import pairwise
from typing import Any

from sqlalchemy import Engine

from db.jobs.job_store import Store
from db.leases.lease import Lease, acquire, release, renew
from db.leases.process import this_process
from db.schema.job_row import JobRow
from db.trials.trial_log import StoredTrialLog
from jobs.execution.assembly import Assembly, assemble
from jobs.execution.run_environment import environment_of
from jobs.experiments.explain_design import Design, design_of, step_name
from jobs.queue.lifecycle import is_external
from jobs.report.report import report_html
from jobs.results.finished import finished_job, keep_report
from jobs.specification.specification import specification_from_document
from jobs.views.explained_job import explanation_of_job
from optimizer.confirmation.blocks import order_of
from optimizer.explanation.compared import (
    BASELINE,
    MINIMAL,
    WINNER,
    Round,
    compare_blocks,
    judge_minimal,
)
from sampler.common.errors import InputError
from sampler.machine.machine import host_name
from sampler.runner.outcome import TrialState
from sampler.runner.runner import LocalRunner
from sampler.runner.settings import Settings

_RUNS = "explanation_runs"
_RENEW_SECONDS = 10.0
_MEASURED_ON = ("host", "build")  # what all runs that are compared must have in common
Run = dict[str, Any]


@dataclass(frozen=True, kw_only=True)
class Watcher:
    """Who is told what, while it goes on."""

    begins: Callable[[Design, int], None] = lambda _design, _left: None
    ended: Callable[[Run], None] = lambda _run: None
    waiting: Callable[[str], None] = lambda _: None


def measure_explanation(
    engine: Engine,
    job: JobRow,
    settings: Settings,
    *,
    runs: int,
    steps: int,
    margin: float,
    watcher: Watcher,
) -> Mapping[str, Any] | None:
    """Measures what an explanation says, and keeps it in the job's result and report.

    The whole rounds that an interruption left of the same design are gone on with, on the same
    host with the same RocksDB; else all is measured anew.

    Args:
        engine: The database.
        job: A job that is done.
        settings: Where things are on this machine.
        runs: Of each configuration.
        steps: How many steps of the path.
        margin: The loss that the fewest changes may have, as a share of the winner's fitness.
        watcher: Told how it goes.

    Returns:
        The explanation with what was measured; None where there is nothing to explain.

    Raises:
        InputError: Another runner measures the job, a number is out of range, or this machine
            cannot measure it.
        LeaseHeld: Another process is busy with the job.
    """
    store = Store(engine)
    result = store.result(job.id)
    assert result is not None
    explanation = explanation_of_job(engine, job, result)
    if explanation is None or not explanation["steps"]:
        return None
    if is_external(job):
        raise InputError("--runs", "a runner of your own measures this job; leave it out")
    assembly = assemble(specification_from_document(job.specification), settings)
    design = design_of(
        assembly.problem, result, explanation, runs=runs, steps=steps, margin=margin
    )
    environment = environment_of(assembly, settings)
    on = {name: environment[name] for name in _MEASURED_ON}
    lease = acquire(engine, job.id, this_process())
    try:
        made = _Runs(engine, lease, design, on, watcher).measured(assembly, settings)
        measured = measured_document(assembly, design, made, explanation)
        whole = {**explanation, "measured": measured}
        store.save_result(job.id, {**result, "explanation": whole}, lease=lease)
        log = StoredTrialLog(engine, lease)
        keep_report(log, report_html(finished_job(engine, job.id)))
        return whole
    finally:
        release(engine, lease)


class _Runs:
    """The runs of a design, each kept as it ends."""

    def __init__(
        self,
        engine: Engine,
        lease: Lease,
        design: Design,
        on: Mapping[str, Any],
        watcher: Watcher,
    ) -> None:
        self._engine, self._lease, self._design, self._watcher = engine, lease, design, watcher
        self._log = StoredTrialLog(engine, lease)
        self._renewed = time.monotonic()
        self._what = {"design": design.document(), **on}
        kept = self._log.recall(_RUNS) or {}
        whole = len(design.subjects) * design.rounds
        same = all(name in kept and kept[name] == each for name, each in self._what.items())
        goes_on = same and len(kept["runs"]) < whole
        self._runs: list[Run] = _of_whole_rounds(kept["runs"], design) if goes_on else []

    def measured(self, assembly: Assembly, settings: Settings) -> Sequence[Run]:
        """Measures what is missing."""
        design = self._design
        there = {(run["round"], run["subject"]) for run in self._runs}
        missing = [
            (number, subject)
            for number in range(1, design.rounds + 1)
            for subject in _order(design, number)
            if (number, subject) not in there
        ]
        self._watcher.begins(design, len(missing))
        runner = LocalRunner(
            assembly.benchmark, settings, waiting=self._watcher.waiting, pause=self._pause
        )
        for number, subject in missing:
            run = self._run(runner, number, subject)
            self._runs.append(run)
            self._log.remember(_RUNS, {**self._what, "runs": self._runs})
            self._watcher.ended(run)
        return self._runs

    def _run(self, runner: LocalRunner, number: int, subject: str) -> Run:
        outcome = runner.run(self._design.configurations[subject], meanwhile=self._keep)
        started = datetime.now(UTC) - timedelta(seconds=outcome.bench_seconds)
        return {
            "round": number,
            "subject": subject,
            "started_at": started.isoformat(timespec="milliseconds"),
            "state": outcome.state.value,
            "failure": outcome.failure,
            "metrics": dict(outcome.metrics),
            "seconds": outcome.bench_seconds,
        }

    def _pause(self, seconds: float) -> None:
        time.sleep(seconds)
        self._keep()

    def _keep(self) -> None:
        if time.monotonic() - self._renewed >= _RENEW_SECONDS:
            renew(self._engine, self._lease)
            self._renewed = time.monotonic()


def _of_whole_rounds(runs: Sequence[Run], design: Design) -> list[Run]:
    """The runs of whole rounds: only runs next to each other can be compared.

    What an interruption left of a round is measured again with the rest of it.
    """
    there = Counter(run["round"] for run in runs)
    return [run for run in runs if there[run["round"]] == len(design.subjects)]


def _order(design: Design, number: int) -> list[str]:
    """Whose turn it is within a round, drawn as in the proof."""
    places = range(len(design.subjects))
    return [design.subjects[place] for place in order_of(places, number, seed=design.seed)]


def measured_document(
    assembly: Assembly, design: Design, runs: Sequence[Run], explanation: Mapping[str, Any]
) -> dict[str, Any]:
    """What the runs say of an explanation; the part ``measured`` of its document."""
    objective = assembly.problem.objective
    rounds = _rounds(design, runs)
    names = [step_name(place) for place in range(1, len(explanation["steps"]) + 1)]
    points = [BASELINE, *(name for name in names if name in design.roles)]
    steps = [
        compare_blocks(objective, rounds, before, after) for before, after in pairwise(points)
    ]
    winner = compare_blocks(objective, rounds, BASELINE, WINNER)
    minimal = None
    if MINIMAL in design.roles:
        failed = _failed_alone(design, runs)
        minimal = judge_minimal(objective, rounds, margin=design.margin, failed=failed)
    return {
        "host": host_name(),
        "rocksdb": assembly.installed.version if assembly.installed else None,
        "ended_at": datetime.now(UTC).isoformat(timespec="seconds"),
        "rounds": design.rounds,
        "runs": {
            "done": sum(run["state"] == TrialState.DONE for run in runs),
            "total": len(runs),
        },
        "margin": design.margin,
        "steps": [step and step.document() for step in steps],
        "winner": winner and winner.document(),
        "minimal": minimal and minimal.document(),
    }


def _failed_alone(design: Design, runs: Sequence[Run]) -> int:
    """Runs of the fewest changes that failed where the baseline and the winner ended well."""
    states = {(run["round"], run["subject"]): run["state"] for run in runs}
    others = [design.roles[role] for role in (BASELINE, WINNER)]
    return sum(
        run["subject"] == design.roles[MINIMAL]
        and run["state"] not in (TrialState.DONE, TrialState.LOST)
        and all(states.get((run["round"], each)) == TrialState.DONE for each in others)
        for run in runs
    )


def _rounds(design: Design, runs: Sequence[Run]) -> list[Round]:
    """The metrics of the runs that ended well, round by round, under each of their roles."""
    found: defaultdict[int, dict[str, Mapping[str, float]]] = defaultdict(dict)
    for run in runs:
        if run["state"] == TrialState.DONE:
            roles = [role for role, subject in design.roles.items() if subject == run["subject"]]
            found[run["round"]].update((role, run["metrics"]) for role in roles)
    return [found[number] for number in sorted(found)]
