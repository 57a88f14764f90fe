"""The kinds of experiment: how each is checked, measured and told. One place for all of them.

A request becomes a specification that holds every document, then an ``Experiment`` on the machine
that measures, then findings; ``jobs.experiments.told`` shows those.
"""

from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass, replace
from functools import partial
from typing import Any

from sqlalchemy import Engine

from db.jobs.job_store import JobStore
from db.schema.job_row import JobKind, JobState
from db.workloads import WorkloadRow
from jobs.experiments import comparison, sides, tables, upgrade
from jobs.experiments.experiment import Experiment, Findings, KeptRuns, RunsObserver
from jobs.experiments.explain import measure_explanation
from jobs.experiments.fidelity import fidelity_check
from jobs.queue.lifecycle import is_external
from jobs.specification import experiments
from jobs.specification.experiments import ExperimentSpecification
from jobs.specification.named_files import require_trusted
from jobs.specification.request import StartFile
from jobs.specification.specification import (
    Specification,
    require_tunes,
    specification_from_document,
)
from optimizer.budget.sample_size import parse_detect
from sampler.bench.builds import JAVA
from sampler.common.errors import InputError, noting, refuse_noted
from sampler.profile.profile import profile_from_document
from sampler.runner.settings import Settings
from sampler.workload.workload_file import workload_document, workload_from_document


@dataclass(frozen=True)
class Known:
    """What a request may name. Each raises an InputError of what there is not."""

    engine: Engine
    workload: Callable[[str], Mapping[str, Any]]  # the document of a name
    uploaded: Callable[[str], WorkloadRow | None]  # the same of one that was sent
    builds: Collection[str]  # the names of all builds, as far as hosts have told them
    require_build: Callable[[str], object]
    tuning: Callable[[Mapping[str, Any]], Specification]  # of a tuning job with these fields


def specified(asked: experiments.ExperimentRequest, known: Known) -> ExperimentSpecification:
    """An experiment, checked as far as no RocksDB is needed; an InputError tells all findings."""
    return KINDS[JobKind(asked.kind)][0](asked, known)


def prepared(
    specification: ExperimentSpecification, engine: Engine, settings: Settings
) -> Experiment:
    """The experiment on this machine; an InputError if it cannot be measured here."""
    return KINDS[specification.kind][1](specification.asked, engine, settings)


def _compare(asked: experiments.CompareRequest, known: Known) -> ExperimentSpecification:
    found: list[InputError] = []
    if (asked.b is None) == (asked.around is None):
        found.append(InputError("b", "give either b, or a parameter in around"))
    if asked.around is not None:
        with noting(found):
            sides.halved_parameter(asked.around)
        if asked.db_bench_b is not None:
            found.append(InputError("db_bench_b", "does not apply with around; use db_bench_a"))
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


def _side(given: str | StartFile, build: str | None, known: Known, field: str) -> sides.Side:
    if isinstance(given, StartFile):
        side = sides.side_of_options(given.name, given.options, field=field)
    else:
        of_job = partial(sides.side_of_job, known.engine)
        side = sides.side_named(given, known.builds, of_job, field=field, files=False)
    build = build or side.build
    if build not in (None, JAVA):
        with _about(f"db_bench_{field}"):
            known.require_build(str(build))  # of a terminal's job it may be a path
    return replace(side, build=build)


def _comparison(asked: Mapping[str, Any], _: Engine, settings: Settings) -> Experiment:
    loads = [workload_from_document(each, stored=True) for each in asked["workloads"]]
    both = [sides.side_from_document(each) for each in asked["sides"]]
    request = comparison.ComparisonRequest(
        subjects=comparison.subjects_of(both, asked["around"], loads, settings),
        workloads=loads,
        **{name: asked[name] for name in ("metrics", "around", "rounds", "seed")},
    )
    return comparison.comparison(request, settings)


def _upgrade(asked: experiments.UpgradeCheckRequest, known: Known) -> ExperimentSpecification:
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


def _checked_upgrade(asked: Mapping[str, Any], _: Engine, settings: Settings) -> Experiment:
    specification = specification_from_document(asked["specification"])
    builds = upgrade.find_builds(asked["old"], asked["new"], settings)
    differences = upgrade.build_differences(builds, specification)
    numbers = {"pairs": asked["pairs"], "draws": asked["configurations"]}
    return upgrade.upgrade_check(specification, builds, differences, settings, **numbers)


def _explain(asked: experiments.ExplainRequest, known: Known) -> ExperimentSpecification:
    margin, metric = parse_detect(str(asked.margin), field="margin")
    if metric is not None or margin > 1:
        raise InputError("margin", "is a share of the winner's fitness; write for example 10%")
    try:
        row = JobStore(known.engine).job(asked.job)
    except KeyError:
        raise InputError("job", f"there is no job {asked.job}") from None
    require_tunes(row, "job")
    if row.state is not JobState.DONE:
        raise InputError("job", f"job {row.id} is {row.state.value}; it has no result yet")
    if is_external(row):
        raise InputError("job", "an external runner measures this job; name another")
    require_trusted(known.engine, row.id)
    return ExperimentSpecification(
        kind=JobKind.EXPLAIN,
        title=f"why the winner of job {row.id} is better",
        workload={"name": row.specification["workload"]["name"]},
        asked=asked.model_dump(include={"job", "runs", "steps"}) | {"margin": margin},
    )


def _explained(asked: Mapping[str, Any], engine: Engine, settings: Settings) -> Experiment:
    def measure(_: KeptRuns, observer: RunsObserver) -> Findings:
        try:
            job = JobStore(engine).job(asked["job"])
        except KeyError:
            raise InputError("job", f"job {asked['job']} no longer exists") from None
        numbers = {name: asked[name] for name in ("runs", "steps", "margin")}
        found = measure_explanation(engine, job, settings, observer=observer, **numbers)
        if found is None:
            raise InputError("job", f"job {job.id} has nothing to explain")
        return Findings(document={"job": job.id, **found})

    return Experiment(identity={}, runs=0, measure=measure)  # they are kept with the other job


def _profile(asked: experiments.ProfileCheckRequest, known: Known) -> ExperimentSpecification:
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


def _checked_profile(asked: Mapping[str, Any], _: Engine, settings: Settings) -> Experiment:
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


Specified = Callable[[Any, Known], ExperimentSpecification]
Prepared = Callable[[Mapping[str, Any], Engine, Settings], Experiment]
KINDS: Mapping[JobKind, tuple[Specified, Prepared]] = {
    JobKind.COMPARE: (_compare, _comparison),
    JobKind.UPGRADE_CHECK: (_upgrade, _checked_upgrade),
    JobKind.EXPLAIN: (_explain, _explained),
    JobKind.PROFILE_CHECK: (_profile, _checked_profile),
}
"""Of each kind what checks its request, and what makes the experiment of what it asked."""
