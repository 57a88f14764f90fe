"""What changed between two builds without a load, and what is measured on both for that.

Compared are defaults, flags, and the user's own file. Defaults are those that each build writes
down itself, when it opens a database with an empty OPTIONS file.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum

from jobs.specification.resolved_job import ResolvedJob, resolve
from jobs.specification.specification import Specification
from sampler.bench.accepted import Accepted, accepted_part
from sampler.bench.bench_plan import BenchPlan
from sampler.bench.db_bench import DbBench
from sampler.bench.installed import InstalledDbBench
from sampler.bench.user_options import refusal_words, same_value
from sampler.common.errors import InputError
from sampler.rocksdb.option_values import read_values, title_of
from sampler.rocksdb.options_file import DEFAULT_FAMILY, OptionsFile, leaves
from sampler.rocksdb.parameters import Parameter, catalogue
from sampler.space.latent import draw
from sampler.space.space import Configuration

_LISTED = 12  # names in one line
Place = tuple[str, str]  # section and key
Values = Mapping[Place, str]


class Concern(StrEnum):
    """What an option is known to move."""

    AMPLIFICATION = "write and space amplification"
    SPEED = "speed and memory"
    UNKNOWN = "not in Rocktune's catalogue"


# Shape of the tree, how it is merged, and what is stored: RocksDB wiki, "RocksDB Tuning Guide",
# sections on amplification factors and on level and universal compaction.
_AMPLIFICATION = frozenset({
    "write_buffer_size", "max_write_buffer_number", "min_write_buffer_number_to_merge",
    "level0_file_num_compaction_trigger", "max_bytes_for_level_base",
    "max_bytes_for_level_multiplier", "target_file_size_base", "target_file_size_multiplier",
    "num_levels", "level_compaction_dynamic_level_bytes", "max_compaction_bytes",
    "compaction_pri", "compaction_style", "compression_type", "min_level_to_compress",
    "compression_level", "compression_max_dict_bytes", "bottommost_compression", "block_size",
    "block_restart_interval", "format_version", "bloom_bits", "optimize_filters_for_hits",
    "universal_max_read_amp", "target_file_size_is_upper_bound", "compression_max_bytes_per_kb",
    "separate_key_value_in_data_block", "universal_reduce_file_locking",
    "read_triggered_compaction_threshold", "memtable_op_scan_flush_trigger",
    "universal_size_ratio", "universal_min_merge_width", "universal_max_merge_width",
    "universal_max_size_amplification_percent", "universal_compression_size_percent",
    "enable_blob_files", "min_blob_size", "blob_file_size", "blob_compression_type",
    "enable_blob_garbage_collection", "blob_garbage_collection_age_cutoff",
    "blob_garbage_collection_force_threshold", "blob_file_starting_level",
})  # fmt: skip


@dataclass(frozen=True, kw_only=True)
class ChangedValue:
    """An option that has another value with the new build."""

    section: str  # the title of its section in an OPTIONS file
    key: str  # the key there; `struct.field` for a field of a structure
    # old, new: the values as RocksDB writes them
    old: str
    new: str
    concern: Concern  # what it is known to move

    def __str__(self) -> str:
        """As ``level_compaction_dynamic_level_bytes (false -> true)``."""
        return f"{self.key} ({self.old} -> {self.new})"


@dataclass(frozen=True, kw_only=True)
class LoneOption:
    """An option that only one of the builds has, with its default."""

    section: str
    key: str
    value: str


@dataclass(frozen=True, kw_only=True)
class OptionDrift:
    """What changed from the old build to the new one."""

    changed: tuple[ChangedValue, ...]  # defaults that differ, those that move amplification first
    # added, removed: options that only the new, only the old build has
    added: tuple[LoneOption, ...]
    removed: tuple[LoneOption, ...]
    # flags_added, flags_removed: the same of db_bench's flags
    flags_added: tuple[str, ...]
    flags_removed: tuple[str, ...]


def option_drift(old: InstalledDbBench, new: InstalledDbBench) -> OptionDrift:
    """Compares the defaults that two builds write, and their flags."""
    before, after = dict(leaves(old.defaults)), dict(leaves(new.defaults))
    order = list(Concern)
    changed = _changed(before, before, after)
    return OptionDrift(
        changed=tuple(sorted(changed, key=lambda each: order.index(each.concern))),
        added=_lone(after, before),
        removed=_lone(before, after),
        flags_added=tuple(sorted(new.flags - old.flags)),
        flags_removed=tuple(sorted(old.flags - new.flags)),
    )


def _known(places: Iterable[Place]) -> dict[Place, Parameter]:
    options = (each for each in catalogue().values() if each.is_option)
    found = {(title_of(each), each.key): each for each in options}
    return {place: found[place] for place in places if place in found}


def _concern(parameter: Parameter | None) -> Concern:
    if parameter is None:
        return Concern.UNKNOWN
    return Concern.AMPLIFICATION if parameter.name in _AMPLIFICATION else Concern.SPEED


def _changed(names: Iterable[Place], old: Values, new: Values) -> tuple[ChangedValue, ...]:
    places = [at for at in names if at in old and at in new and old[at] != new[at]]
    known = _known(places)
    return tuple(
        ChangedValue(
            section=at[0], key=at[1], old=old[at], new=new[at], concern=_concern(known.get(at))
        )
        for at in places
    )


def _lone(mine: Values, others: Values) -> tuple[LoneOption, ...]:
    return tuple(
        LoneOption(section=section, key=key, value=text)
        for (section, key), text in mine.items()
        if (section, key) not in others
    )


@dataclass(frozen=True, kw_only=True)
class OwnFile:
    """The user's file under the old and the new build."""

    accepted: Accepted  # what the new build takes of it
    # options that the file names, and whose value in effect with the new build is neither the
    # file's nor that of the old build
    changed: tuple[ChangedValue, ...]
    # options that the file names, that the old build changes, and the new one takes as written
    changed_by_old: tuple[ChangedValue, ...]
    # options that the file names, the old build has in effect, and the new one reads and ignores
    ignored: tuple[str, ...]
    compared: bool  # whether the old build takes the whole file, too

    @property
    def opens(self) -> bool:
        """Whether the new build takes the file as it is."""
        return self.accepted.part is not None and not self.accepted.refused


def own_file(
    old: InstalledDbBench,
    new: InstalledDbBench,
    options: OptionsFile,
    *,
    drop_unknown: bool = False,
) -> OwnFile:
    """Lets both builds open a database with the default column family's part of the user's file.

    ``drop_unknown``: whether the old build may refuse options of it.

    Raises:
        InputError: The old build does not take it either.
    """
    options = options.of_family(DEFAULT_FAMILY)
    before, after = accepted_part(old, options), accepted_part(new, options)
    if before.effect is None or (before.refused and not drop_unknown):
        said = before.said or refusal_words(before.refused, options, old.version, most=_LISTED)
        problem = f"RocksDB {old.version}, the old build, rejects it: {said}"
        mend = "give the file that you use with it, or leave those options out with `drop_unknown`"
        raise InputError("options", f"{problem}; {mend}")
    was, now = (dict(leaves(each.effect)) if each.effect else {} for each in (before, after))
    # What a build was not given, it has not changed.
    left_out = {(each.section, each.key) for each in (*before.refused, *after.refused)}
    written_as = {place: text for place, text in leaves(options) if place not in left_out}
    named = list(written_as)
    # One option may be written in another form: as a structure, or as one value.
    written = {(section, key.partition(".")[0]) for section, key in now}
    gone = [
        key for section, key in named
        if (section, key) in was and (section, key.partition(".")[0]) not in written
    ]  # fmt: skip
    changed = _changed(named, was, now)
    by_old = [c for c in changed if same_value(written_as[c.section, c.key], c.new)]
    return OwnFile(
        accepted=after,
        changed=tuple(each for each in changed if each not in by_old),
        changed_by_old=tuple(by_old),
        ignored=tuple(gone) if after.effect else (),
        compared=not before.refused,
    )


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
    cases = [Case(DEFAULTS, "each build's defaults", before, after)]
    if drift.changed and (kept := kept_defaults(before, after, drift.changed)) is not None:
        cases.append(Case(KEPT, "the old defaults", before, kept))
    if file is not None and file.accepted.part is not None:
        theirs = DbBench(old, resolve(specification, old).plan)
        # What the new build does not know is told by the check itself.
        ours = resolve(specification.model_copy(update={"drop_unknown": True}), new).plan
        what = "your OPTIONS file"
        if file.accepted.refused:
            what += " without the options that the new build rejects"
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
    values = {each.name: old_values[each.name] for each in _changed_parameters(changed)}
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
    found = read_values(build.defaults, _changed_parameters(changed))
    library = {**plan.library, **found}
    return replace(plan, library=library, space=plan.space.at_baseline(found))


def _changed_parameters(changed: Sequence[ChangedValue]) -> list[Parameter]:
    return [*_known((each.section, each.key) for each in changed).values()]


def _drawn(framed: ResolvedJob, new: InstalledDbBench, count: int) -> Iterator[Configuration]:
    """A Latin hypercube over what both builds know, within the memory of the old defaults."""
    problem, space = framed.problem, framed.problem.space
    unknown = [p.name for p in space.parameters if not new.knows(p)]
    problem = replace(problem, space=space.without(unknown))
    order = problem.space.decided_order
    for index in range(count):
        point = draw("lhs", index, n=count, dimensions=len(order), seed=problem.seed)
        yield problem.configuration(dict(zip(order, point.tolist(), strict=True)))
