"""What an experiment found, for a terminal and a page alike: tables, then sentences."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from db.jobs.job_store import JobStore
from db.schema.job_row import JobKind
from jobs.report.changed import minimal_lines
from jobs.report.section import Table, columns
from jobs.results.figures import estimate_words, figure, metric_amount, share_percent, step_words
from optimizer.budget.power import p_figure
from optimizer.results.document import Explanation


@dataclass(frozen=True)
class Told:
    """What an experiment found."""

    lines: Sequence[str]
    tables: Sequence[Table]
    well: bool  # whether the answer is the one that is hoped for; else commands end with 3
    note: str = ""  # how the tables are read


_READ = (
    "Medians; paired differences with 95% intervals; p corrected over all tables (Holm). "
    "Detectable: the minimum detectable change of each metric (80% power)."
)


def told_of(kind: JobKind, result: Mapping[str, Any]) -> Told:
    """What the result of an experiment says.

    Raises:
        LookupError, TypeError, ValueError: It is the result of no such experiment.
    """
    if kind is JobKind.COMPARE:
        found = result["tables"]
        pairs = dict.fromkeys((each["before"], each["after"]) for each in found)
        tables = [_compared(found, *pair) for pair in pairs]
        lines = [f"{line}." for line in result["verdict"]]
        return Told(lines, tables, all(each["metrics"] for each in found), _READ)
    if kind is JobKind.UPGRADE_CHECK:
        rows = [row for case in result["cases"] for row in _case(case)]
        head = (("with", "metric"), ("old", "new", "change (95% interval)", "p"), ("",), _COULD)
        tables = [Table(columns(*head), rows)] if rows else []
        return Told(result["verdict"], tables, not result["worse"], _READ if rows else "")
    if kind is JobKind.PROFILE_CHECK:
        sides, rows = ("database", "load"), result["rows"]
        told = [[_beside(row, side) for side in sides] for row in rows]
        figures = [
            (row["what"], *each, row["verdict"], row["advice"])
            for row, each in zip(rows, told, strict=True)
        ]
        table = Table(columns(("figure",), sides, ("verdict", "what to do")), figures)
        return Told([result["verdict"]], [table], bool(result["fits"]))
    return _explained(result)


FILES = "files"


def kept_files(store: JobStore, job_id: int) -> Mapping[str, Any]:
    """The ``files`` of a finished experiment by name, and the ``cautions``; none before."""
    return store.recall(job_id, FILES) or {"cautions": [], "files": {}}


def _beside(row: Mapping[str, Any], side: str) -> str:
    """A figure of a check; of the load with the interval of its mean, if it has one."""
    value, low, high = row[side], row.get("low"), row.get("high")
    if value is None:
        return ""
    told = figure(value)
    if side == "database" or low is None or figure(low) == figure(high):
        return told
    return f"{told} ({figure(low)} to {figure(high)})"


_COULD = ("detectable",)


def _change(found: Mapping[str, Any], p: float) -> tuple[str, str]:
    interval = f"({found['low']:+.1f}% to {found['high']:+.1f}%)"
    return f"{found['percent']:+.1f}% {interval}", p_figure(p)


def _compared(tables: Sequence[Mapping[str, Any]], before: str, after: str) -> Table:
    rows = [
        (
            table["workload"],
            name,
            *(metric_amount(row["medians"][side], name) for side in (before, after)),
            *_change(row, row["p_holm"]),
            row["better"] or "",
            share_percent(row["could_show_percent"] / 100),
        )
        for table in tables
        if (table["before"], table["after"]) == (before, after)
        for name, row in table["metrics"].items()
    ]
    change = f"{after} against {before} (95% interval)"
    head = (("workload", "metric"), (before, after, change, "p"), ("better",), _COULD)
    return Table(columns(*head), rows)


def _case(case: Mapping[str, Any]) -> Iterator[tuple[str, ...]]:
    for name, row in case["metrics"].items():
        yield (
            case["what"],
            name.upper(),
            figure(row["old"]),
            figure(row["new"]),
            *_change(row["change"], row["p_holm"]),
            "worse" if row["worse"] else "better" if row["significant"] else "",
            share_percent(row["smallest_change"]),
        )


def _explained(result: Mapping[str, Any]) -> Told:
    measured = result["measured"]
    steps = zip(result["steps"], measured["steps"], strict=False)
    rows = [(step_words(step), _fitness(found)) for step, found in steps]
    rows.append(("the winner against the baseline", _fitness(measured["winner"])))
    done, minimal = measured["runs"], measured["minimal"]
    line = f"{done['done']} of {done['total']} runs succeeded, on {measured['host']}."
    table = Table(columns(("change",), ("fitness, measured",)), rows)
    well = minimal is None or minimal["shown"]
    return Told([line, *minimal_lines(Explanation.model_validate(result))], [table], well)


def _fitness(found: Mapping[str, Any] | None) -> str:
    return "too few rounds" if found is None else estimate_words(found["fitness"])
