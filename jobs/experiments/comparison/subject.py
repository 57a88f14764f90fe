"""A side ready to be measured: its program tried, its options accepted by it."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from jobs.experiments.comparison.sides import Side, worked_out
from jobs.specification.compaction_debt import too_small_warnings
from jobs.specification.measured_baseline import (
    baseline_warnings,
    measured_baseline,
    scale_warnings,
)
from sampler.bench.accepted import require_supported
from sampler.bench.bench_plan import BenchPlan, effective_values
from sampler.bench.builds import DEFAULT_BUILD, Build, build_facts, installed_build
from sampler.bench.db_bench import DbBench
from sampler.bench.installed import InstalledDbBench, try_options
from sampler.common.errors import InputError
from sampler.parameters.catalogue import catalogue
from sampler.parameters.parameter import Value
from sampler.runner.settings import Settings
from sampler.space.space import Configuration, memory_bytes
from sampler.space.space_file import load_space
from sampler.workload.workload import Workload


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
    plans = {each.name: _plan(side, each, installed, field) for each in workloads}
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


def _plan(side: Side, workload: Workload, installed: InstalledDbBench, field: str) -> BenchPlan:
    """As a job that has this side as its baseline would measure it."""
    baseline = measured_baseline(
        workload,
        installed,
        library=installed.library_defaults(),
        base=side.base,
        options=side.options,
        column_family=side.column_family,
        drop_unknown=side.drop_unknown,
        field=field,
    )
    return baseline.plan(workload, load_space("all"))


def _changed(plan: BenchPlan, side: Side, installed: InstalledDbBench, field: str) -> list[str]:
    """Lets the program open a database so; the values that it changes without saying so."""
    values = side.values_under(plan.workload.name)
    options, flags = plan.options(values), plan.flags(values)
    tried = try_options(installed.program, options, flags=flags)
    if tried.options is None:
        raise InputError(field, f"RocksDB {installed.version} refuses it: {tried.complaint}")
    asked = {n: v for n, v in values.items() if plan.space.is_active(n, plan.space.context)}
    _, changed = effective_values(tried.options, asked, plan.space, scale=plan.workload.scale)
    return [f"RocksDB changes {line}" for line in changed]
