"""What a finished experiment says, for a terminal and a page: sentences, tables, a verdict."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from db.schema.job_row import JobKind
from jobs.results.explanation_words import estimate_words, minimal_lines, step_words
from jobs.results.figures import figure, metric_amount, share_percent
from optimizer.budget.power import p_figure


@dataclass(frozen=True)
class ToldTable:
    """A table of texts."""

    title: str
    head: Sequence[str]
    rows: Sequence[Sequence[str]]


@dataclass(frozen=True)
class Told:
    """What an experiment says."""

    lines: Sequence[str]
    tables: Sequence[ToldTable]
    well: bool  # whether the answer is the one that is hoped for; else `show` exits with 3


def told_of(kind: JobKind, result: Mapping[str, Any]) -> Told:
    """What the result of an experiment says.

    Raises:
        LookupError, TypeError, ValueError: It is the result of no such experiment.
    """
    if kind is JobKind.COMPARE:
        tables = [_compared(each) for each in result["tables"]]
        lines = [f"{line}." for line in result["verdict"]]
        return Told(lines, tables, all(each.rows for each in tables))
    if kind is JobKind.UPGRADE_CHECK:
        head: Sequence[str] = ("with", "metric", "old", "new", *_CHANGE, "", "could show")
        rows = [row for case in result["cases"] for row in _case(case)]
        tables = [ToldTable("New against old build", head, rows)] if rows else []
        return Told(result["verdict"], tables, not result["worse"])
    if kind is JobKind.PROFILE_CHECK:
        table = ToldTable("The database and the load", _FIGURES, [*map(_figure, result["rows"])])
        return Told([result["verdict"]], [table], result["fits"])
    return _explained(result)


_CHANGE = ("change (95% interval)", "p")
_FIGURES = ("figure", "database", "load", "verdict", "what to do")


def _figure(row: Mapping[str, Any]) -> tuple[str, ...]:
    amounts = ("" if row[side] is None else figure(row[side]) for side in ("database", "load"))
    return (row["what"], *amounts, row["verdict"], row["advice"])


def _change(found: Mapping[str, Any], p: float) -> tuple[str, str]:
    interval = f"({found['low']:+.1f}% to {found['high']:+.1f}%)"
    return f"{found['percent']:+.1f}% {interval}", p_figure(p)


def _compared(table: Mapping[str, Any]) -> ToldTable:
    before, after = table["before"], table["after"]
    rows = [
        (
            name,
            *(metric_amount(row["medians"][side], name) for side in (before, after)),
            *_change(row, row["p_holm"]),
            row["better"] or "",
            f"{row['could_show_percent']:.2g}%",
        )
        for name, row in table["metrics"].items()
    ]
    head = ("metric", before, after, *_CHANGE, "better", "could show")
    return ToldTable(f"{table['workload']}: {after} against {before}", head, rows)


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
    rows = [
        (str(place), step_words(step), _fitness(found))
        for place, (step, found) in enumerate(
            zip(result["steps"], measured["steps"], strict=False), start=1
        )
    ]
    rows.append(("", "the winner against the baseline", _fitness(measured["winner"])))
    done = measured["runs"]
    line = (
        f"{done['done']} of {done['total']} runs ended well: {measured['rounds']} rounds on "
        f"{measured['host']}."
    )
    table = ToldTable("The path from the baseline", ("step", "change", "fitness"), rows)
    minimal = measured["minimal"]
    well = minimal is None or minimal["shown"]
    return Told([line, *minimal_lines(result)], [table], well)


def _fitness(found: Mapping[str, Any] | None) -> str:
    return "too few rounds" if found is None else estimate_words(found["fitness"])
