"""docs/results/machine_noise.md: every figure out of the rows that are kept."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from optimizer.baseline.machine_effect import MachineEffect, machine_effect
from optimizer.confirmation.paired_change import change
from sampler.workload.metric_table import MACHINE
from studies.arguments import days_words
from studies.machine_noise.neighbour import OFF_SECONDS, ON_SECONDS
from studies.machine_noise.runs import BASELINE, COST, MOVED, NOISE, WITH, WITHOUT, Row

CLOCKS = ("time", "rate")
_LEAST = 3  # rows of which a scatter is told


def page(rows: Sequence[Row], command: str) -> str:
    """The page as Markdown, of one run at least, which ``command`` measured."""
    machine, done = rows[-1].machine, [row for row in rows if row.done]
    head = (
        f"`{command}`: {len(rows)} runs, {len(rows) - len(done)} of them not done; "
        f"{machine['cpu']}, {machine['cores']} cores, {machine['file_system']}, "
        f"{machine['system']}, RocksDB {machine['rocksdb']}; "
        f"{days_words(row.started[:10] for row in rows)}."
    )
    parts = ["# What the machine does beside a run", head]
    for part, told in ((MOVED, _moved), (NOISE, _noise), (COST, _cost)):
        if mine := [row for row in done if row.run.part == part]:
            parts.append("\n".join(told(mine)))
    return "\n\n".join(parts) + "\n"


def _moved(rows: Sequence[Row]) -> Iterator[str]:
    yield "## What a configuration itself moves"
    yield ""
    yield (
        f"`{rows[0].run.workload}`, in turn. Means with standard errors; less the baseline's of "
        "the same round, with the standard error of that. The speed is a logarithm, in percent."
    )
    yield ""
    yield "| configuration | runs | `others_cpu`, % | less baseline | speed, % | less baseline |"
    yield "|---|--:|--:|--:|--:|--:|"
    usual = {row.run.round: _state(row) for row in rows if row.run.case == BASELINE}
    for case in dict.fromkeys(row.run.case for row in sorted(rows, key=_baseline_first)):
        mine = [row for row in rows if row.run.case == case]
        states = np.array([_state(row) for row in mine])
        pairs = [_state(row) - usual[row.run.round] for row in mine if row.run.round in usual]
        cells = [
            _mean(column)
            for whole, less in zip(states.T, np.array(pairs).reshape(-1, 2).T, strict=True)
            for column in (whole, less if case != BASELINE else less[:0])
        ]
        yield f"| {case} | {len(mine)} | {' | '.join(cells)} |"


def _baseline_first(row: Row) -> tuple[bool, str]:
    return row.run.case != BASELINE, row.run.case


def _state(row: Row) -> NDArray[np.float64]:
    """The share of others, and the logarithm of the speed, both in percent; NaN where unknown."""
    others, speed = (row.metrics.get(name, math.nan) for name in MACHINE)
    return 100 * np.array([others, math.log(speed) if speed > 0 else math.nan])


def _mean(values: NDArray[np.float64]) -> str:
    known = values[~np.isnan(values)]
    if len(known) < 2:
        return f"{known[0]:.2f}" if len(known) else ""
    return f"{known.mean():.2f} ± {known.std(ddof=1) / math.sqrt(len(known)):.2f}"


def _noise(rows: Sequence[Row]) -> Iterator[str]:
    yield "## What it explains of the noise"
    yield ""
    yield (
        "The baseline again and again, as jobs of runs in a row. The neighbour takes one core, on "
        f"for {ON_SECONDS:g} s and off for {OFF_SECONDS:g} s in the mean. Standard deviations of "
        "logarithms, in percent: of the runs within their jobs, and of the jobs' means. Within a "
        "job each run is corrected by what the job's other runs teach, as a job of Rocktune does; "
        "the means by what the runs of the other jobs teach."
    )
    yield ""
    yield "| workload | beside it | jobs | runs | metric | within | corrected | jobs | corrected |"
    yield "|---|---|--:|--:|---|--:|--:|--:|--:|"
    kinds = dict.fromkeys((row.run.workload, row.run.case) for row in rows)
    for kind in sorted(kinds):
        mine = [row for row in rows if (row.run.workload, row.run.case) == kind]
        numbers = dict.fromkeys(row.run.round for row in mine)
        jobs = [[row for row in mine if row.run.round == number] for number in numbers]
        for clock in CLOCKS:
            cells = [_percent(each) for each in scatter(jobs, clock)]
            counts = f"{len(jobs)} | {len(mine)}"
            yield f"| {' | '.join(kind)} | {counts} | {clock} | {' | '.join(cells)} |"


def scatter(
    jobs: Sequence[Sequence[Row]], clock: str
) -> tuple[float | None, float | None, float | None, float | None]:
    """Within jobs raw and corrected, between jobs raw and corrected; None: not known."""
    whole = [[row for row in job if row.metrics.get(clock, 0.0) > 0] for job in jobs]
    raw = [_logs(job, clock, [{}] * len(job)) for job in whole]
    # All to the same state: what is usual differs a little with the runs that are learned from.
    usual = _learned(itertools.chain.from_iterable(whole)).usual
    inside, outside = [], []
    for job in whole:
        effect = replace(_learned(r for o in whole if o is not job for r in o), usual=usual)
        outside.append(_logs(job, clock, [effect.factors(row.metrics) for row in job]))
        beside = [_learned(row for row in job if row is not one) for one in job]
        found = [
            replace(each, usual=usual).factors(row.metrics)
            for each, row in zip(beside, job, strict=True)
        ]
        inside.append(_logs(job, clock, found))
    return _within(raw), _within(inside), _between(raw), _between(outside)


def _learned(rows: Iterable[Row]) -> MachineEffect:
    return machine_effect([row.trial for row in rows])


def _logs(
    job: Sequence[Row], clock: str, factors: Sequence[Mapping[str, float]]
) -> NDArray[np.float64]:
    pairs = zip(job, factors, strict=True)
    return np.log([row.metrics[clock] * each.get(clock, 1.0) for row, each in pairs])


def _within(jobs: Sequence[NDArray[np.float64]]) -> float | None:
    squares = [np.square(job - job.mean()).sum() for job in jobs if len(job)]
    freedom = sum(len(job) - 1 for job in jobs if len(job))
    return math.sqrt(sum(squares) / freedom) if freedom >= _LEAST - 1 else None


def _between(jobs: Sequence[NDArray[np.float64]]) -> float | None:
    means = [job.mean() for job in jobs if len(job)]
    return float(np.std(means, ddof=1)) if len(means) >= _LEAST else None


def _percent(spread: float | None) -> str:
    return "" if spread is None else f"{100 * spread:.1f}"


def _cost(rows: Sequence[Row]) -> Iterator[str]:
    yield "## What the probe costs"
    yield ""
    yield (
        f"`{rows[0].run.workload}` with the probe beside it and without, in turn: geometric mean "
        "of the pairs' ratios less 1, with its 95% interval."
    )
    yield ""
    yield "| metric | pairs | with the probe |"
    yield "|---|--:|--:|"
    by_case = {
        case: {row.run.round: row.metrics for row in rows if row.run.case == case}
        for case in (WITHOUT, WITH)
    }
    rounds = sorted(by_case[WITHOUT].keys() & by_case[WITH].keys())
    for clock in (*CLOCKS, "cpu_seconds"):
        pairs = [(by_case[WITHOUT][n][clock], by_case[WITH][n][clock]) for n in rounds]
        if len(pairs) >= _LEAST:
            found = change(pairs)
            told = f"{found.percent:+.2f}% [{found.low:+.2f}, {found.high:+.2f}]"
            yield f"| {clock} | {len(pairs)} | {told} |"
