"""The kinds of experiment: how each is checked and measured, in a terminal or as a job.

A request becomes a specification that holds every document, then an ``Experiment`` on the machine
that measures, then findings; ``jobs.experiments.told`` shows those. A job keeps each run as it
ends: a worker that was killed, stopped or cancelled goes on from what is measured.
"""

import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass, replace
from typing import Any

import structlog
from sqlalchemy import Engine

from db.schema.job_row import JobKind, JobRow, JobState
from db.workloads import WorkloadRow
from jobs.execution.held_job import HeldJob, JobCancelled, held_job, renewed_meanwhile
from jobs.execution.run_job import LoggedProgress, Queued, Run, ready_to_tune
from jobs.experiments import comparison, sides, tables, upgrade
from jobs.experiments.experiment import (
    RUNS,
    Experiment,
    KeptRuns,
    MeasuredRun,
    RunsObserver,
    jsonl_text,
    runs_of_job,
    whole_sets,
)
from jobs.experiments.explain import explanation_check, finished_job
from jobs.experiments.fidelity import fidelity_check
from jobs.experiments.told import FILES
from jobs.queue.lifecycle import is_external
from jobs.specification import experiments
from jobs.specification.experiments import ExperimentSpecification, stored_specification
from jobs.specification.named_files import require_trusted
from jobs.specification.request import StartFile
from jobs.specification.specification import Specification
from optimizer.budget.power import parse_detect
from sampler.bench.builds import JAVA
from sampler.bench.settings import Settings
from sampler.common.errors import InputError, noting, refuse_noted
from sampler.machine.machine import fingerprint
from sampler.profile.profile import profile_from_document
from sampler.workload.workload_file import workload_document, workload_from_document


def _nothing_known(given: object, *_: str) -> Any:
    raise InputError("workload", f"{given!r:.80} cannot be named here")


@dataclass(frozen=True)
class KnownNames:
    """What a request may name. Each raises an InputError of what there is not."""

    workload: Callable[[str], Mapping[str, Any]] = _nothing_known  # the document of a name
    # of a tuning job with these fields
    tuning: Callable[[Mapping[str, Any]], Specification] = _nothing_known
    side: Callable[[str, str], sides.Side] = _nothing_known  # of a text and the field with it
    require_build: Callable[[str], object] = lambda _: None
    uploaded: Callable[[str], WorkloadRow | None] = lambda _: None  # a workload that was sent
    engine: Engine | None = None  # of the jobs that may be named


def specified(asked: experiments.ExperimentRequest, known: KnownNames) -> ExperimentSpecification:
    """An experiment, checked as far as no RocksDB is needed; an InputError tells all findings."""
    return KINDS[JobKind(asked.kind)][0](asked, known)


def prepared(
    specification: ExperimentSpecification, engine: Engine | None, settings: Settings
) -> Experiment:
    """The experiment on this machine; an InputError if it cannot be measured here."""
    return KINDS[specification.kind][1](specification.asked, engine, settings)


def _compare(asked: experiments.CompareRequest, known: KnownNames) -> ExperimentSpecification:
    found: list[InputError] = []
    if (asked.b is None) == (asked.around is None):
        found.append(InputError("b", "give either `b`, or a parameter in `around`"))
    if asked.around is not None:
        with noting(found):
            sides.halved_parameter(asked.around)
        if asked.db_bench_b is not None:
            problem = "does not apply with `around`; use `db_bench_a`"
            found.append(InputError("db_bench_b", problem))
    both: list[sides.Side] = []
    for field, given in (("a", asked.a), ("b", asked.b)):
        with noting(found):
            if given is not None:
                both.append(_side(given, getattr(asked, f"db_bench_{field}"), known, field))
    loads, metrics = [], tuple(asked.metrics or ())
    named = [asked.workload] if isinstance(asked.workload, str) else asked.workload
    with noting(found):
        documents = [known.workload(name) for name in named]
        if not documents:
            raise InputError("workload", "is an empty list; leave it out, or name a workload")
        loads = [workload_from_document(each, stored=True) for each in documents]
        loads = comparison.require_workloads(loads, asked.scale)
        metrics = tables.require_metrics(metrics, loads)
    if not found:
        with noting(found):
            both = sides.of_files(both, asked.column_family, asked.drop_unknown)
    refuse_noted(found)
    against = f"around {asked.around}" if asked.b is None else f"against {both[1].asked}"
    return ExperimentSpecification(
        kind=JobKind.COMPARE,
        title=f"{both[0].asked} {against}",
        workload={"name": ", ".join(named)},
        asked={
            "sides": [asdict(side) for side in both],
            "workloads": [workload_document(each) for each in loads],
            "metrics": list(metrics),
            **asked.model_dump(include={"around", "rounds", "seed"}),
        },
    )


def _side(given: str | StartFile, build: str | None, known: KnownNames, field: str) -> sides.Side:
    if isinstance(given, StartFile):
        side = sides.side_of_options(given.name, given.options, field=field)
    else:
        side = known.side(given, field)
    build = build or side.build
    if build not in (None, JAVA):
        with _about(f"db_bench_{field}"):
            known.require_build(str(build))  # of a terminal's job it may be a path
    return replace(side, build=build)


def _upgrade(asked: experiments.UpgradeCheckRequest, known: KnownNames) -> ExperimentSpecification:
    found: list[InputError] = []
    for field in ("old", "new"):
        with noting(found), _about(field):
            known.require_build(getattr(asked, field))
    fields = {"workload", "space", "column_family", "drop_unknown", "scale", "seed"}
    given = asked.model_dump(include=fields, exclude_none=True)
    if asked.options is not None:
        given["baseline_options"] = asked.options
    specification = None
    with noting(found):
        specification = known.tuning(given)
        upgrade.require_sensible(specification, asked.pairs)
    refuse_noted(
        [InputError(e.field.replace("baseline_options", "options", 1), e.problem) for e in found]
    )
    assert specification is not None
    return ExperimentSpecification(
        kind=JobKind.UPGRADE_CHECK,
        title=f"{asked.new} against {asked.old}",
        workload={"name": specification.workload["name"]},
        asked={
            "specification": specification.document(),
            **asked.model_dump(include={"old", "new", "pairs", "configurations"}),
        },
    )


def _explain(asked: experiments.ExplainRequest, known: KnownNames) -> ExperimentSpecification:
    assert known.engine is not None
    margin, metric = parse_detect(str(asked.margin), field="margin")
    if metric is not None or margin > 1:
        raise InputError("margin", "is a share of the winner's fitness; write for example 10%")
    row = finished_job(known.engine, asked.job)
    if is_external(row):
        raise InputError("job", "an external runner measures this job; name another")
    require_trusted(known.engine, row.id)
    return ExperimentSpecification(
        kind=JobKind.EXPLAIN,
        title=f"why the winner of job {row.id} is better",
        workload={"name": row.specification["workload"]["name"]},
        asked=asked.model_dump(include={"job", "runs", "steps"}) | {"margin": margin},
    )


def _profile(asked: experiments.ProfileCheckRequest, known: KnownNames) -> ExperimentSpecification:
    known.workload(asked.workload)
    row = known.uploaded(asked.workload)
    if row is None or row.profile is None:
        problem = f"{asked.workload!r} has no profile; upload it with one first"
        raise InputError("workload", problem)
    if asked.db_bench is not None:
        known.require_build(asked.db_bench)
    family = row.profile.get("column_family")
    if family and family not in [each["name"] for each in row.profile["families"]]:
        raise InputError("workload", f"its profile has no column family {family!r:.80}")
    return ExperimentSpecification(
        kind=JobKind.PROFILE_CHECK,
        title="the workload compared with its database",
        workload={"name": asked.workload},
        asked={
            "workload": row.document,
            "profile": row.profile,
            "options": row.baseline_options,
            "db_bench": asked.db_bench,
        },
    )


def _checked_profile(asked: Mapping[str, Any], _: Engine | None, settings: Settings) -> Experiment:
    profile = profile_from_document(asked["profile"])
    return fidelity_check(
        profile,
        profile.family(asked["profile"].get("column_family") or profile.busiest()),
        workload_from_document(asked["workload"], stored=True),
        settings,
        options=asked["options"],
        db_bench=asked["db_bench"],
    )


@contextmanager
def _about(field: str) -> Iterator[None]:
    """What is wrong within is wrong with this field."""
    try:
        yield
    except InputError as error:
        raise InputError(field, error.problem) from None


Specified = Callable[[Any, KnownNames], ExperimentSpecification]
Prepared = Callable[[Mapping[str, Any], Engine | None, Settings], Experiment]
KINDS: Mapping[JobKind, tuple[Specified, Prepared]] = {
    JobKind.COMPARE: (_compare, comparison.comparison),
    JobKind.UPGRADE_CHECK: (_upgrade, upgrade.upgrade_check),
    JobKind.EXPLAIN: (_explain, explanation_check),
    JobKind.PROFILE_CHECK: (_profile, _checked_profile),
}
"""Of each kind what checks its request, and what makes the experiment of what it asked."""


_log = structlog.get_logger("experiment")


def made_ready(queued: Queued, row: JobRow, check: Callable[[], None]) -> Run:
    """A job of the queue, of whatever kind; an InputError of an experiment on a cluster."""
    if row.kind is JobKind.TUNE:
        return ready_to_tune(queued, row, check)
    if queued.backend is not None:
        problem = f"a job of kind {row.kind} runs on the worker's own machine, not on a cluster"
        raise InputError("kind", f"{problem}; submit it to a service without a cluster")
    specification = stored_specification(row.specification)
    assert isinstance(specification, ExperimentSpecification)
    events = queued.events()
    return lambda: run_experiment(queued.engine, row.id, specification, queued.settings, **events)


def run_experiment(
    engine: Engine,
    job_id: int,
    specification: ExperimentSpecification,
    settings: Settings,
    *,
    waiting: Callable[[str], None],
    expected: tuple[JobState, ...],
    **events: Any,
) -> None:
    """Runs what is left of a stored experiment here; arguments and errors as of ``run_job``."""
    with held_job(engine, job_id, progress=LoggedProgress(), **events) as held:
        held.begin(fingerprint(settings.bench_dir), expected)
        with renewed_meanwhile(engine, held.lease):
            experiment = prepared(specification, engine, settings)
            kept = runs_of_job(held.log, experiment.identity)
            told = _Progress(held, kept)
            observer = RunsObserver(
                begins=told.begins,
                waiting=held.waiting(waiting),
                starts=told.starts,
                ended=told.ended,
                meanwhile=held.heartbeat.tick,
                pause=held.pause,
                away=events["away"],
            )
            found = experiment.measure(settings, kept, observer)
        files = found.files
        if kept.runs:
            lines = [experiment.identity, *(asdict(run) for run in kept.runs)]
            files[RUNS] = jsonl_text(lines)
        held.log.remember(FILES, {"cautions": list(experiment.cautions), "files": files})
        if not held.retry(lambda: _end(held, found.document)):
            raise JobCancelled(job_id)


def _end(held: HeldJob, document: Mapping[str, Any]) -> bool:
    """Keeps the result and ends the job; False if it was cancelled at the last moment."""
    job_id, lease = held.lease.job_id, held.lease
    held.store.save_result(job_id, document, lease=lease)
    why, states = "all runs done", [JobState.RUNNING, JobState.DONE]  # done: the answer was lost
    return held.store.set_state(job_id, JobState.DONE, why=why, expected=states, lease=lease)


class _Progress:
    """Keeps how the job stands, as a list of jobs shows it."""

    def __init__(self, held: HeldJob, kept: KeptRuns) -> None:
        self._held, self._kept = held, kept
        self._total = self._done = self._failed = self._here = 0
        self._seconds, self._began = 0.0, time.monotonic()

    def begins(self, measured: Experiment, left: int) -> None:
        sets = whole_sets(self._kept.runs, measured.sides).values()
        there = [run for runs in sets for run in runs.values()]
        self._total, before = measured.total, measured.total - left
        self._failed = sum(not run.done for run in there)
        self._done = before - self._failed
        self._seconds = sum(run.seconds for run in there)
        self._stand(f"{before} of {self._total} runs are done from before" if before else "begins")

    def starts(self, case: str, side: str, round_: int) -> None:
        what = f"{case}, {side}" if case else side
        self._stand(f"round {round_}: measuring {what}")

    def ended(self, run: MeasuredRun) -> None:
        self._done += run.done
        self._failed += not run.done
        self._seconds += run.seconds
        self._here += 1
        self._stand(f"round {run.round}: measured {run.case or run.side}")
        _log.info("run ended", round=run.round, case=run.case, side=run.side, state=run.state,
                  seconds=round(run.seconds, 3), failure=run.failure)  # fmt: skip

    def _stand(self, why: str) -> None:
        left = max(0, self._total - self._done - self._failed)
        each = (time.monotonic() - self._began) / self._here if self._here else None
        standing = {
            "done": self._done, "failed": self._failed, "total": self._total, "best": None,
            "seconds_left": each and each * left, "bench_seconds": self._seconds,
            "counts": {"done": self._done, "failed": self._failed}, "between_seconds": None,
        }  # fmt: skip
        self._held.retry(lambda: self._held.stored.stand(standing, why))
