"""What a comparison says in words, and no more than its runs carry."""

from __future__ import annotations

from collections.abc import Sequence

from jobs.experiments.comparison.subject import Subject
from jobs.experiments.comparison.table import Table
from jobs.experiments.upgrade.comparison import MetricChange
from jobs.experiments.upgrade.verdict import change_in_words
from sampler.parameters.parameter import Value
from sampler.workload.workload import Prepare, Workload


def cautions(subjects: Sequence[Subject]) -> list[str]:
    """What must be known before the figures are read: unequal builds, memory, odd options."""
    every = [w for w in subjects[0].warnings if all(w in each.warnings for each in subjects)]
    told = [f"All: {warning}" for warning in every]
    told += [f"{each.name}: {w}" for each in subjects for w in each.warnings if w not in every]
    facts = [each.build.facts for each in subjects]
    for what, states in (
        ("assertions", {each.assertions for each in facts if each}),
        ("an optimising compiler", {each.optimised for each in facts if each}),
    ):
        if len(states) > 1:
            told.append(
                f"One build was made with {what}, another without: TIME and RATE differ for that "
                "alone"
            )
    versions = {each.name: each.build.facts.version for each in subjects if each.build.facts}
    if len(set(versions.values())) > 1:
        named = ", ".join(f"{name} {version}" for name, version in versions.items())
        told.append(
            f"They run different versions of RocksDB ({named}): what differs may be the version's "
            "doing alone"
        )
    if len({each.memories for each in subjects}) > 1:
        told.append(
            "They do not hold the same memory: more memtable and cache buys most metrics something"
        )
    same = {
        (each.build.program, each.side.options, each.side.base, str(each.values))
        for each in subjects
    }
    if len(same) == 1:
        told.append("All sides are the same: what differs is noise")
    return told


def load_words(workload: Workload) -> str:
    """What a workload runs, in one line: benchmarks, sizes, threads, and how it ends."""
    before = ""
    if workload.prepare:
        before = f" after {_benchmarks(workload.prepare.benchmarks, workload.prepare)}"
    facts = [
        f"keys of {workload.key_size} B",
        f"values of {workload.value_size:,} B",
        f"settle {workload.owes}",
        f"scale {workload.scale}",
        *(f"{name} {_plainly(value)}" for name, value in workload.flags),
    ]
    what = _benchmarks(workload.benchmarks, workload)
    return f"{workload.name}: {what}{before}; {', '.join(facts)}"


def _benchmarks(names: Sequence[str], of: Workload | Prepare) -> str:
    """Every thread does ``num`` operations of each, unless a flag says another number."""
    threads = "1 thread" if of.threads == 1 else f"{of.threads} threads"
    return f"{', '.join(names)} (num {of.num:,}, {threads})"


def _plainly(value: Value) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def percent(share: float) -> str:
    """A share as a percentage of two digits, without an exponent: 0.0123 is ``1.2%``."""
    return f"{float(f'{100 * share:.2g}'):.12g}%"


def sentences(found: Sequence[Table]) -> list[str]:
    """A line for each workload and pair; never empty."""
    return [line for table in found for line in _lines(table)]


def _lines(table: Table) -> list[str]:
    where = f"{table.workload}, {table.after} against {table.before}"
    lines = [
        f"{where}: {name} failed in {count} of {table.rounds} runs: "
        f"{' '.join(table.failure[name].split())}"
        for name, count in table.failed.items()
        if count
    ]
    if not table.rows:
        return [*lines, f"{where}: too few rounds ended well to compare anything"]
    parts = []
    for how, name in (("better", table.after), ("worse", table.before)):
        told = [_told(row) for row in table.rows.values() if table.better(row.metric) == name]
        if told:
            parts.append(f"{how} in {', '.join(told)}")
    unknown = [name for name in table.rows if table.better(name) is None]
    if unknown:
        parts.append(f"no difference shown in {', '.join(unknown)}")
    return [*lines, f"{where}: {'; '.join(parts)}"]


def _told(row: MetricChange) -> str:
    return f"{row.metric} {change_in_words(row)}"
