"""The OPTIONS file that is handed over: at production scale, tried with the real db_bench."""

from collections.abc import Mapping, Sequence
from typing import Any

from jobs.results.best_words import (
    beside_lines,
    change_lines,
    price_lines,
    read_lines,
    tested_fitness,
)
from jobs.results.output_folder import OPTIONS
from optimizer.objective.objective import kept_words
from optimizer.trials.problem import Problem
from sampler.bench.bench_plan import BenchPlan, effective_values, unmet_values
from sampler.bench.installed import InstalledDbBench, try_options
from sampler.common.byte_size import format_bytes
from sampler.common.errors import InputError
from sampler.options.application import FIRST, application_steps
from sampler.options.measured_part import measured_part, without_derived
from sampler.options.normal_form import read_user_options
from sampler.options.options_file import OptionsFile, format_options, leaves
from sampler.options.patch import changes_to, difference, patched
from sampler.parameters.catalogue import catalogue
from sampler.profile.application_objects import as_it_was
from sampler.space.space import Configuration, memory_bytes

_UNTRIED_VERSION = "7.8.3"  # the catalogue's, where no db_bench is at hand


class ExportRefusedError(RuntimeError):
    """RocksDB does not take the file, or not as it was meant; the reason is in its words."""

    def __init__(self, reason: str, text: str = "") -> None:
        super().__init__(reason)
        self.text = text


def export_options(
    plan: BenchPlan,
    installed: InstalledDbBench | None,
    configuration: Configuration,
    comments: list[str],
) -> str:
    """The text of the OPTIONS file at full scale, once the real db_bench has loaded it.

    Its first lines name what the program must set itself; ``comments`` follow. A user's own file
    stays as it is, byte for byte, but for what has changed in it. With a benchmark of the user's
    own there may be no db_bench installed: then the file is not tried.

    Raises:
        ExportRefusedError: RocksDB refuses it, or a value in effect is not the intended one.
    """
    options = plan.export(configuration)
    version = installed.version if installed else _UNTRIED_VERSION
    said = [*comments, *(f"Not measured as in your file: {note}" for note in plan.notes)]
    if plan.text is None:
        # An older RocksDB cannot read the version of a file of the user's that is newer.
        mine = tuple(int(part) for part in version.split(".") if part.isdecimal())
        own = plan.baseline_file.version
        written = version if own is None or own <= mine else ".".join(map(str, own))
        text = format_options(options, rocksdb_version=written, comments=said)
    else:
        text, options = _patched(plan.text, options, said)
    text = _with_steps(text)
    if installed is None:
        return text
    part = measured_part(plan.taken(options), 1)
    tried = try_options(installed.program, part)
    if tried.options is None:
        raise ExportRefusedError(f"RocksDB {version} rejects the file: {tried.complaint}", text)
    # A value that equals the default is not in the file, and can be changed all the same.
    _, repaired = effective_values(tried.options, configuration, plan.space, scale=1)
    # What the user's own file says and nobody moved is the user's.
    values = plan.space.complete(configuration)
    moved = {n: p for n, p in catalogue().items() if plan.moved(n, values)}
    changed = dict.fromkeys([*unmet_values(part, tried.options, moved), *repaired])
    if changed:
        reason = f"RocksDB {version} changes the file: {'; '.join(changed)}"
        raise ExportRefusedError(reason, text)
    return text


def _with_steps(text: str) -> str:
    """The file with what the program must set itself at its top."""
    newline = "\r\n" if "\r\n" in text else "\n"
    lines = [FIRST, *(f"- {step}" for step in application_steps(text))]
    return "".join(f"# {line}{newline}" for line in lines) + text


def _patched(own: str, wanted: OptionsFile, comments: list[str]) -> tuple[str, OptionsFile]:
    """The user's text with what is wanted of the family in it, and what that says."""
    family = wanted.family
    if own.startswith("\ufeff"):
        comments = [*comments, "The byte order mark of your file is removed: RocksDB refuses it"]
    changes = changes_to(read_user_options(own, family=family), wanted)
    text = patched(own, changes, comments=comments)
    try:
        found = read_user_options(text, family=family)
    except InputError as error:
        problem = f"your OPTIONS file cannot be read after the changes: {error.problem}"
        raise ExportRefusedError(problem, text) from None
    said, meant = (dict(leaves(without_derived(each))) for each in (found, wanted))
    wrong = [place for place in said | meant if said.get(place) != meant.get(place)]
    if wrong:
        keys = ", ".join(key for _, key in wrong)
        problem = f"your OPTIONS file has lines that cannot be changed: {keys}"
        raise ExportRefusedError(problem, text)
    return text, found


def difference_of(job: Mapping[str, Any], options: str | None) -> str | None:
    """What a job's OPTIONS file changes in the user's own; None where either is not there.

    ``job`` is its specification as result.json holds it.
    """
    own = job.get("baseline_options")
    if own is None or options is None:
        return None
    return difference(as_it_was(own), options, names=("OPTIONS", OPTIONS))


def describe(problem: Problem, result: Mapping[str, Any], *, tried: bool) -> list[str]:
    """What the file was tuned for and how sure that is: its comment lines."""
    best, workload, verdict = result["best"], problem.workload, result.get("verdict") or {}
    changes = ", ".join(
        f"{term.metric} {best['change'][term.metric]['percent']:+.1f}% "
        f"[{best['change'][term.metric]['low']:+.1f}, {best['change'][term.metric]['high']:+.1f}]"
        for term in problem.objective.terms
    )
    fitness = tested_fitness({"fitness": best["fitness"], **verdict})
    scales = f"measured at scale 1/{workload.scale}"
    if problem.confirm is not None:
        scales = f"searched at scale 1/{workload.scale}, confirmed at 1/{problem.confirm.scale}"
    how = f" (settle = {workload.settle}, {scales})" if workload.by_db_bench else ""
    lines = [
        *([str(verdict["trade"])] if verdict.get("trade") else []),
        f"Tuned by Rocktune for the workload {workload.name}{how}",
        f"Objective {problem.objective.name}: fitness {fitness:.0f} (baseline: 0), "
        f"{best['runs']} paired runs",
        f"Changes with 95% intervals: {changes}",
        *read_lines(result),
        *price_lines(result),
    ]  # fmt: skip
    why = change_lines(result)
    lines += [*(["Changed options, with reasons:"] if why else []), *why, *beside_lines(result)]
    limits = [f"Limit {kept_words(row)}" for row in verdict.get("limits", [])]
    return lines + about_configuration(problem, best["configuration"], limits, tried=tried)


def describe_minimal(problem: Problem, result: Mapping[str, Any], *, tried: bool) -> list[str]:
    """What the file with the fewest changes is, and that models alone speak for it."""
    best, minimal = result["best"], result["explanation"]["minimal"]
    kept, dropped, loss = minimal["kept"], minimal["dropped"], minimal["loss"]
    lines = [
        f"Tuned by Rocktune for the workload {problem.workload.name}: the fewest changes, "
        f"{len(kept)} of {len(kept) + len(dropped)}, that keep the gain of trial {best['trial']}",
        "Predicted by models of the job's trials, not measured: fitness "
        f"{-loss['expected']:+z.0f} [{-loss['high']:+z.0f}, {-loss['low']:+z.0f}] "
        f"relative to the {best['fitness']:.0f} of trial {best['trial']}",
        f"As in the baseline: {', '.join(dropped)}",
    ]
    return lines + about_configuration(problem, minimal["configuration"], tried=tried)


def describe_fullest(problem: Problem, result: Mapping[str, Any], *, tried: bool) -> list[str]:
    """What the file with most changes is, and that it was measured and not proven."""
    best, full = result["best"], result["best"]["fullest"]
    lines = [
        f"Tuned by Rocktune for the workload {problem.workload.name}: trial {full['trial']} with "
        f"all its {full['changes']} changes, explored and not proven",
        f"Fitness {full['fitness']:.0f} in {full['runs']} selection runs; the simpler trial "
        f"{best['trial']}, which was proven, had {full['best_fitness']:.0f}",
    ]
    return lines + about_configuration(problem, full["configuration"], tried=tried)


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
