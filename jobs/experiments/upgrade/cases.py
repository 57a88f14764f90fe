"""The configurations that are measured on both builds, and which question each answers."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace

from jobs.experiments.upgrade.builds import ChangedValue, OptionDrift, OwnFile
from jobs.specification.resolved_job import ResolvedJob, resolve
from jobs.specification.specification import Specification
from sampler.bench.accepted import accepted_part
from sampler.bench.bench_plan import BenchPlan
from sampler.bench.db_bench import DbBench
from sampler.bench.installed import InstalledDbBench
from sampler.options.option_values import read_values, title_of
from sampler.options.options_file import OptionsFile
from sampler.parameters.catalogue import catalogue
from sampler.parameters.parameter import Parameter, Value
from sampler.space.encoding import draw
from sampler.space.space import Configuration

DEFAULTS, KEPT, OWN = "defaults", "old-defaults", "own-file"
SIDES = ("old", "new")


@dataclass(frozen=True)
class Case:
    """One configuration on both builds."""

    name: str  # short, the same whenever the same is asked for
    what: str  # in words, to go on "with"
    old: DbBench
    new: DbBench
    # what both run, beside what each build's benchmark holds
    configuration: Configuration = field(default_factory=dict)

    def on(self, side: str) -> tuple[DbBench, Configuration]:
        """What is run on one of ``SIDES``."""
        return self.old if side == "old" else self.new, self.configuration


def cases_of(
    specification: Specification,
    old: InstalledDbBench,
    new: InstalledDbBench,
    drift: OptionDrift,
    file: OwnFile | None,
    *,
    draws: int,
) -> list[Case]:
    """Everything that is to be measured, the defaults first.

    The specification has the workload, the space of the draws and their seed, and the user's
    OPTIONS file as its baseline, if there is one; ``file`` is what the new build makes of it.

    Raises:
        InputError: The workload cannot be measured so, such as a load that stays in memory.
    """
    library = {"baseline": "library", "baseline_options": None, "column_family": None}
    plain = specification.model_copy(update=library)
    framed = resolve(plain, old)
    before = DbBench(old, _as_it_comes(framed.plan, old, drift.changed))
    after = DbBench(new, _as_it_comes(resolve(plain, new).plan, new, drift.changed))
    cases = [Case(DEFAULTS, "the defaults as they come", before, after)]
    if drift.changed and (kept := kept_defaults(before, after, drift.changed)) is not None:
        cases.append(Case(KEPT, "the old defaults kept", before, kept))
    if file is not None and file.accepted.part is not None:
        theirs = DbBench(old, resolve(specification, old).plan)
        # What the new build does not know is told by the check itself.
        ours = resolve(specification.model_copy(update={"drop_unknown": True}), new).plan
        what = "your OPTIONS file"
        if file.accepted.refused:
            what += " without what the new build refuses"
        cases.append(Case(OWN, what, theirs, DbBench(new, ours)))
    for index, configuration in enumerate(_drawn(framed, new, draws), start=1):
        name = f"draw-{index}"
        cases.append(Case(name, name, before, after, configuration))
    return cases


def kept_defaults(
    before: DbBench, after: DbBench, changed: Sequence[ChangedValue]
) -> DbBench | None:
    """The new build with every changed default written out as it was; None if it takes none."""
    wanted = OptionsFile()
    for each in changed:
        wanted = wanted.with_values(each.section, {each.key: each.old})
    accepted = accepted_part(after.installed, wanted)
    if accepted.part is None or not any(accepted.part.sections.values()):
        return None
    old_values = before.plan.space.context
    values = {p.name: old_values[p.name] for p in _of(changed)}
    plan = replace(
        after.plan, baseline_file=accepted.part, space=after.plan.space.at_baseline(values)
    )
    return DbBench(after.installed, plan)


def _as_it_comes(
    plan: BenchPlan, build: InstalledDbBench, changed: Sequence[ChangedValue]
) -> BenchPlan:
    """The plan with the build's own value of every default that changed.

    A default that means "automatic" in the catalogue may be a plain number in another version:
    then it must be measured, and scaled, as that build has it.
    """
    found = read_values(build.defaults, list(_of(changed)), scale=1)
    values: dict[str, Value] = {**plan.library, **found}
    return replace(plan, library=values, space=plan.space.at_baseline(found))


def _of(changed: Sequence[ChangedValue]) -> Iterator[Parameter]:
    """The catalogued parameters among changed options."""
    places = {(each.section, each.key) for each in changed}
    for parameter in catalogue().values():
        if parameter.is_option and (title_of(parameter), parameter.key) in places:
            yield parameter


def _drawn(framed: ResolvedJob, new: InstalledDbBench, count: int) -> Iterator[Configuration]:
    """A Latin hypercube over what both builds know, within the memory of the old defaults."""
    problem, space = framed.problem, framed.problem.space
    unknown = [p.name for p in space.parameters if not new.knows(p)]
    problem = replace(problem, space=space.without(unknown))
    order = problem.space.decided_order
    for index in range(count):
        point = draw("lhs", index, n=count, dimensions=len(order), seed=problem.seed)
        yield problem.configuration(dict(zip(order, point.tolist(), strict=True)))
