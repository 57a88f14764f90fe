"""What `rocktune compare` and `upgrade-check` show: what is measured, each run, the findings."""

from collections.abc import Sequence

from rich.console import Console
from rich.table import Table

from cli.render.screen import bare_table, say, told_once
from jobs.experiments.comparison.comparison import ComparisonRequest, ComparisonResult
from jobs.experiments.comparison.tables import load_words
from jobs.experiments.interleaved import InterleavedRuns, MeasuredRun, RunsObserver
from jobs.experiments.told import Told
from jobs.experiments.upgrade.builds import Concern
from jobs.experiments.upgrade.check import BuildDifferences, Builds, Checked
from jobs.results.figures import figure, metric_amount, share_percent
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
        say(self._console, f"note: {line}")

    def _begins(self, runs: InterleavedRuns, left: int) -> None:
        of_all = "" if left == runs.total else f" of {runs.total} are left"
        say(self._console, f"{left} runs{of_all}")

    def _ended(self, run: MeasuredRun) -> None:
        said = run.state if run.failure is None else f"{run.state}: {run.failure}"
        what = self._run_of.format(case=run.case, side=run.side)
        say(self._console, f"round {run.round}, {what}: {said}, {run.seconds:.1f} s")


def show_subjects(console: Console, asked: ComparisonRequest) -> None:
    """One line a subject: what it is, what runs it, what it holds in memory; one a workload."""
    for each in asked.subjects:
        facts = each.build.facts
        version = f"RocksDB {facts.version}, " if facts else ""
        what = f"{each.name}: {each.side.what}; {version}{each.build.program}"
        say(console, f"{what}, memtables and cache {format_bytes(each.memory)}")
    say(console, *map(load_words, asked.workloads))


def show_told(console: Console, told: Told) -> None:
    """What an experiment of a service says: its tables, then its findings in words."""
    for each in told.tables:
        say(console, "", each.title)
        table = bare_table(tuple(each.head[:1]), tuple(each.head[1:]))
        for row in each.rows:
            table.add_row(*row)
        console.print(table)
    say(console, *told.lines)


def show_compared(console: Console, compared: ComparisonResult) -> None:
    """The table, then the findings in words."""
    pairs = list(dict.fromkeys((each.before, each.after) for each in compared.tables))
    for before, after in pairs:
        if any(t.rows for t in compared.tables if (t.before, t.after) == (before, after)):
            console.print(_compared_table(compared, before, after))
    say(
        console,
        "Medians; differences of runs next to each other with 95% intervals; p corrected over "
        "everything compared (Holm). Could show: what these rounds show 8 times in 10, each "
        "metric by itself.",
    )
    say(console, *compared.verdict)


def _compared_table(compared: ComparisonResult, before: str, after: str) -> Table:
    change = f"{after} against {before} (95% interval)"
    figures = (before, after, change, "p")
    table = bare_table(("workload", "metric"), figures, ("better",), ("could show",))
    for each in compared.tables:
        if (each.before, each.after) != (before, after):
            continue
        workload = each.workload
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
        say(console, f"{title}: {_build(build)}")


def show_differences(console: Console, found: BuildDifferences) -> None:
    """What changed without a load."""
    drift = found.drift
    for concern in Concern:
        changed = [each for each in drift.changed if each.concern is concern]
        if changed:
            console.print(f"Changed defaults, {concern.value}:")
            say(console, *(f"  {each.key}: {each.old} -> {each.new}" for each in changed))
    if not drift.changed:
        console.print("No default changed.")
    for title, names in (
        ("Options only of the new build", [each.key for each in drift.added]),
        ("Options only of the old build", [each.key for each in drift.removed]),
        ("db_bench flags only of the new build", drift.flags_added),
        ("db_bench flags only of the old build", drift.flags_removed),
    ):
        if names:
            say(console, f"{title} ({len(names)}): {_some(names)}")
    say(console, *(f"Your OPTIONS file: {note}" for note in found.notes))


def show_checked(console: Console, checked: Checked) -> None:
    """The comparison, case by case, and the verdict."""
    if checked.changes:
        console.print(_checked_table(checked))
        say(
            console,
            "Medians; changes of the pairs with 95% intervals; p corrected over the whole table "
            "(Holm). The last column: what the pairs could have shown with 80% probability, each "
            "metric by itself.",
        )
    say(console, *checked.verdict)


def _checked_table(checked: Checked) -> Table:
    figures = ("old", "new", "change (95% interval)", "p")
    table = bare_table(("with", ""), figures, ("",), ("could show",))
    for each in checked.changes:
        what = checked.what[each.case]
        for metric in each.metrics.values():
            said = "worse" if metric.worse else "better" if metric.significant else ""
            table.add_row(
                what,
                metric.metric.upper(),
                figure(metric.old),
                figure(metric.new),
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
        return f"{build.program}: {build.problem}"
    parts = [f"RocksDB {facts.version}", build.program, f"file {facts.digest[:12]}"]
    if facts.source:
        parts.append(f"source {facts.source[:12]}")
    if facts.compiled:
        parts.append(f"compiled {facts.compiled}")
    parts.append("assertions on" if facts.assertions else "without assertions")
    if not facts.optimised:
        parts.append("not optimised")
    return ", ".join(parts)


def _some(names: Sequence[str]) -> str:
    more = f" and {len(names) - _MOST_NAMES} more" if len(names) > _MOST_NAMES else ""
    return ", ".join(names[:_MOST_NAMES]) + more
