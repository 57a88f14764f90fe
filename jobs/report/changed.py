"""What the winner changes and why it is better: options, path, contributions, alternatives."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import zip_longest
from typing import Any

from jobs.charts.changes import contributions_chart
from jobs.charts.chart import drawable
from jobs.report.section import Cell, Column, Section, Table, Text, columns
from jobs.report.verdict import some, traded_rows
from jobs.results.figures import estimate_words, option_value, step_words
from optimizer.explained import Estimate, Explanation, FewestChanges, PathStep
from optimizer.results.document import OptionChange, Result
from optimizer.results.ranking import Contributions
from sampler.rocksdb.parameters import Parameter, catalogue
from sampler.workload.metric_table import READS

TOP = 6
CAUTION = (
    "These gains are optimistic: they come from the runs that chose the values, mostly single "
    "ones and the best of several. Only the proof measures the gain of the whole configuration."
)


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


def changed_section(result: Result) -> Section:
    """The options that the winner changes: the largest predicted gain first."""
    if result.best is None:
        return Section("changed", "What changed", [])
    before, after = result.baseline.configuration, result.best.configuration
    gains = {row.name: _gained(row) for row in result.best.changes}
    rank = {row.name: row.rank for row in result.parameters}
    return options_section(before, after, gains, rank)


def _gained(row: OptionChange) -> Cell:
    """What a change gains by the models, and what else is known of it; else its reason."""
    if row.gain is None:
        return Cell(row.reason)
    words, reason = estimate_words(row.gain), row.reason.removeprefix("predicted fitness ")
    return Cell(words, reason.removeprefix(words).strip(" ,") if reason.startswith(words) else "")


def options_section(
    before: Mapping[str, Any],
    after: Mapping[str, Any],
    gains: Mapping[str, Cell] | None = None,
    rank: Mapping[str, int] | None = None,
) -> Section:
    """The options in which two configurations differ; ``gains`` by option tells why.

    Options are in the order of ``gains``, others by ``rank``. Those that another option turns off
    follow in one line, and what special values mean.
    """
    places, ranks = list(gains or ()), rank or {}

    def place(name: str) -> tuple[int, int]:
        last = len(ranks) + 1
        return places.index(name) if name in places else len(places), ranks.get(name, last)

    changed = sorted(changed_options(before, after), key=lambda each: place(each.name))
    active = [each for each in changed if each.name in after]
    off = [each.name for each in changed if each.name not in after]
    rows: list[Sequence[str | Cell]] = [
        (
            f"{each.name} (property of the load)" if each.factor else each.name,
            each.before,
            each.after,
            *([gains.get(each.name, Cell(""))] if gains else []),
        )
        for each in active
    ]
    titles = (("option",), ("baseline", "best"), *([("predicted fitness gain",)] if gains else []))
    special = [special_words(each.name, after[each.name]) for each in active]
    lines = [f"Inactive now: {', '.join(sorted(off))}."] * bool(off) + [*filter(None, special)]
    count = f"{len(rows)} {'option' if len(rows) == 1 else 'options'} changed"
    blocks = [Table(columns(*titles), rows)] if rows else [Text("No option differs.")]
    return Section("changed", count, [*blocks, *(Text(line) for line in lines)])


def special_words(name: str, value: Any) -> str | None:
    """What an option's special value, as 0 or -1, means, as a sentence; None for any other."""
    parameter = catalogue().get(name)
    meaning = parameter.meaning(value) if parameter else ""
    return f"{name} = {value}: {meaning}." if meaning else None


def beside_section(result: Result) -> Section:
    """What a reader should know beside the best: a sentence each."""
    lines = filter(None, [_starting_point(result), _no_trade(result), _fullest(result)])
    return Section("beside", "Beside the best", [Text(line) for line in lines])


def _starting_point(result: Result) -> str | None:
    """How far the best is ahead of the best starting point."""
    start = result.starting_point
    if start is None:
        return None
    said = f"starting point {start.name} (trial {start.trial})"
    if start.is_best:
        return f"The candidate is the {said}: the search found nothing as simple and as good."
    ahead = start.ahead
    if start.fitness is None or ahead is None:
        return None
    how, advice = "Not significantly better", ""
    if ahead.low > 0:
        how = "Better"
    elif ahead.high < 0:
        how, advice = "Worse", " Start from that point, or search longer."
    return (
        f"{how} than the best {said}, whose fitness in the proof is "
        f"{start.fitness:.0f} [{start.low:z.0f}, {start.high:z.0f}]; difference "
        f"{ahead.fitness:.0f} [{ahead.low:z.0f}, {ahead.high:z.0f}].{advice}"
    )


def _no_trade(result: Result) -> str | None:
    """The configuration that loses nothing."""
    untraded = result.no_trade
    if untraded is None:
        return None
    if untraded.is_best:
        if any(row.worse for row, _ in traded_rows(result)):
            return None  # beside the objective it has a cost, which the verdict names
        return "The best has no significant cost, and its mean is worse in no objective metric."
    terms = ", ".join(f"{name} {gain:+z.0f}" for name, gain in untraded.terms.items())
    limits = " ".join(f'--limit "{limit}"' for limit in untraded.limits)
    runs = "1 run" if untraded.runs == 1 else f"{untraded.runs} runs"
    return (
        f"Trial {untraded.trial} is not worse than the baseline in any objective metric, "
        f"fitness {untraded.fitness:.0f} ({terms}; {runs}): explored, not proven"
        f"{'' if READS[0] in untraded.metrics else '; its reads were not measured'}. "
        f"Its file: `rocktune pick ID {limits} --out DIR`."
    )


def _fullest(result: Result) -> str | None:
    """The candidate with more changes."""
    full = result.best.fullest if result.best else None
    if full is None:
        return None
    return (
        f"Simplified: trial {full.trial} with {full.changes} changes had fitness "
        f"{full.fitness:.0f}, this one {full.best_fitness:.0f}, each in {full.runs} "
        f"selection run{'s' * (full.runs != 1)}. File of trial {full.trial}: "
        "`rocktune options ID --fullest`."
    )


def path_section(result: Result) -> Section:
    """The path from the baseline to the winner, by the models of the job's trials."""
    if result.explanation is not None:
        return explanation_section(result.explanation, result.terms)
    withheld = withheld_words(result.explanation_withheld)
    return Section("path", _PATH, [Text(withheld)] if withheld else [])


_PATH = "Why it is better"


def withheld_words(withheld: Mapping[str, Any] | None) -> str | None:
    """Why a winner is not explained, as a sentence; None where it is, or there is none."""
    return f"Explanation {withheld['why']}." if withheld else None


def explanation_section(explanation: Explanation, metrics: list[str]) -> Section:
    """Steps from the baseline to the winner, and which changes suffice."""
    measured = explanation.measured
    runs = measured.steps if measured else []
    table_columns = [
        Column("step", figures=True),
        Column("change"),
        Column("fitness", figures=True),
        *([Column("measured", figures=True)] if runs else []),
        *(Column(name, figures=True) for name in metrics),
        Column("in the minimal file"),
    ]
    rows = [
        (
            str(place),
            step_words(step),
            estimate_words(step.gain),
            *([estimate_words(run.fitness) if run else ""] if runs else []),
            *(_metric(step.metrics.get(name)) for name in metrics),
            _needed(step, explanation.minimal),
        )
        for place, (step, run) in enumerate(zip_longest(explanation.steps, runs), 1)
        if step is not None
    ]
    winner = measured.winner if measured else None
    total = [estimate_words(winner.fitness) if winner else ""] if runs else []
    everything = ("", "all of them: the winner", estimate_words(explanation.predicted))
    rows.append((*everything, *total, *("" for _ in metrics), ""))
    lines = [*minimal_lines(explanation), basis_words(explanation)]
    chart = drawable([contributions_chart(explanation)])
    texts = [Text(line) for line in lines]
    return Section("path", _PATH, [*texts, *chart, Table(table_columns, rows)])


def _metric(estimate: Estimate | None) -> str | Cell:
    if estimate is None:
        return "n/a"
    return Cell(f"{estimate.expected:+.1f}%", f"{estimate.low:+.1f} to {estimate.high:+.1f}")


def _needed(step: PathStep, minimal: FewestChanges | None) -> str:
    if minimal is None or step.fixed:
        return ""
    return "kept" if any(each.name in minimal.kept for each in step.changes) else "left out"


def basis_words(explanation: Explanation) -> str:
    """What the figures rest on."""
    said = (
        f"Predicted by models of {explanation.trials} trials, with 95% intervals; each step "
        "adds to those before it, and where options depend on each other another order divides "
        "the gain differently"
    )
    measured = explanation.measured
    if measured is None:
        return f"{said}. Not measured; to measure the steps: `rocktune explain ID --runs 7`."
    return f"{said}. Measured: {measured.rounds} rounds on {measured.host}."


def minimal_lines(explanation: Explanation) -> list[str]:
    """Which changes suffice."""
    minimal = explanation.minimal
    if minimal is None:
        return ["The models do not predict a gain, so they cannot tell which changes are needed."]
    count = len(minimal.kept) + len(minimal.dropped)
    if not minimal.dropped:
        if count == 1:
            return ["The only change is kept: the trials do not show it to be unnecessary."]
        return [f"All {count} changes are kept: the trials show none of them to be unnecessary."]
    loss = minimal.loss
    against = Estimate(expected=-loss.expected, low=-loss.high, high=-loss.low)
    lines = [
        f"By the models, {len(minimal.kept)} of the {count} changes suffice: "
        f"{some(minimal.kept)}. Not needed: {some(minimal.dropped)}.",
        "Predicted fitness with these changes alone, relative to the winner: "
        f"{estimate_words(against)} (allowed: {-minimal.noise:.0f}).",
    ]
    if minimal.refused:
        lines.append(f"RocksDB rejects the file with the fewest changes: {minimal.refused}.")
    judged = explanation.measured.minimal if explanation.measured else None
    if judged is not None:
        shown = "not worse" if judged.shown else "not shown to be as good"
        lines.append(f"Fewest changes, measured: {shown}; {judged.why}.")
    return lines


def contributed_section(found: Contributions | None, top: int | None = None) -> Section:
    """What each parameter gained in a search that varies one by one; the ``top`` alone."""
    if found is None:
        return Section("contributed", _CONTRIBUTED, [])
    lines = [f"Greedy search: {found.why}."]
    if found.idle:
        lines.append(f"Skipped, as they had no effect: {', '.join(found.idle)}.")
    lines.append(CAUTION if found.parameters else "No value was better than those it began with.")
    shown, known = found.parameters[:top], catalogue()
    metrics = list(dict.fromkeys(metric for row in shown for metric in row.change))
    of = len(found.parameters)
    first = "parameter" if len(shown) == of else f"top {len(shown)} of {of} contributors"
    rows = [
        (
            row.name,
            *("" if end is None else option_value(end, known.get(row.name))
              for end in (row.before, row.after)),
            str(row.values or ""),
            *(f"{row.change[m]:+.1f}%" if m in row.change else "" for m in metrics),
            f"{row.gain:+z.0f}",
            "" if row.share is None else f"{row.share:.1f}%",
        )
        for row in shown
    ]  # fmt: skip
    titles = columns((first, "from", "to"), ("values tried", *metrics, "fitness", "share"))
    table = [Table(titles, rows)] if rows else []
    return Section("contributed", _CONTRIBUTED, [*table, *(Text(line) for line in lines)])


_CONTRIBUTED = "What each parameter contributed"


def warm_start_lines(result: Result) -> list[str]:
    """A sentence for each earlier job; none where nothing was asked for or taken."""
    lines = []
    for row in result.warm_start:
        agreed = ", ".join(f"{metric} {value:.2f}" for metric, value in row.agreement.items())
        lines.append(
            f"Warm start: {row.trials} of {row.of} trials of job {row.job} "
            f"({row.workload}); agreement with this job (0 to 1): {agreed}."
        )
    return lines
