"""What the proof says: the verdict, gains and costs, every metric, limits, and what to do next."""

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from jobs.charts.changes import changes_chart, fitness_terms_chart
from jobs.charts.chart import drawable
from jobs.report.section import Cell, Column, Items, Section, Table, Text
from jobs.results.figures import amount_with_unit, metric_amount
from optimizer.budget.budget import confirmation_words
from optimizer.budget.power import (
    ALPHA,
    LEAST_PAIRS,
    p_figure,
    percent_words,
    sample_size_words,
    smallest_change,
)
from optimizer.confirmation.paired_tests import Change, JudgedLimit
from optimizer.evaluation.machine_effect import machine_words
from optimizer.results.document import Result
from optimizer.results.price import Traded, traded
from sampler.workload.metric_table import (
    COLD,
    READS,
    format_change,
    format_points,
    is_share,
    metric_help,
    shown_in,
)

_MARKS = ("better", "worse", "not significant")
_NOISY = 0.05  # of the median: a baseline that scatters more hides a usual gain
_MOST_NAMED = 8


def verdict_section(result: Result) -> Section:
    """Better or not and at what cost, then the test that says so."""
    verdict, best = result.verdict, result.best
    if verdict is None:
        line = "No candidate could be measured against the baseline."
        return Section("verdict", "Result", [Text(line, "strong")])
    better = "Better" if best else "Nothing was proven better"
    trade = verdict.trade or f"{better} than the baseline"  # an earlier version has none
    test, trial = ("Proof", best.trial) if best else ("Test", verdict.trial)
    of = "" if trial is None else f"trial {trial}, "
    why = f"{test}: {of}{verdict.why}."
    return Section("verdict", "Result", [Text(f"{trade}.", "strong"), Text(why, "dim")])


def traded_rows(result: Result) -> list[tuple[Traded, str]]:
    """The metrics of the trade-off with their marks: gains, then costs, then the rest.

    A mark is ``better`` or ``worse`` where that is shown beside all other rows, else ``not
    significant``. A metric that did not move in any run is left out. Of jobs of earlier versions,
    whose p-values are not adjusted, the intervals decide.
    """
    if result.verdict is None:
        return []
    rows = [
        (row, _MARKS[0 if row.better else 1 if row.worse else 2])
        for row in traded(result.objective, result.verdict.change)
        if (row.change.low or row.change.high) and row.metric in result.baseline.metrics
    ]
    return sorted(rows, key=lambda pair: _MARKS.index(pair[1]))


def trade_section(result: Result) -> Section:
    """Gains and costs: each metric that a verdict may name."""
    verdict, rows = result.verdict, traded_rows(result)
    if verdict is None or not rows:
        return Section("trade", "Gains and costs", [])
    level, terms = result.baseline.metrics, result.terms
    cells = [
        (
            row.name if row.metric in terms else Cell(row.metric, row.name),
            amount_with_unit(level[row.metric], row.metric),
            amount_with_unit(verdict.metrics[row.metric], row.metric),
            _change_cell(row.metric, row.change, level, verdict.metrics, mark),
        )
        for row, mark in rows
    ]
    note = f"Medians of {verdict.pairs} paired runs; changes with 95% intervals."
    if any(name in verdict.change for name in READS):
        note += (
            f" Reads: operations/s on the database that each side left, ...{COLD} with nothing in "
            "the page cache; not tuned."
        )
    apart = [
        row.name
        for row, mark in rows
        if mark == _MARKS[2] and not row.change.low <= 0 <= row.change.high
    ]
    if apart:
        note += (
            f" Not significant beside {len(rows) - 1} other metrics: {', '.join(apart)}. Among so "
            "many intervals one may exclude 0 by chance; the marks allow for that (Holm's "
            "correction)."
        )
    named = {row.metric for row, _ in rows}
    tails = [
        f"{name} {amount_with_unit(level[name], name)} -> {amount_with_unit(now, name)} "
        f"({change_words(verdict.change[name])})"
        for name in _TAILS
        if name in verdict.change and name in level and name not in named
        and (now := verdict.metrics.get(name)) is not None
    ]  # fmt: skip
    if tails:
        note += f" Latencies, not judged: {', '.join(tails)}."
    table = Table(_columns(result), cells)
    return Section("trade", "Gains and costs", [table, Text(note, "dim")])


_TAILS = ("write_p99", "read_p99")


def _columns(result: Result) -> list[Column]:
    sides = ("baseline", "best" if result.best else "candidate")
    change = Column("change", figures=True, under="95% interval")
    return [Column("metric"), *(Column(side, figures=True) for side in sides), change]


def _change_cell(
    metric: str,
    change: Change,
    before: Mapping[str, float | None],
    after: Mapping[str, float | None],
    mark: str = "",
) -> Cell:
    """A change with its interval; of a percentage the difference of the medians beside it."""
    level, now = before[metric], after[metric]
    low, high = (format_change(metric, end, level) for end in (change.low, change.high))
    if not is_share(metric):
        return Cell(format_change(metric, change.percent, level), f"{low} to {high}", mark)
    ends = f"{low.removesuffix(' points')} to {high}" if level else "n/a"
    points = "n/a" if level is None or now is None else format_points(now - level)
    return Cell(points, ends, mark)


def proof_section(result: Result) -> Section:
    """Every metric that the proof measured, its plots, and what the pairs could have shown."""
    verdict, level, terms = result.verdict, result.baseline.metrics, result.terms
    title = f"Baseline versus {'best' if result.best else 'best candidate'}"
    if verdict is None:
        return Section("proof", title, [])
    names = [*terms, *(name for name in shown_in("proof") if name not in terms)]
    names = [name for name in names if name in verdict.change and name in level]
    rows = [
        (
            Cell(name, metric_help(name)),
            amount_with_unit(level[name], name),
            amount_with_unit(verdict.metrics[name], name),
            _change_cell(name, verdict.change[name], level, verdict.metrics),
            p_figure(verdict.change[name].p),
        )
        for name in names
    ]
    where = confirmation_words(result.confirmation)
    caption = (
        f"Medians of {verdict.pairs} paired runs, interleaved. A change is the geometric mean of "
        "the ratios of the pairs, of a percentage the points between its medians; with its 95% "
        "interval and its p by itself."
        + (f" {where}. The other tables and plots show the search." if where else "")
    )
    columns = [*_columns(result), Column("p", figures=True)]
    drawn = {name: verdict.change[name] for name in names}
    chart = changes_chart(drawn, result.objective.terms, detectable(result))
    lines = [*price_lines(result), *power_lines(result)]
    texts = [Text(line) for line in lines]
    return Section("proof", title, [Table(columns, rows, caption), *drawable([chart]), *texts])


def terms_section(result: Result, found: dict[str, float] | None = None) -> Section:
    """What each metric adds to the fitness; ``found``: in the single run that found the winner."""
    verdict, chart = result.verdict, None
    if verdict is not None:
        changes = {name: each.percent for name, each in verdict.change.items()}
        proven = result.objective.gains_of_changes(changes)
        chart = fitness_terms_chart(result.terms, proven, found or {})
    return Section("terms", "Fitness by metric", drawable([chart]))


def detectable(result: Result) -> dict[str, float]:
    """By metric, the smallest change in percent that the proof shows 8 times in 10.

    Where the result does not hold it, it follows from the baseline's spread and the number of
    pairs, by the same calculation.
    """
    if result.power is not None:
        known = result.power.smallest_change.items()
        return {name: value for name, value in known if value is not None}
    if result.verdict is None or result.verdict.pairs < 2:
        return {}
    return {
        name: 100 * smallest_change(noise.spread, result.verdict.pairs)
        for name, noise in result.baseline.noise.items()
        if noise.spread is not None
    }


def power_lines(result: Result) -> list[str]:
    """The smallest change that the proof shows, and what was planned for one."""
    known, power, verdict = detectable(result), result.power, result.verdict
    shown = [f"{m.upper()} {percent_words(known[m])}" for m in result.terms if m in known]
    if not shown or verdict is None:
        return []
    level = 0.8 if power is None else power.level
    fitness = "" if power is None or power.fitness is None else f"; fitness {power.fitness:.0f}"
    lines = [
        f"Minimum detectable change ({100 * level:.0f}% power, {verdict.pairs} pairs): "
        f"{', '.join(shown)}{fitness}. A smaller change can go undetected."
    ]
    if power is not None and power.planned is not None:
        lines.append(f"Planned: {sample_size_words(power.planned)}.")
    return lines


def limit_lines(result: Result) -> list[str]:
    """A sentence for each limit."""
    return [
        f"Limit {limit.limit} was not judged: there is no proof."
        if limit.kept is None
        else f"Limit {limit.words}."
        for limit in result.limits
    ]


def limits_section(result: Result) -> Section:
    """How the winner stands to each limit."""
    columns = [
        Column("limit"),
        *(Column(name, figures=True) for name in ("bound", "margin")),
        Column("best" if result.best else "candidate", figures=True),
        Column("runs within it", figures=True),
        Column("kept"),
    ]
    rows = [
        (
            limit.limit,
            _bound(limit),
            "-" if limit.margin is None else f"{limit.margin:.1f}%",
            amount_with_unit(limit.value, limit.metric),
            "" if limit.runs is None else f"{limit.runs_kept} of {limit.runs}",
            "not judged"
            if limit.kept is None
            else "kept"
            if limit.kept
            else limit.standing or "broken",
        )
        for limit in result.limits
    ]
    caption = (
        "A configuration that breaks a limit is never proven better, whatever its fitness. A "
        "limit is kept where its confidence bound (95%, of a limit in figures 97.5%) lies within "
        "its margin, which was fixed before the "
        "runs; without a margin (jobs of earlier versions) the median of the paired runs decides. "
        "For a multiple of the baseline, each run is counted against the baseline run of its "
        "pair. Plots of single runs exclude those that break a limit."
    )
    return Section("limits", "Limits", [Table(columns, rows, caption)] if rows else [])


def _bound(limit: JudgedLimit) -> str:
    sides = (("at least", limit.at_least), ("at most", limit.at_most))
    return ", ".join(
        f"{side} {amount_with_unit(value, limit.metric)}"
        for side, value in sides
        if value is not None
    )


def price_lines(result: Result) -> list[str]:
    """A sentence each on losses over 20%, on memory, and on why reads were not measured."""
    lost = result.verdict.price.losses if result.verdict else []
    level = result.baseline.metrics
    rows = [f"{row.name} {change_words(row, row.metric, level.get(row.metric))}" for row in lost]
    return [*([f"Costs over 20%: {', '.join(rows)}."] if rows else []), *memory_lines(result)]


def memory_lines(result: Result) -> list[str]:
    """A sentence each on memory, and on why reads were not measured."""
    verdict, level = result.verdict, result.baseline.metrics
    if verdict is None:
        return []
    unread, lines = verdict.price.not_measured, []
    amounts = {
        name: f"{metric_amount(level[name], name)} -> {metric_amount(now, name)} "
        f"({change_words(verdict.change[name])})"
        for name in ("memory", "peak_rss")
        if name in verdict.change and (now := verdict.metrics.get(name)) is not None
    }
    if len(amounts) == 2:
        lines.append(
            f"Memory configured at full scale: {amounts['memory']}; peak memory of the "
            f"measured process: {amounts['peak_rss']}."
        )
    for why in dict.fromkeys(unread.values()):
        names = [name for name, said in unread.items() if said == why]
        which = "Reads" if len(names) == len(READS) else ", ".join(names)
        lines.append(f"{which} were not measured: {why}.")
    return lines


def change_words(change: Change, metric: str = "", level: float | None = None) -> str:
    """A change with its interval; of a percentage such as stalls in points over its ``level``."""
    low, high = change.low, change.high
    if is_share(metric):
        if not level:
            return "from 0%"
        ends = [format_change(metric, end, level).removesuffix(" points") for end in (low, high)]
        return f"{format_change(metric, change.percent, level)} [{', '.join(ends)}]"
    interval = "" if low == high else f" [{low:+.1f}, {high:+.1f}]"
    return f"{change.percent:+z.1f}%{interval}"


def noise_line(result: Result) -> str:
    """How steady the baseline was, metric by metric."""
    parts = []
    for metric in result.terms:
        noise = result.baseline.noise.get(metric)
        if noise and noise.spread is not None:
            drift = ", drifting (corrected)" if noise.drifting else ""
            parts.append(f"{metric} {100 * noise.spread:.1f}%{drift}")
    machine = machine_words(result.machine)
    return f"Noise of the baseline: {'; '.join(parts)}." + (f" {machine}." if machine else "")


def reasons_section(result: Result) -> Section:
    """Why nothing was proven; without lines where something was."""
    verdict = result.verdict
    lines: list[str] = []
    if verdict is None:
        counts = result.trials
        lines.append(
            "No new configuration could be compared with the baseline: "
            f"{counts.done} of {counts.total} runs succeeded."
        )
    elif result.best is None:
        if only_limits_failed(result):
            lines.append("The candidate is better, but a limit stands against it.")
        if verdict.low is not None and verdict.high is not None:
            lines.append(
                f"The 95% interval of the candidate's fitness is {verdict.low:.0f} to "
                f"{verdict.high:.0f}. A proof needs it entirely above 0, and every limit shown to "
                "be kept."
            )
        noise = {name: result.baseline.noise.get(name) for name in result.terms}
        spread = {name: each.spread or 0.0 for name, each in noise.items() if each}
        noisy = [f"{name} {100 * s:.0f}%" for name, s in spread.items() if s > _NOISY]
        if noisy:
            told = ", ".join(noisy)
            lines.append(f"The baseline is noisy (standard deviation over median): {told}.")
    lines += limit_lines(result) if result.best is None else []
    return Section("reasons", "Why nothing was proven", [Items(lines)] if lines else [])


def only_limits_failed(result: Result) -> bool:
    """Whether the deciding test passed, and the limits alone stand against the candidate."""
    verdict = result.verdict
    if verdict is None or verdict.p is None or all(limit.kept for limit in verdict.limits):
        return False
    return verdict.p < ALPHA and verdict.pairs >= LEAST_PAIRS


def limit_advice(result: Result) -> list[str]:
    """What to do about limits that are broken, or not shown to be kept: a sentence each."""
    missed = [limit for limit in result.verdict.limits if not limit.kept] if result.verdict else []
    unsure = [limit.limit for limit in missed if limit.is_open]
    broken = [limit.limit for limit in missed if not limit.is_open]
    lines = []
    if unsure:
        lines.append(
            f"Show that {some(unsure)} is kept, as the median says: "
            "more pairs (`--detect 5%`), a longer workload, a quieter machine (`rocktune doctor`)."
        )
    if broken:
        lines.append(f"Loosen the limit {some(broken)}, if that is acceptable.")
    if missed:
        lines.append("See measured configurations that keep the limits: `rocktune pick ID`.")
    return lines


def next_section(result: Result, out: Path | None = None) -> Section:
    """What to do next; ``out`` is the folder with the job's files, if there is one."""
    return Section("next", "What to do next", [Items([*_next_steps(result, out)])])


def _next_steps(result: Result, out: Path | None) -> Iterator[str]:
    if result.verdict is None:
        yield "Check the machine: `rocktune doctor`."
        return
    if refused := result.export.refused:
        if not out:  # `tune` ends with it
            yield f"There is no OPTIONS file: {refused}."
    elif result.best:
        file = f"{out}/OPTIONS.ini" if out else "the file of `rocktune options ID`"
        named = result.export.application  # none in a job of an earlier version
        own = f": {', '.join(named)} (first lines of the file)" if named else ""
        yield f"Set in your program what no OPTIONS file holds{own}."
        yield f"Open a copy of your database with {file}, and run your load on it."
        yield from _how_taken(result)
    else:
        limits = limit_advice(result)
        yield from limits
        if not only_limits_failed(result):
            yield (
                "Prove smaller changes: more pairs (`--detect 5%`), a longer workload, or a "
                "quieter machine (`rocktune doctor`)."
            )
        yield "Search more: more `--trials`; a warm start learns from the trials of this job."
        if not limits:
            yield "See the best measured configurations, not proven: `rocktune pick ID`."
        yield "Or keep the baseline: it may already be good for this load and machine."


def _how_taken(result: Result) -> Iterator[str]:
    """How a running database takes the changes."""
    rows = [row for row in (result.best.changes if result.best else ()) if row.apply]
    at_once = [row.name for row in rows if row.apply and row.apply.call]
    restart = ", ".join(row.name for row in rows if row.name not in at_once)
    if at_once:
        later = f"; these need a restart or more: {restart}" if restart else ""
        yield (
            "Change a running database: `rocktune options ID --format setoptions` prints the "
            f"calls{later}."
        )
    elif restart:
        yield f"These changes need a restart or more: {restart}."


def some(names: Sequence[str]) -> str:
    """The first of many names."""
    more = len(names) - _MOST_NAMED
    told = ", ".join(names[:_MOST_NAMED]) or "none"
    return told + (f" and {more} more" if more > 0 else "")
