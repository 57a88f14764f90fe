"""A whole comparison: its subjects, each tried with its program, its runs, and what they say."""

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from jobs.execution.assembly import plan_over_baseline
from jobs.experiments.experiment import Experiment, Findings, Sets
from jobs.experiments.sides import MIDDLE, Side, sides_around, worked_out
from jobs.experiments.tables import (
    compare_cases,
    comparison_files,
    comparison_sentences,
    load_words,
    table_document,
)
from jobs.specification.load_warnings import baseline_warnings, scale_warnings, too_small_warnings
from optimizer.objective.objective import Term
from sampler.bench.accepted import build_version, require_supported
from sampler.bench.bench_plan import BenchPlan, effective_values
from sampler.bench.builds import (
    DEFAULT_BUILD,
    Build,
    build_facts,
    database_version,
    fit_words,
    fitting_build,
    installed_build,
    installed_versions,
)
from sampler.bench.db_bench import DbBench
from sampler.bench.installed import InstalledDbBench, try_options
from sampler.bench.settings import Settings
from sampler.bench.user_options import require_known_filter
from sampler.common.errors import InputError
from sampler.common.text import format_bytes
from sampler.machine.machine import fingerprint, host_name
from sampler.rocksdb.options_file import TABLE
from sampler.rocksdb.parameters import Value, catalogue
from sampler.space.space import Configuration, memory_bytes
from sampler.workload.metric_table import better
from sampler.workload.workload import Workload
from sampler.workload.workload_file import workload_document, workload_from_document

MOST_WORKLOADS = 100


@dataclass(frozen=True, kw_only=True)
class Subject:
    """What is measured in every round."""

    name: str  # `A`, `B`, `half`, ...
    side: Side
    build: Build
    benches: Mapping[str, DbBench]  # how it is measured, by workload
    values: Mapping[str, Mapping[str, Value]]  # of every known parameter, full scale, by workload
    warnings: Sequence[str]  # what the reader must know of it

    def under(self, workload: str) -> tuple[DbBench, Configuration]:
        """What is run under a workload."""
        return self.benches[workload], self.side.values_under(workload)

    @property
    def memories(self) -> tuple[int, ...]:
        """Bytes of memtables and block cache under each workload, full scale."""
        return tuple(map(memory_bytes, self.values.values()))

    @property
    def memory(self) -> int:
        """The most that it holds of them under any workload."""
        return max(self.memories)

    def identity(self) -> dict[str, Any]:
        """All that must be the same to go on with its runs."""
        options, family = self.side.options, self.side.column_family
        return {
            "build": self.build.document(),
            "base": self.side.base,
            "options": hashlib.sha256(options.encode()).hexdigest() if options else None,
            **({"column_family": family} if family is not None else {}),
            **self.side.set_values(),
        }

    @property
    def words(self) -> str:
        """One line: what it is, what runs it, what it holds in memory."""
        facts = self.build.facts
        version = f"RocksDB {facts.version}, " if facts else ""
        what = f"{self.name}: {self.side.what}; {version}{self.build.program}"
        return f"{what}, memtables and cache {format_bytes(self.memory)}"

    def document(self) -> dict[str, Any]:
        """As result.json holds it."""
        return {
            "asked": self.side.asked,
            "what": self.side.what,
            "build": self.build.document(),
            "base": self.side.base,
            "options": self.side.options,
            "column_family": self.side.column_family,
            **self.side.set_values(),
            "memory": self.memory,
            "warnings": list(self.warnings),
        }


def subject_of(
    name: str, side: Side, workloads: Sequence[Workload], settings: Settings, *, field: str
) -> Subject:
    """Tries a side's program with its options; some milliseconds, in Java a second.

    Raises:
        InputError: There is no such program, it refuses the options, or they cannot be measured
            at the scale of a load.
    """
    installed = installed_build(side.build, settings, field=field)
    baseline = {
        "base": side.base,
        "options": side.options,
        "column_family": side.column_family,
        "drop_unknown": side.drop_unknown,
        "field": field,
    }
    plans = {each.name: plan_over_baseline(each, installed, **baseline) for each in workloads}
    benches = {name: DbBench(installed, plan) for name, plan in plans.items()}
    first = plans[workloads[0].name]
    side = worked_out(side, workloads, first.space.complete({}))
    for known in dict.fromkeys(known for load in plans for known in side.values_under(load)):
        if not installed.knows(catalogue()[known]):
            problem = f"RocksDB {installed.version} ({installed.program}) does not know {known}"
            raise InputError(field, problem)
    values = {load: plan.space.complete(side.values_under(load)) for load, plan in plans.items()}
    for workload in workloads:
        require_supported(installed, workload)
    # Without values of its own for each workload its options are the same under all of them.
    tried = [*plans.values()] if side.by_workload else [first]
    facts = build_facts(installed.program)
    build = Build(name=side.build or DEFAULT_BUILD, program=str(installed.program), facts=facts)
    warnings = [
        *side.notes,
        *installed.warnings,
        *baseline_warnings(first),
        *(w for plan in tried for w in _changed(plan, side, installed, field)),
        *(w for each in workloads for w in scale_warnings(each, values[each.name], field=field)),
        *(w for each in workloads for w in too_small_warnings(each, values[each.name])),
    ]
    return Subject(
        name=name, side=side, build=build, benches=benches, values=values,
        warnings=tuple(dict.fromkeys(warnings)),
    )  # fmt: skip


def _changed(plan: BenchPlan, side: Side, installed: InstalledDbBench, field: str) -> list[str]:
    """Lets the program open a database so; the values that it changes without saying so."""
    values = side.values_under(plan.workload.name)
    options, flags = plan.options(values), plan.flags(values)
    tried = try_options(installed.program, options, flags=flags)
    if tried.options is None:
        raise InputError(field, f"RocksDB {installed.version} rejects it: {tried.complaint}")
    asked = {n: v for n, v in values.items() if plan.space.is_active(n, plan.space.context)}
    _, changed = effective_values(tried.options, asked, plan.space, scale=plan.workload.scale)
    return [f"RocksDB changes {line}" for line in changed]


def require_workloads(found: Sequence[Workload], scale: int | None) -> list[Workload]:
    """The loads at their scale.

    Raises:
        InputError: One is not measured by db_bench, two have one name, or there are too many.
    """
    for workload in found:
        if not workload.by_db_bench:
            problem = f"{workload.name} does not run db_bench; name one that does"
            raise InputError("workload", problem)
    names = [workload.name for workload in found]
    twice = next((name for name in names if names.count(name) > 1), None)
    if twice is not None:
        raise InputError("workload", f"{twice} is named twice")
    if len(found) > MOST_WORKLOADS:
        raise InputError("workload", f"{len(found)} are too many; the limit is {MOST_WORKLOADS}")
    if scale is None:
        return list(found)
    return [replace(workload, scale=scale) for workload in found]


def on_one_build(sides: Sequence[Side], settings: Settings) -> list[Side]:
    """The sides, those that name no build on the one that fits the newest of their OPTIONS files.

    On the same, so that options are compared and not builds.
    """
    told = (database_version(side.options) for side in sides if side.build is None)
    newest = max(filter(None, told), key=build_version, default=None)
    installed = installed_versions(settings) if newest else {}
    if newest is None or not installed:
        return [*sides]
    name = fitting_build(newest, installed)
    notes = fit_words(newest, installed[name or DEFAULT_BUILD], named=name)
    return [
        side if side.build else replace(side, build=name, notes=(*side.notes, *notes))
        for side in sides
    ]


def subjects_of(
    sides: Sequence[Side], around: str | None, loads: Sequence[Workload], settings: Settings
) -> list[Subject]:
    """A and B, or A with half and double its value of the parameter; errors of ``subject_of``."""
    subjects = [
        subject_of(name, side, loads, settings, field=name)
        for name, side in zip("AB", on_one_build(sides, settings), strict=False)
    ]
    if around is not None:
        found = sides_around(subjects[0].side, subjects[0].values, around)
        subjects = [
            subject_of(name, side, loads, settings, field="A" if name == MIDDLE else "around")
            for name, side in found.items()
        ]
    _require_known_filters(subjects)
    return subjects


def _require_known_filters(subjects: Sequence[Subject]) -> None:
    """Refuses sides of different filters where one is not known: it would be measured as none."""
    plans = [(each, *each.under(load)) for each in subjects for load in each.benches]
    filters = {
        str(bench.plan.options(values).get(TABLE, "filter_policy")) for _, bench, values in plans
    }
    if len(filters) > 1:
        for subject, bench, values in plans:
            name = "A" if subject.name == MIDDLE else subject.name
            require_known_filter(bench.plan.options(values), name=name)


def comparison_cautions(subjects: Sequence[Subject]) -> list[str]:
    """What must be known before the figures are read: unequal builds, memory, odd options."""
    every = [w for w in subjects[0].warnings if all(w in each.warnings for each in subjects)]
    told = [f"All: {warning}" for warning in every]
    told += [f"{each.name}: {w}" for each in subjects for w in each.warnings if w not in every]
    facts = [each.build.facts for each in subjects]
    for what, states in (
        ("assertions", {each.assertions for each in facts if each}),
        ("an optimising compiler", {each.optimised for each in facts if each}),
    ):
        if len(states) > 1:
            told.append(
                f"One build has {what}, another does not: that alone changes TIME and RATE"
            )
    versions = {each.name: each.build.facts.version for each in subjects if each.build.facts}
    if len(set(versions.values())) > 1:
        named = ", ".join(f"{name} {version}" for name, version in versions.items())
        told.append(
            f"They run different versions of RocksDB ({named}), which alone may explain "
            "differences"
        )
    if len({each.memories for each in subjects}) > 1:
        told.append(
            "They use different amounts of memory: more memtable and cache improves most metrics"
        )
    same = {(s.build.program, s.side.options, s.side.base, str(s.values)) for s in subjects}
    if len(same) == 1:
        told.append("All sides are identical: any difference is noise")
    return told


def comparison(asked: Mapping[str, Any], _: object, settings: Settings) -> Experiment:
    """The runs of a comparison, and what is made of them.

    ``asked``: the documents of its ``sides`` and ``workloads``; the parameter that is halved and
    doubled ``around`` the first side, or None; the ``metrics``; ``rounds``, how often each subject
    is measured under each workload; ``seed``. All subjects are compared with the first. Errors are
    those of ``subject_of``.
    """
    workloads = [workload_from_document(each, stored=True) for each in asked["workloads"]]
    both = [Side(**each) for each in asked["sides"]]
    around, rounds, seed = asked["around"], asked["rounds"], asked["seed"]
    subjects = subjects_of(both, around, workloads, settings)
    cautions = comparison_cautions(subjects)
    by_name = {subject.name: subject for subject in subjects}
    names, loads = [*by_name], [workload.name for workload in workloads]
    documents = [workload_document(each) for each in workloads]
    terms = [Term(name, better(name) or "min") for name in asked["metrics"]]

    def conclude(sets: Sets) -> Findings:
        found = compare_cases(sets, names[0], names[1:], loads, terms)
        runs = [run for each in sets.values() for run in each.values()]
        runs.sort(key=lambda run: run.started_at)
        document = {
            "schema": 1,
            "machine": fingerprint(settings.bench_dir),
            "subjects": {each.name: each.document() for each in subjects},
            "around": around,
            "workloads": documents,
            "rounds": rounds,
            "seed": seed,
            "cautions": cautions,
            "tables": [table_document(table) for table in found],
            "verdict": comparison_sentences(found),
            "seconds": sum(run.seconds for run in runs),
        }
        files = comparison_files(document, workloads, runs, found)
        return Findings(document=document, more=files)

    return Experiment(
        identity={
            "comparison": 1,
            "host": host_name(),
            **{subject.name: subject.identity() for subject in subjects},
            "workloads": documents,
            "rounds": rounds,
            "seed": seed,
        },
        cases=loads,
        sides=names,
        bench=lambda load, name: by_name[name].under(load),
        rounds=rounds,
        seed=seed,
        conclude=conclude,
        cautions=cautions,
        subjects=[*(each.words for each in subjects), *map(load_words, workloads)],
    )
