"""What a job's OPTIONS file changes, how that is applied, and how the file is used."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from db.schema.job_row import JobRow
from jobs.report.section import Block, Code, Items, Section, Table, Text, columns
from jobs.results.figures import option_value
from jobs.specification.resolved_job import resolve_stored
from optimizer.results.document import Result
from sampler.options.application import application_steps
from sampler.options.applying import Change, Steps, steps_of
from sampler.options.measured_part import without_derived
from sampler.options.normal_form import read_user_options
from sampler.options.option_values import title_of, write_values
from sampler.options.options_file import OptionsFile, leaves, parse_options
from sampler.parameters.catalogue import catalogue
from sampler.parameters.parameter import Parameter


@dataclass(frozen=True)
class ChangedOption:
    """An option of which two configurations hold different values."""

    name: str
    before: str  # before, after: the values for people; ``inactive`` where there is none
    after: str
    factor: bool  # whether it is a property of the load


def changed_options(baseline: Mapping[str, Any], best: Mapping[str, Any]) -> list[ChangedOption]:
    """The options of a configuration that differ from the baseline's, in its order."""
    known, found = catalogue(), []
    for name in dict.fromkeys([*best, *baseline]):
        values = (baseline.get(name), best.get(name))
        if values[0] == values[1]:
            continue
        before, after = (_short(value, known.get(name)) for value in values)
        if before == after:  # they differ by less than is shown
            before, after = map(str, values)
        factor = name in known and known[name].section == "workload"
        found.append(ChangedOption(name, before, after, factor))
    return found


def _short(value: Any, parameter: Parameter | None) -> str:
    return "inactive" if value is None else option_value(value, parameter)


def value_words(value: Any, parameter: Parameter | None) -> str:
    """A value as a table shows it: bytes with their unit beside; None is ``inactive``."""
    if value is None:
        return "inactive"
    shown = option_value(value, parameter)
    return shown if shown == str(value) else f"{value} ({shown})"


@dataclass(frozen=True)
class OptionLine:
    """An option that the two files do not have alike."""

    # section, key: where it stands; `struct.field` for a field of a structure
    section: str
    key: str
    before: str | None  # what the baseline's file says; None: it does not name the option
    after: str | None  # what the job's file says; None likewise
    # RocksDB's own value, for the side that does not name it; None: not known here
    default: str | None
    parameter: str | None  # its name in the space; None of an option that is not in the catalogue
    is_bytes: bool  # whether it is a size
    help: str

    @property
    def differs(self) -> bool:
        """Whether more differs than that one side names the default."""
        return bool(self.change.before != self.change.after)

    @property
    def change(self) -> Change:
        """With RocksDB's own value for the side that does not name it."""
        sides = [self.default if said is None else said for said in (self.before, self.after)]
        return Change(self.section, self.key, *sides)


def options_diff(job: JobRow, result: Result, text: str) -> list[OptionLine]:
    """What the text of a job's file changes, in the order of the file."""
    plan = resolve_stored(job).plan
    own = plan.baseline_file
    # What RocksDB's defaults were is known by the job better than by the catalogue.
    before = dict(leaves(plan.export(result.baseline.configuration)))
    file = read_user_options(text, family=own.family)
    # What RocksDB works out by itself stays in a user's file.
    stated = {*dict(leaves(without_derived(file))), *before}
    after = {place: said for place, said in leaves(file) if place in stated}
    known = {(title_of(each), each.key): each for each in catalogue().values() if each.is_option}
    lines = []
    for place in dict.fromkeys([*after, *before]):
        parameter, default = known.get(place), None
        if parameter is not None:
            written = write_values(OptionsFile(), plan.library, [parameter], scale=1)
            default = written.get(*place)
        line = OptionLine(
            own.own_title(place[0]),
            place[1],
            before.get(place),
            after.get(place),
            default,
            parameter=parameter.name if parameter else None,
            is_bytes=parameter is not None and parameter.is_bytes,
            help=parameter.help if parameter else "",
        )
        lines += [line] if line.differs else []
    return lines


def steps_of_best(result: Result, text: str) -> Steps:
    """How what the best configuration changes is applied, by the job's file."""
    file = read_user_options(text, family=result.job.get("column_family"))
    known, best = catalogue(), result.best.configuration if result.best else {}
    changed = changed_options(result.baseline.configuration, best)
    places = [
        (title_of(known[each.name]), known[each.name].key)
        for each in changed
        if each.name in best and each.name in known and known[each.name].is_option
    ]
    changes = [Change(file.own_title(at[0]), at[1], None, file.get(*at)) for at in places]
    return steps_of(changes, parse_options(text), application_steps(text))


def steps_table(steps: Steps) -> Table:
    """How each option is changed, and from when on it acts."""
    version = f" (RocksDB {steps.version})" if steps.version else ""
    titles = ("option", f"changed by{version}", "takes effect", "meaning")
    meanings = {each.key: each.help for each in catalogue().values()}
    rows = [
        (
            change.key,
            how.how if how else "unknown",
            how.when if how else "unknown",
            meanings.get(change.key, ""),
        )
        for change, how in steps.rows
    ]
    return Table(columns(titles), rows)


def apply_section(steps: Steps | None, *tables: Table) -> Section:
    """What to do to bring the changes into a database; ``tables`` stand before the calls."""
    title = "How to apply it"
    if steps is None:
        return Section("apply", title, [])
    blocks: list[Block] = []
    if steps.first:
        blocks = [Text("First, set in your program what the file cannot hold:")]
        blocks.append(Items(steps.first))
    blocks += tables
    if steps.calls:
        version = f", with RocksDB {steps.version}" if steps.version else ""
        blocks.append(Text(f"On a running database{version}, in C++:"))
        blocks.append(Code("Calls that change a running database", "\n".join(steps.calls)))
    return Section("apply", title, [*blocks, *(Text(line) for line in steps.lines)])


def outside_lines(result: Result) -> list[str]:
    """What the best configuration sets that no OPTIONS file carries: a sentence for each kind.

    A block cache that was not changed is left out: its size may be RocksDB's default, where
    nothing tells that of the application.
    """
    known, before = catalogue(), result.baseline.configuration
    best = result.best.configuration if result.best else {}
    apart: dict[str, list[str]] = {"deployment": [], "workload": []}
    for name, value in best.items():
        section = known[name].section if name in known else ""
        kept = section == "deployment" and before.get(name) == value
        if section in apart and not kept:
            words = value_words(value, known[name])
            apart[section].append(f"`{known[name].key or name} = {words}`")
    cache, load = (", ".join(each) for each in apart.values())
    lines = [f"An OPTIONS file cannot hold the block cache. Set it in your program: {cache}."]
    if not cache:
        lines = ["An OPTIONS file cannot hold the block cache, and it was not tuned: keep yours."]
    if load:
        lines.append(f"Properties of the load, which no OPTIONS file can hold: {load}.")
    return lines


def file_section(
    result: Result, files: Sequence[tuple[str, str | None]], *, folded: bool = True
) -> Section:
    """How to use the OPTIONS file, where it holds, and the files by their titles."""
    job, load = result.job, result.job["workload"]
    scale = job.get("scale") or load.get("scale")
    where = f"measured {f'at scale 1/{scale} ' if scale else ''}"
    if result.confirmation:
        where = f"confirmed at scale 1/{result.confirmation['scale']} "
    rocksdb = result.environment.get("rocksdb")
    loaded = "on your own machines; RocksDB has not loaded this file yet"
    if rocksdb:
        loaded = f"with RocksDB {rocksdb}, which has loaded this file"
    lines = [
        "From a terminal: `rocktune options ID > OPTIONS.ini`. Keep your present OPTIONS file. "
        "Open a copy of your database with the new one (`rocksdb::LoadOptionsFromFile`) and run "
        "your own load on it, then use it in your program.",
        f"The file is at full scale. It was {where}on the workload {load['name']} {loaded}. "
        "Results differ with another load, machine or version: test the file on a copy of your "
        "database first, with your own load.",
    ]
    shown = [Code(title, text, folded=folded) for title, text in files if text]
    return Section("use", "How to use the file", [*(Text(line) for line in lines), *shown])
