"""A job's OPTIONS file: its comment, what it changes, how that is applied, and how it is used."""

from collections.abc import Sequence
from dataclasses import dataclass

from db.schema.job_row import JobRow
from jobs.report.changed import beside_section, changed_options
from jobs.report.section import Block, Cell, Code, Items, Section, Table, Text, columns
from jobs.report.verdict import change_words, limit_lines, memory_lines, verdict_section
from jobs.results.figures import option_value, value_words
from jobs.specification.resolved_job import resolve_stored
from optimizer.results.document import OptionChange, Result
from optimizer.trials.problem import Problem
from sampler.common.text import format_bytes
from sampler.rocksdb.application import application_steps
from sampler.rocksdb.changes import PlannedChange, Steps, steps_of
from sampler.rocksdb.forms import read_user_options
from sampler.rocksdb.measured_part import without_derived
from sampler.rocksdb.option_values import title_of, write_values
from sampler.rocksdb.options_file import OptionsFile, leaves, parse_options
from sampler.rocksdb.parameters import Parameter, catalogue
from sampler.space.space import Configuration, memory_bytes
from sampler.workload.metric_table import READS


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
    parameter: Parameter | None  # None of an option that is not in the catalogue

    @property
    def differs(self) -> bool:
        """Whether more differs than that one side names the default."""
        return bool(self.change.before != self.change.after)

    @property
    def change(self) -> PlannedChange:
        """With RocksDB's own value for the side that does not name it."""
        sides = [self.default if said is None else said for said in (self.before, self.after)]
        return PlannedChange(self.section, self.key, *sides)


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
        sides = (before.get(place), after.get(place), default)
        line = OptionLine(own.own_title(place[0]), place[1], *sides, parameter)
        lines += [line] if line.differs else []
    return lines


def difference_section(result: Result, diff: Sequence[OptionLine], steps: Steps) -> Section:
    """Each option that the file changes: both values, its rank, how it is applied, and why.

    ``steps`` are those of ``diff``, in its order.
    """
    title = "What the file changes"
    if not diff:
        return Section("diff", title, [Text("No option in the file differs from the baseline.")])
    best = result.best
    why = {each.name: each.reason for each in best.changes} if best else {}
    rank = {each.name: str(each.rank) for each in result.parameters}
    rows: list[Sequence[str | Cell]] = [
        (
            Cell(line.key, line.section, anchor=f"option-{line.key}"),
            _file_value(line, line.before),
            _file_value(line, line.after),
            Cell(rank[name], link="parameter", to=name) if name in rank else "-",
            how.how if how else "not known",
            how.when if how else "not known",
            why.get(name, ""),
            line.parameter.help if line.parameter else "",
        )
        for line, (_, how) in zip(diff, steps.rows, strict=True)
        for name in [line.parameter.name if line.parameter else ""]
    ]
    titles = (("option", "baseline", "this file"), ("rank",), _HOW)
    caption = "OPTIONS.ini compared with the baseline's file, at full scale."
    if best:
        caption += f" Measured in trial {best.trial}."
    outside = [Text(line) for line in outside_lines(result)]
    return Section("diff", title, [Table(columns(*titles), rows, caption), *outside])


_HOW = ("changed by", "takes effect", "why", "description")


def _file_value(line: OptionLine, said: str | None) -> Cell:
    """What a file says of an option; else RocksDB's own value."""
    value = said if said is not None else line.default
    notes = []
    is_bytes = line.parameter is not None and line.parameter.is_bytes
    if is_bytes and value is not None and value.isdecimal() and int(value) >= _KIB:
        notes.append(format_bytes(int(value)) + ("/s" if line.key.endswith("_rate") else ""))
    if said is None:
        notes.append("RocksDB's default")
    return Cell("not set" if value is None else value, ", ".join(notes))


_KIB = 1024


def steps_of_best(result: Result, text: str) -> Steps:
    """How what the best configuration changes is applied, by the job's file."""
    file = read_user_options(text, family=result.job.column_family)
    known, best = catalogue(), result.best.configuration if result.best else {}
    changed = changed_options(result.baseline.configuration, best)
    places = [
        (title_of(known[each.name]), known[each.name].key)
        for each in changed
        if each.name in best and each.name in known and known[each.name].is_option
    ]
    changes = [PlannedChange(file.own_title(at[0]), at[1], None, file.get(*at)) for at in places]
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
    scale, load = result.job.ran_scale, result.job.workload
    where = f"measured {f'at scale 1/{scale} ' if scale else ''}"
    if result.confirmed_scale:
        where = f"confirmed at scale 1/{result.confirmed_scale} "
    rocksdb = result.environment.rocksdb
    who = "by your own command" if load.command else "by your own runner"
    loaded = f"{who}; RocksDB has not loaded this file yet"
    if rocksdb:
        loaded = f"with RocksDB {rocksdb}, which has loaded this file"
    lines = [
        "From a terminal: `rocktune options ID > OPTIONS.ini`. Keep your present OPTIONS file. "
        "Open a copy of your database with the new one (`rocksdb::LoadOptionsFromFile`) and run "
        "your own load on it, then use it in your program.",
        f"The file is at full scale. It was {where}on the workload {load.name} {loaded}. "
        "Results differ with another load, machine or version: test the file on a copy of your "
        "database first, with your own load.",
    ]
    shown = [Code(title, text, folded=folded) for title, text in files if text]
    return Section("use", "How to use the file", [*(Text(line) for line in lines), *shown])


def describe(problem: Problem, result: Result, *, tried: bool) -> list[str]:
    """What the file was tuned for and how sure that is: its comment lines.

    ``tried``: RocksDB has loaded the file. Something was proven better.
    """
    best, workload = result.best, problem.workload
    assert best is not None
    scales = f"measured at scale 1/{workload.scale}"
    if problem.confirm is not None:
        scales = f"searched at scale 1/{workload.scale}, confirmed at 1/{problem.confirm.scale}"
    how = f" (settle = {workload.settle}, {scales})" if workload.by_db_bench else ""
    named = [*(term.metric for term in problem.objective.terms), *READS]
    told = ", ".join(f"{name} {change_words(best.change[name])}" for name in named
                     if name in best.change)  # fmt: skip
    why = [f"{_set_to(row)}: {row.reason}" for row in best.changes]
    lines = [
        *(verdict_section(result).words if result.verdict else []),
        f"Tuned by Rocktune for the workload {workload.name}{how}, "
        f"objective {problem.objective.name}",
        f"Changes with 95% intervals: {told}",
        *memory_lines(result),
        *(["Changed options, with reasons:", *why] if why else []),
        *beside_section(result).words,
    ]
    limits = limit_lines(result)
    return lines + about_configuration(problem, best.configuration, limits, tried=tried)


def describe_minimal(problem: Problem, result: Result, *, tried: bool) -> list[str]:
    """What the file with the fewest changes is, and that models alone speak for it."""
    best, minimal = result.best, result.explanation.minimal if result.explanation else None
    assert best is not None and minimal is not None
    kept, dropped, loss = minimal.kept, minimal.dropped, minimal.loss
    lines = [
        f"Tuned by Rocktune for the workload {problem.workload.name}: the fewest changes, "
        f"{len(kept)} of {len(kept) + len(dropped)}, that keep the gain of trial {best.trial}",
        "Predicted by models of the job's trials, not measured: fitness "
        f"{-loss.expected:+z.0f} [{-loss.high:+z.0f}, {-loss.low:+z.0f}] "
        f"relative to the {best.fitness:.0f} of trial {best.trial}",
        f"As in the baseline: {', '.join(dropped)}",
    ]
    return lines + about_configuration(problem, minimal.configuration, tried=tried)


def describe_fullest(problem: Problem, result: Result, *, tried: bool) -> list[str]:
    """What the file with most changes is, and that it was measured and not proven."""
    best, full = result.best, result.best.fullest if result.best else None
    assert best is not None and full is not None
    lines = [
        f"Tuned by Rocktune for the workload {problem.workload.name}: trial {full.trial} with "
        f"all its {full.changes} changes, explored and not proven",
        f"Fitness {full.fitness:.0f} in {full.runs} selection runs; the simpler trial "
        f"{best.trial}, which was proven, had {full.best_fitness:.0f}",
    ]
    return lines + about_configuration(problem, full.configuration, tried=tried)


def _set_to(row: OptionChange) -> str:
    """A changed option, and beside a special value what it means."""
    parameter = catalogue().get(row.name)
    meaning = parameter.meaning(row.value) if parameter else ""
    return f"{row.name} = {option_value(row.value, parameter)}{f' ({meaning})' if meaning else ''}"


def about_configuration(
    problem: Problem,
    configuration: Configuration,
    limits: Sequence[str] = (),
    *,
    tried: bool = True,
) -> list[str]:
    """Its memory, lines on limits, and what no OPTIONS file can hold: a line each.

    ``tried``: RocksDB has loaded the file.
    """
    values, known = problem.space.complete(configuration), catalogue()
    memory = format_bytes(memory_bytes(values))
    lines = [f"Memtables and block cache: {memory}", *limits]
    if not tried:
        how = "by your own command" if problem.workload.command else "elsewhere"
        lines.append(f"Measured {how}: RocksDB has not loaded this file")
    for name in [*known, *(name for name in configuration if name not in known)]:
        said = f"{name} = {values.get(name)}"
        if name not in known:
            lines.append(f"Set {said} yourself: not an option of RocksDB")
        elif name in configuration and known[name].section == "deployment":
            if values[name] == problem.space.context[name]:
                kept = "measured as in the baseline; keep that of the application"
                lines.append(f"{said}: {kept}, which an OPTIONS file cannot hold")
            else:
                lines.append(f"Set {said} in the application: an OPTIONS file cannot hold it")
        elif name in configuration and not known[name].is_option:
            lines.append(f"Measured with {said}: a setting of the workload, not an option")
    return lines
