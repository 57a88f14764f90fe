"""The comment at the top of an OPTIONS file that is handed over."""

from collections.abc import Sequence

from jobs.report.changed import beside_section
from jobs.report.verdict import change_words, limit_lines, price_lines, verdict_section
from jobs.results.figures import option_value
from optimizer.results.document import OptionChange, Result
from optimizer.trials.problem import Problem
from sampler.common.byte_size import format_bytes
from sampler.rocksdb.parameters import catalogue
from sampler.space.space import Configuration, memory_bytes
from sampler.workload.measurable import READS


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
    terms = ", ".join(
        f"{term.metric} {change_words(best.change[term.metric])}"
        for term in problem.objective.terms
    )
    reads = ", ".join(
        f"{name} {change_words(best.change[name])}" for name in READS if name in best.change
    )
    why = [f"{_set_to(row)}: {row.reason}" for row in best.changes]
    lines = [
        *(verdict_section(result).words if result.verdict else []),
        f"Tuned by Rocktune for the workload {workload.name}{how}, "
        f"objective {problem.objective.name}",
        f"Changes with 95% intervals: {terms}",
        *([f"Reads of the settled trees (measured, not tuned): {reads}"] if reads else []),
        *price_lines(result),
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
