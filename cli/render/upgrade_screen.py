"""What `rocktune upgrade-check` shows: what changed by itself, the runs, then the comparison."""

from __future__ import annotations

from collections.abc import Sequence

from rich.console import Console
from rich.table import Table

from cli.render.screen import plain
from jobs.experiments.upgrade.builds import Concern, LoneOption
from jobs.experiments.upgrade.check import BuildDifferences, Builds, Checked
from jobs.results.figures import p_figure
from sampler.bench.builds import Build

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
                console.print(f"  {plain(each.key)}: {plain(each.old)} -> {plain(each.new)}")
    if not drift.changed:
        console.print("No default changed.")
    for title, names in (
        ("Options only of the new build", _keys(drift.added)),
        ("Options only of the old build", _keys(drift.removed)),
        ("db_bench flags only of the new build", drift.flags_added),
        ("db_bench flags only of the old build", drift.flags_removed),
    ):
        if names:
            console.print(f"{title} ({len(names)}): {_some(names)}", soft_wrap=True)
    for note in found.notes:
        console.print(f"Your OPTIONS file: {plain(note)}", soft_wrap=True)


def show_checked(console: Console, checked: Checked) -> None:
    """The comparison, case by case, and the verdict."""
    if checked.changes:
        console.print(_table(checked))
        console.print(
            "Medians; changes of the pairs with 95% intervals; p corrected over the whole table "
            "(Holm). The last column: what the pairs could have shown with 80% probability, each "
            "metric by itself.",
            soft_wrap=True,
        )
    for sentence in checked.verdict:
        console.print(plain(sentence), soft_wrap=True)


def _table(checked: Checked) -> Table:
    table = Table(box=None, pad_edge=False, header_style="bold")
    table.add_column("with")
    table.add_column("")
    for title in ("old", "new", "change (95% interval)", "p", "", "could show"):
        table.add_column(title, justify="left" if title == "" else "right")
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
        return f"{plain(build.program)}: {build.problem}"
    parts = [f"RocksDB {facts.version}", plain(build.program), f"file {facts.digest[:12]}"]
    if facts.source:
        parts.append(f"source {plain(facts.source)[:12]}")
    if facts.compiled:
        parts.append(f"compiled {plain(facts.compiled)}")
    parts.append("assertions on" if facts.assertions else "without assertions")
    if not facts.optimised:
        parts.append("not optimised")
    return ", ".join(parts)


def _keys(options: Sequence[LoneOption]) -> list[str]:
    return [each.key for each in options]


def _some(names: Sequence[str]) -> str:
    more = f" and {len(names) - _MOST_NAMES} more" if len(names) > _MOST_NAMES else ""
    return ", ".join(map(plain, names[:_MOST_NAMES])) + more


def _figure(value: float) -> str:
    return f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.4g}"
