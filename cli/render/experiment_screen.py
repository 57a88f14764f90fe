"""What `rocktune compare` and `upgrade-check` show: what is measured, each run, the findings."""

from collections.abc import Mapping, Sequence
from typing import Any

from rich.console import Console

from cli.render.screen import bare_table, say, told_once
from db.schema.job_row import JobKind
from jobs.experiments.comparison.comparison import ComparisonRequest
from jobs.experiments.comparison.tables import load_words
from jobs.experiments.experiment import InterleavedRuns, MeasuredRun, RunsObserver
from jobs.experiments.told import told_of
from jobs.experiments.upgrade.builds import Concern
from jobs.experiments.upgrade.check import BuildDifferences, Builds
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


def show_told(console: Console, kind: JobKind, result: Mapping[str, Any]) -> None:
    """What an experiment found: its tables, then its findings in words."""
    told = told_of(kind, result)
    for each in told.tables:
        table, before = bare_table(*each.head), ""
        for first, *rest in each.rows:
            table.add_row("" if first == before else first, *rest)
            before = first
        console.print(table)
    say(console, *filter(None, [told.note]), *told.lines)


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
