"""Raw results of the comparison, one line a run, never made twice; and the page made of them."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np

from sampler.common.errors import InputError
from studies.search.best import Effort
from studies.search.functions import Known
from studies.search.run import Judged
from studies.study import FORMER_NAME, append_line, made_by, read_lines


@dataclass(frozen=True)
class Key:
    """What a run is.

    Attributes:
        function: `load/boosting`.
        digest: Of that function: results of another count no more.
        evaluations: The budget; strategies divide it, so runs of other budgets differ from the
            first proposal.
    """

    function: str
    digest: str
    strategy: str
    seed: int
    evaluations: int


@dataclass(frozen=True)
class Result:
    """A run and how its recommendations were judged, by checkpoint."""

    key: Key
    judged: tuple[Judged, ...]


def read_results(path: Path) -> list[Result]:
    """All kept runs; a last line that was torn off is left out.

    Raises:
        InputError: A line before the last is no result.
    """
    results = []
    for number, row in enumerate(read_lines(path), start=1):
        try:
            judged = tuple(Judged(**each) for each in row.pop("judged"))
            results.append(Result(Key(**row), judged))
        except (TypeError, KeyError) as error:
            raise InputError("--out", f"line {number} of {path} is no result: {error}") from None
    return results


def append_result(path: Path, key: Key, judged: Sequence[Judged]) -> Result:
    """Keeps a run, on a line of its own."""
    append_line(path, {**asdict(key), "judged": [asdict(each) for each in judged]})
    return Result(key, tuple(judged))


@dataclass(frozen=True)
class Mean:
    """A mean over runs.

    Attributes:
        error: Its standard error; None of a single run.
        count: Of how many.
    """

    value: float
    error: float | None
    count: int

    def text(self, form: str) -> str:
        """With its error, both in a format."""
        value = format(self.value, form)
        return value if self.error is None else f"{value} ± {format(self.error, form)}"


def mean_of(values: Sequence[float]) -> Mean:
    """The mean of at least one value."""
    array = np.array(values, dtype=float)
    error = float(array.std(ddof=1)) / math.sqrt(len(array)) if len(array) > 1 else None
    return Mean(float(array.mean()), error, len(array))


@dataclass(frozen=True)
class Group:
    """Runs of one function with one budget.

    Attributes:
        runs: By strategy, in the order in which they came.
    """

    function: str
    evaluations: int
    runs: Mapping[str, tuple[Result, ...]]

    @property
    def checkpoints(self) -> list[int]:
        """Where recommendations were judged."""
        return sorted({j.evaluations for rs in self.runs.values() for r in rs for j in r.judged})

    def at(self, strategy: str, checkpoint: int) -> list[Judged]:
        """A strategy's recommendations at a checkpoint, one a run."""
        found = (j for result in self.runs[strategy] for j in result.judged)
        return [judged for judged in found if judged.evaluations == checkpoint]

    def best(self, known: float) -> float:
        """The best that exists: the long search's, or what a run found beyond it."""
        found = (j.fitness for results in self.runs.values() for r in results for j in r.judged)
        return max([known, *found])


def groups_of(results: Iterable[Result], digests: Mapping[str, str]) -> list[Group]:
    """The results that still hold, by function and budget, functions in the order of `digests`.

    Args:
        results: All that are kept.
        digests: What each function rests on now; results of another digest count no more.
    """
    runs: dict[tuple[str, int], dict[str, list[Result]]] = {}
    for result in results:
        key = result.key
        if digests.get(key.function) == key.digest:
            group = runs.setdefault((key.function, key.evaluations), {})
            group.setdefault(key.strategy, []).append(result)
    place = list(digests)
    return [
        Group(function, evaluations, {name: tuple(found) for name, found in runs[key].items()})
        for key in sorted(runs, key=lambda key: (place.index(key[0]), key[1]))
        for function, evaluations in [key]
    ]


def functions_table(known: Mapping[str, Known]) -> str:
    """Each test function: what it was learned from, and how well."""
    rows = [
        "| function | runs | of the default | R2 on unseen runs | noise of one run "
        "| truth of the default against its median | best that exists | ends of its searches |",
        "|---|--:|--:|---|---|---|--:|--:|",
    ]
    for name, found in known.items():
        r2 = ", ".join(f"{metric} {tuned.r2:.2f}" for metric, tuned in found.tuned.items())
        noise = ", ".join(f"{metric} {100 * s:.1f}%" for metric, s in found.scatter.items())
        off = ", ".join(f"{metric} {100 * share:+.1f}%" for metric, share in found.off.items())
        starts = found.best.starts
        rows.append(
            f"| {name} | {found.runs:,} | {found.default_runs} | {r2 or 'none'} | {noise} "
            f"| {off} | {found.best.fitness:,.0f} | {starts[-1]:,.0f} to {starts[0]:,.0f} |"
        )
    return "\n".join(rows)


def share_table(group: Group, best: float) -> str:
    """The share of the best that exists, by strategy and evaluations; in brackets the seeds."""
    checkpoints = group.checkpoints
    rows = [
        "| strategy | " + " | ".join(f"{n}" for n in checkpoints) + " | true fitness |",
        "|---|" + "--:|" * (len(checkpoints) + 1),
    ]
    for strategy in group.runs:
        means = [
            mean_of([judged.fitness / best for judged in group.at(strategy, n)])
            for n in checkpoints
        ]
        shares = [f"{mean.text('.3f')} ({mean.count})" for mean in means]
        last = mean_of([judged.fitness for judged in group.at(strategy, checkpoints[-1])])
        cells = [strategy, *shares, f"{last.text(',.0f')} ({last.count})"]
        rows.append("| " + " | ".join(cells) + " |")
    return "\n".join(rows)


def cost_table(group: Group) -> str:
    """Seconds per proposal, and how far the measured fitness of the last choice is from true."""
    last = group.checkpoints[-1]
    rows = [
        "| strategy | seeds | processor seconds per proposal "
        "| measured less true fitness of the last |",
        "|---|--:|--:|--:|",
    ]
    for strategy in group.runs:
        judged = group.at(strategy, last)
        seconds = mean_of([each.seconds / each.evaluations for each in judged]).text(".4f")
        over = [j.measured - j.fitness for j in judged if j.measured is not None]
        seeds = len(judged)
        rows.append(
            f"| {strategy} | {seeds} | {seconds} | {mean_of(over).text(',.0f') if over else ''} |"
        )
    return "\n".join(rows)


_WHAT = (
    "No RocksDB is involved: strategies are run on functions learned from recorded runs, where "
    "the truth is known. `load`: 661 random draws of a load, 30 options, no limit on memory; "
    "`paper` and `default`: the archived jobs of [reproduction.md](reproduction.md), with the "
    "memory budget of the default in `default`; threads, which `paper` leaves to the users, stay "
    "at 1; `mixed` and `overwrite`: draws of the space `default` under the workloads "
    "`mixed-quick` and `overwrite-quick`, with the same budget, see "
    "[recorded](../recorded/README.md); `null`: no option matters, space and noise are those of "
    "`load`. What is after the slash learned the function: gradient boosting or a random "
    "forest. Of the strategies `smac` and `genetic` alone learn with trees (random forests); "
    "`forest` is guided by Gaussian processes, see [searching](../explanation/searching.md)."
)
_HOW = (
    "A trial's outcome is the truth times one of the residuals of the default's recorded runs "
    "(all metrics of a run together; clocks corrected for drift, which the functions do not "
    "have); it is taken to be the same everywhere, for only the default was measured often. A "
    "trial that takes the problem's cutoff times the baseline's time is cut off as in a job. The "
    "baseline is measured first and again at intervals, with the same noise, and not counted. "
    "Judged is what the strategy recommends after so many evaluations, without noise: by its own "
    "word where it has one, else the best measured. Configurations that were cut off when they "
    "were recorded taught time and rate by their bounds, and nothing of bytes. Seconds per "
    "proposal are longer where something else kept the machine busy meanwhile."
)


def write_page(
    out: Path,
    command: str,
    results: Sequence[Result],
    known: Mapping[str, Known],
    effort: Effort,
) -> str:
    """Writes the page; returns it.

    Args:
        out: The page's path without its ending.
        command: What was called last.
        results: All raw results; those of functions that have changed since are left out.
        known: By function, in the order of the page.
        effort: Of the search for the best that exists.
    """
    groups = groups_of(results, {name: found.digest for name, found in known.items()})
    kept = sum(len(runs) for group in groups for runs in group.runs.values())
    parts = [
        "# Strategies on recorded problems",
        f"{made_by(command)}. Runs of earlier calls are "
        f"kept and not made again: {kept} runs are in the tables, "
        f"{len(results) - kept} of functions that have changed since are not. {_WHAT} "
        f"{FORMER_NAME}",
        _HOW,
        "## The functions",
        "R2 is of logarithms, by five-fold cross-validation over configurations. The best that "
        f"exists is the best that a search of the noiseless function found in "
        f"{effort.evaluations:,} evaluations, or a run beyond it: a truer one may exist. Noise "
        "is the standard deviation of the logarithm.",
        functions_table(known),
    ]
    for group in groups:
        parts += _section(group, known[group.function].best.fitness)
    text = "\n\n".join([*parts, ""])
    out.with_suffix(".md").write_text(text, encoding="utf-8")
    return text


def _section(group: Group, known_best: float) -> list[str]:
    title = f"## {group.function}, budget of {group.evaluations} evaluations"
    best = group.best(known_best)
    if best <= 0:
        why = (
            "Nothing is better than the baseline, so there is no share; what was measured of the "
            "last choice is all luck."
        )
        return [title, why, cost_table(group)]
    return [
        title,
        f"Share of the best that exists, {best:,.0f}; the baseline is 0. Mean and standard error "
        "over seeds, by evaluations, and in brackets how many seeds; the last column is at the "
        "last of them.",
        share_table(group, best),
        cost_table(group),
    ]
