"""What `rocktune compare` and `upgrade-check` show: what is measured, each run, the findings."""

from __future__ import annotations

from collections.abc import Sequence

from rich.console import Console
from rich.table import Table

from cli.options.untrusted_text import printable
from cli.render.screen import bare_table, told_once
from jobs.experiments.comparison.comparison import ComparisonRequest, ComparisonResult
from jobs.experiments.comparison.tables import load_words
from jobs.experiments.interleaved import InterleavedRuns, MeasuredRun, RunsObserver
from jobs.experiments.upgrade.builds import Concern
from jobs.experiments.upgrade.check import BuildDifferences, Builds, Checked
from jobs.results.figures import metric_amount, share_percent
from optimizer.budget.power import p_figure
from sampler.bench.builds import Build
from sampler.common.byte_size import format_bytes


class RunsShown:
    """Tells how many runs are left, each that ended, and who else uses the host."""

    def __init__(self, console: Console, *, run_of: str = "{case}, {side}") -> None:
        """Takes the console, and how a run's case and side are told."""
        self._console, self._run_of = console, run_of

    @property
    def observer(self) -> RunsObserver:
        """Itself, as who measures knows it."""
        return RunsObserver(
            begins=self._begins, waiting=told_once(self._console), ended=self._ended
        )

    def caution(self, line: str) -> None:
        """What must be known before the figures are read."""
        self._print(f"note: {printable(line)}")

    def _begins(self, runs: InterleavedRuns, left: int) -> None:
        self._print(
            f"{left} runs" if left == runs.total else f"{left} runs of {runs.total} are left"
        )

    def _ended(self, run: MeasuredRun) -> None:
        said = run.state if run.failure is None else f"{run.state}: {printable(run.failure)}"
        what = self._run_of.format(case=printable(run.case), side=run.side)
        self._print(f"round {run.round}, {what}: {said}, {run.seconds:.1f} s")

    def _print(self, line: str) -> None:
        self._console.print(line, soft_wrap=True)


def show_subjects(console: Console, asked: ComparisonRequest) -> None:
    """One line a subject: what it is, what runs it, what it holds in memory; one a workload."""
    for each in asked.subjects:
        facts = each.build.facts
        version = f"RocksDB {facts.version}, " if facts else ""
        console.print(
            f"{each.name}: {printable(each.side.what)}; {version}{printable(each.build.program)}, "
            f"memtables and cache {format_bytes(each.memory)}",
            soft_wrap=True,
        )
    for workload in asked.workloads:
        console.print(printable(load_words(workload)), soft_wrap=True)


def show_compared(console: Console, compared: ComparisonResult) -> None:
    """The table, then the findings in words."""
    pairs = list(dict.fromkeys((each.before, each.after) for each in compared.tables))
    for before, after in pairs:
        if any(t.rows for t in compared.tables if (t.before, t.after) == (before, after)):
            console.print(_compared_table(compared, before, after))
    console.print(
        "Medians; differences of runs next to each other with 95% intervals; p corrected over "
        "everything compared (Holm). Could show: what these rounds show 8 times in 10, each "
        "metric by itself.",
        soft_wrap=True,
    )
    for sentence in compared.verdict:
        console.print(printable(sentence), soft_wrap=True)


def _compared_table(compared: ComparisonResult, before: str, after: str) -> Table:
    change = f"{after} against {before} (95% interval)"
    table = bare_table(("workload", "metric"), (before, after, change, "p"))
    table.add_column("better")
    table.add_column("could show", justify="right")
    for each in compared.tables:
        if (each.before, each.after) != (before, after):
            continue
        workload = printable(each.workload)
        for name, row in each.rows.items():
            table.add_row(
                workload,
                name,
                metric_amount(row.old, name),
                metric_amount(row.new, name),
                row.in_words,
                p_figure(row.p_holm),
                each.better(name) or "",
                share_percent(row.smallest_change),
            )
            workload = ""
    return table


_MOST_NAMES = 12


def show_builds(console: Console, builds: Builds) -> None:
    """One line a build: what was compared with what."""
    for title, build in (("old", builds.old), ("new", builds.new)):
        console.print(f"{title}: {_build(build)}", soft_wrap=True)


def show_differences(console: Console, found: BuildDifferences) -> None:
    """What changed without a load."""
    drift = found.drift
    for concern in Concern:
        changed = [each for each in drift.changed if each.concern is concern]
        if changed:
            console.print(f"Changed defaults, {concern.value}:")
            for each in changed:
                console.print(
                    f"  {printable(each.key)}: {printable(each.old)} -> {printable(each.new)}"
                )
    if not drift.changed:
        console.print("No default changed.")
    for title, names in (
        ("Options only of the new build", [each.key for each in drift.added]),
        ("Options only of the old build", [each.key for each in drift.removed]),
        ("db_bench flags only of the new build", drift.flags_added),
        ("db_bench flags only of the old build", drift.flags_removed),
    ):
        if names:
            console.print(f"{title} ({len(names)}): {_some(names)}", soft_wrap=True)
    for note in found.notes:
        console.print(f"Your OPTIONS file: {printable(note)}", soft_wrap=True)


def show_checked(console: Console, checked: Checked) -> None:
    """The comparison, case by case, and the verdict."""
    if checked.changes:
        console.print(_checked_table(checked))
        console.print(
            "Medians; changes of the pairs with 95% intervals; p corrected over the whole table "
            "(Holm). The last column: what the pairs could have shown with 80% probability, each "
            "metric by itself.",
            soft_wrap=True,
        )
    for sentence in checked.verdict:
        console.print(printable(sentence), soft_wrap=True)


def _checked_table(checked: Checked) -> Table:
    table = bare_table(("with", ""), ("old", "new", "change (95% interval)", "p"))
    table.add_column("")
    table.add_column("could show", justify="right")
    for each in checked.changes:
        what = checked.what[each.case]
        for metric in each.metrics.values():
            said = "worse" if metric.worse else "better" if metric.significant else ""
            table.add_row(
                what,
                metric.metric.upper(),
                _figure(metric.old),
                _figure(metric.new),
                metric.in_words,
                p_figure(metric.p_holm),
                said,
                f"{100 * metric.smallest_change:.2g}%",
            )
            what = ""
    return table


def _build(build: Build) -> str:
    facts = build.facts
    if facts is None:
        return f"{printable(build.program)}: {build.problem}"
    parts = [f"RocksDB {facts.version}", printable(build.program), f"file {facts.digest[:12]}"]
    if facts.source:
        parts.append(f"source {printable(facts.source)[:12]}")
    if facts.compiled:
        parts.append(f"compiled {printable(facts.compiled)}")
    parts.append("assertions on" if facts.assertions else "without assertions")
    if not facts.optimised:
        parts.append("not optimised")
    return ", ".join(parts)


def _some(names: Sequence[str]) -> str:
    more = f" and {len(names) - _MOST_NAMES} more" if len(names) > _MOST_NAMES else ""
    return ", ".join(map(printable, names[:_MOST_NAMES])) + more


def _figure(value: float) -> str:
    return f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.4g}"
