"""One configuration, measured outside of any job: what runs it, and what must be said of it."""

from collections.abc import Mapping
from dataclasses import dataclass, replace

from jobs.execution.assembly import assemble
from jobs.specification.compaction_debt import too_small_warnings
from jobs.specification.measured_baseline import (
    baseline_warnings,
    measured_baseline,
    scale_warnings,
)
from jobs.specification.named_files import baseline_named, specify
from jobs.specification.validation import wrong_scale_or_seed
from sampler.bench.accepted import require_supported
from sampler.bench.builds import installed_build
from sampler.bench.command_bench import CommandBench
from sampler.bench.db_bench import DbBench
from sampler.common.errors import refuse_noted
from sampler.parameters.parameter import Value
from sampler.runner.settings import Settings
from sampler.space.space_file import load_space
from sampler.workload.workload import Workload
from sampler.workload.workload_file import load_workload


@dataclass(frozen=True)
class SingleBench:
    """What runs a configuration."""

    benchmark: DbBench | CommandBench
    warnings: tuple[str, ...]  # what the reader of its figures must know


def single_bench(
    workload: str | Workload,
    settings: Settings,
    *,
    baseline: str | None = None,
    options: str | None = None,
    column_family: str | None = None,
    drop_unknown: bool,
    scale: int | None,
    db_bench: str | None,
    configuration: Mapping[str, Value],
) -> SingleBench:
    """Puts together what measures one configuration over a baseline.

    Nothing is searched, so nothing is refused for what a search would need: a load that is small
    beside the write buffers is measured, and a warning says so.

    The workload may be a name or a TOML file; ``options`` is the text of an OPTIONS file as the
    baseline, or the baseline ``library``, ``db_bench`` or an OPTIONS
    file, None for the library's; ``db_bench`` a build's name or the path of a program, None for
    the one in use. The configuration has values over the baseline, full scale.

    Raises:
        InputError: Something is wrong with what is asked for, or with this machine.
    """
    load = workload if isinstance(workload, Workload) else load_workload(workload)
    if not load.by_db_bench:
        specification = specify(
            workload=str(workload), space="all", baseline=baseline, column_family=column_family,
            scale=scale,
        )  # fmt: skip
        assembly = assemble(specification, settings)
        return SingleBench(assembly.benchmark, assembly.warnings)
    refuse_noted(wrong_scale_or_seed(scale, 1))
    load = load if scale is None else replace(load, scale=scale)
    installed = installed_build(db_bench, settings)
    require_supported(installed, load)
    name = None
    if options is None:
        name, options = baseline_named(baseline)
    found = measured_baseline(
        load,
        installed,
        library=installed.library_defaults(),
        base=name or "library",
        options=options,
        column_family=column_family,
        drop_unknown=drop_unknown,
    )
    plan = found.plan(load, load_space("all"))
    values = plan.space.complete(configuration)
    warnings = (
        *baseline_warnings(plan),
        *scale_warnings(load, values),
        *too_small_warnings(load, values),
    )
    return SingleBench(DbBench(installed, plan), warnings)
