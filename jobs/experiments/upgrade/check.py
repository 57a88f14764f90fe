"""A whole check: what changed by itself, then the same configurations on both builds."""

import hashlib
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

from jobs.experiments.experiment import (
    Experiment,
    Findings,
    InterleavedRuns,
    KeptRuns,
    RunsObserver,
    measure_interleaved,
)
from jobs.experiments.paired import CaseChange, compare_cases, pairs_of
from jobs.experiments.upgrade.builds import (
    KEPT,
    SIDES,
    Case,
    OptionDrift,
    OwnFile,
    cases_of,
    option_drift,
    own_file,
)
from jobs.experiments.upgrade.verdict import causes, is_worse, upgrade_sentences
from jobs.specification.specification import Specification
from optimizer.budget.power import LEAST_PAIRS
from optimizer.objective.objective_file import objective_from_document
from sampler.bench.builds import Build, build_facts, installed_build
from sampler.bench.installed import InstalledDbBench
from sampler.bench.user_options import user_options
from sampler.common.errors import InputError
from sampler.machine.machine import fingerprint, host_name
from sampler.options.normal_form import read_user_options
from sampler.runner.settings import Settings
from sampler.workload.workload_file import workload_from_document

RESULT = "upgrade.json"
MOST_PAIRS, MOST_DRAWS = 1000, 100


@dataclass(frozen=True, kw_only=True)
class Builds:
    """The two, as they were named and as they answered."""

    old: Build
    new: Build
    installed_old: InstalledDbBench
    installed_new: InstalledDbBench


@dataclass(frozen=True, kw_only=True)
class BuildDifferences:
    """What changed without a load."""

    drift: OptionDrift
    file: OwnFile | None  # what the new build makes of the user's file; None without one
    # a line for each thing of that file that is not measured as it says
    notes: tuple[str, ...] = ()


def find_builds(old: str, new: str, settings: Settings) -> Builds:
    """Tries both builds, given by their names or paths; an InputError if one does not work."""
    before = installed_build(old, settings, field="OLD")
    after = installed_build(new, settings, field="NEW")
    builds = [
        Build(name=name, program=str(found.program), facts=build_facts(found.program))
        for name, found in ((old, before), (new, after))
    ]
    return Builds(old=builds[0], new=builds[1], installed_old=before, installed_new=after)


def build_differences(builds: Builds, specification: Specification) -> BuildDifferences:
    """What changed without a load; an InputError if the old build refuses the user's file."""
    old, new = builds.installed_old, builds.installed_new
    text = specification.baseline_options
    file: OwnFile | None = None
    notes: tuple[str, ...] = ()
    if text is not None:
        family = specification.column_family
        options = read_user_options(text, name="--options", family=family)
        file = own_file(old, new, options, drop_unknown=specification.drop_unknown)
        notes = user_options(text, old, name="--options", family=family, drop_unknown=True).notes
    return BuildDifferences(drift=option_drift(old, new), file=file, notes=notes)


def upgrade_check(
    specification: Specification,
    builds: Builds,
    found: BuildDifferences,
    settings: Settings,
    *,
    pairs: int,
    draws: int,
) -> Experiment:
    """The runs of a check, and what is made of them.

    The specification has the workload, the space of the draws, the seed, and the user's file as
    the baseline; ``found`` is what changed without a load. Every case is run ``pairs`` times on
    either build, 0: nothing is measured; beside the defaults and the user's file there are so
    many random draws.

    Raises:
        InputError: Something is wrong with what is asked for, or with this machine.
    """
    require_sensible(specification, pairs, draws)
    both = (builds.installed_old, builds.installed_new)
    cases = cases_of(specification, *both, found.drift, found.file, draws=draws) if pairs else []
    by_name = {case.name: case for case in cases}
    turns = InterleavedRuns(
        cases=[*by_name],
        sides=SIDES,
        bench=lambda name, side: by_name[name].on(side),
        rounds=pairs,
        seed=specification.seed,
    )
    terms = objective_from_document(specification.objective).terms
    what = {case.name: case.what for case in cases}

    def measure(kept: KeptRuns, observer: RunsObserver) -> Findings:
        sets = measure_interleaved(turns, settings, kept, observer) if pairs else {}
        measured = pairs_of(sets, *SIDES)
        changes = compare_cases(measured, [*by_name], terms)
        why = causes(measured, changes[0]) if KEPT in by_name else {}
        document = {
            "schema": 1,
            "machine": fingerprint(settings.bench_dir),
            "old": builds.old.document(),
            "new": builds.new.document(),
            "workload": specification.workload,
            "seed": specification.seed,
            "pairs": pairs,
            "drift": asdict(found.drift),
            "options_file": _file_document(found.file),
            "cases": [_case_document(each, what[each.case]) for each in changes],
            "causes": {name: asdict(each) for name, each in why.items()},
            "verdict": upgrade_sentences(changes, what, why, found.drift.changed, found.file),
            "worse": is_worse(changes, found.file),
        }
        return Findings(document=document, name=RESULT)

    identity = _asked(specification, builds, cases, pairs)
    return Experiment(identity=identity, runs=turns.total, measure=measure)


def require_sensible(specification: Specification, pairs: int, draws: int) -> None:
    """Refuses, with an InputError, what cannot be checked so."""
    if not workload_from_document(specification.workload, stored=True).by_db_bench:
        raise InputError("--workload", "is not measured by db_bench; name one that is")
    if pairs != 0 and not LEAST_PAIRS <= pairs <= MOST_PAIRS:
        problem = f"{pairs} is not from {LEAST_PAIRS} to {MOST_PAIRS}"
        raise InputError("--pairs", f"{problem}; 0 measures nothing")
    if not 0 <= draws <= MOST_DRAWS:
        raise InputError("--configurations", f"{draws} is not from 0 to {MOST_DRAWS}")


def _asked(
    specification: Specification, builds: Builds, cases: Sequence[Case], pairs: int
) -> dict[str, Any]:
    """What the runs in a folder are runs of: all that must be the same to go on with them."""

    def known(build: Build) -> dict[str, Any]:
        return {"program": build.program, **(build.facts.document() if build.facts else {})}

    options, family = specification.baseline_options, specification.column_family
    return {
        "check": 1,
        "host": host_name(),
        "old": known(builds.old),
        "new": known(builds.new),
        "workload": specification.workload,
        "scale": specification.scale,
        "space": specification.space["name"],
        "options": hashlib.sha256(options.encode()).hexdigest() if options else None,
        **({"column_family": family} if family is not None else {}),
        "seed": specification.seed,
        "pairs": pairs,
        "cases": {case.name: dict(case.configuration) for case in cases},
    }


def _file_document(file: OwnFile | None) -> dict[str, Any] | None:
    if file is None:
        return None
    return {
        "opens": file.opens,
        "said": file.accepted.said,
        "refused": [asdict(each) for each in file.accepted.refused],
        "changed": [asdict(each) for each in file.changed],
        "ignored": list(file.ignored),
    }


def _case_document(each: CaseChange, what: str) -> dict[str, Any]:
    metrics = {
        name: asdict(m) | {"significant": m.significant, "worse": m.worse}
        for name, m in each.metrics.items()
    }
    return asdict(each) | {"what": what, "metrics": metrics, "worse": each.worse}
