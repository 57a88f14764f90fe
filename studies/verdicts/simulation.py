"""Verdicts over resampled real pairs, of which the truth is known.

The pairs are those of real jobs on options that do nothing: of
``docs/results/real_null_corrected``, and of ``real_null_rounds``, where each proof reads a tree in
three rounds. A pair is two runs of one configuration, one after the other, with reads, stalls and
memory. A verdict draws whole pairs, so the metrics stay as correlated as they were, and swaps the
sides of each by a coin: then nothing differs between baseline and winner but what the simulation
adds.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType

import numpy as np
from scipy.special import stdtr

from jobs.archive import read_archive
from models import Floats
from optimizer.budget.power import LIMIT_POWER, margin_of, pairs_for
from optimizer.confirmation.paired_tests import SIGNIFICANT
from optimizer.confirmation.proof import Pair, Verdict, judge
from optimizer.objective.objective import Limit, Metrics, Objective, Term, limit_words, parse_limit
from optimizer.objective.objective_file import load_objective
from optimizer.results.price import Traded, traded
from optimizer.trials.trial import BASELINE_TRIAL, Purpose

FOLDER = Path("docs/results/real_null_corrected")
ROUNDS = Path("docs/results/real_null_rounds")
PAPER = load_objective("paper")
METRICS = tuple(PAPER.named)
_KEPT = (*METRICS, "write_p99")
QUIET = 0.05  # of the processors that other programs used beside a run, at most
NOTHING: Mapping[str, float] = MappingProxyType({})
# A winner as jobs find them, by true ratios over the baseline.
WINNER: Mapping[str, float] = MappingProxyType({"waf": 0.65, "time": 0.6, "rate": 1.4})
BASELINES = 8  # runs of the baseline before the proof of a default job


@dataclass(frozen=True)
class Pool:
    """Real runs of configurations that do not differ."""

    pairs: Sequence[Pair]
    # Logarithms of single runs less the mean of their job, one row a run, widened to the scatter
    # of single runs.
    runs: Floats
    names: Sequence[str]  # the metrics, one a column of ``runs``


def read_pools(folder: Path = FOLDER, rounds: Path = ROUNDS) -> dict[str, Pool]:
    """The pairs measured on a quiet machine, beside other programs, and with three rounds."""
    quiet, busy = _jobs_in(folder)
    pools = {"quiet": quiet, "busy": busy, "rounds": _jobs_in(rounds)[0]}
    return {name: _pool(jobs) for name, jobs in pools.items() if jobs}


def _jobs_in(folder: Path) -> tuple[list[Sequence[Pair]], list[Sequence[Pair]]]:
    """The pairs of each job of a folder: of the quiet ones, and of the others."""
    found: dict[bool, list[Sequence[Pair]]] = {False: [], True: []}
    for path in sorted(folder.glob("*.jsonl.gz")):
        trials = [t for t in read_archive(path).trials if t.purpose is Purpose.PROVE and t.done]
        rounds = itertools.groupby(sorted(trials, key=lambda t: t.round or 0), lambda t: t.round)
        pairs: list[Pair] = []
        busy = 0.0
        for _, both in rounds:
            sides = {t.subject == BASELINE_TRIAL: t.metrics for t in both}
            if len(sides) == 2:
                busy = max(busy, *(side["others_cpu"] for side in sides.values()))
                kept = {side: {n: m[n] for n in _KEPT} for side, m in sides.items()}
                pairs.append((kept[True], kept[False]))
        found[busy > QUIET].append(pairs)
    return found[False], found[True]


def _pool(jobs: Sequence[Sequence[Pair]]) -> Pool:
    sides = [[side for pair in job for side in pair] for job in jobs]
    names = [n for n in _KEPT if all(run[n] > 0 for job in sides for run in job)]
    rows = []
    for runs in sides:
        logs = np.log([[run[name] for name in names] for run in runs])
        rows.append((logs - logs.mean(axis=0)) * np.sqrt(len(logs) / (len(logs) - 1)))
    return Pool([pair for job in jobs for pair in job], np.concatenate(rows), names)


def resampled(
    pool: Pool, rng: np.random.Generator, pairs: int, factors: Mapping[str, float]
) -> list[Pair]:
    """So many pairs whose true ratios, winner over baseline, are ``factors``; else 1."""
    drawn: list[Pair] = []
    for place in rng.integers(len(pool.pairs), size=pairs):
        theirs, mine = pool.pairs[place] if rng.random() < 0.5 else pool.pairs[place][::-1]
        drawn.append((theirs, {n: v * factors.get(n, 1.0) for n, v in mine.items()}))
    return drawn


def verdicts(
    pool: Pool, *, times: int, pairs: int, seed: int, factors: Mapping[str, float] = NOTHING
) -> Iterator[Verdict]:
    """Verdicts by the default objective on resampled pairs."""
    rng = np.random.default_rng(seed)
    for _ in range(times):
        found = judge(PAPER, resampled(pool, rng, pairs, factors), planned=pairs)
        assert found is not None
        yield found


def by_intervals(rows: Sequence[Traded], objective: Objective = PAPER) -> list[Traded]:
    """The same rows marked by each metric's own 95% interval, as until 2026-11-28."""
    return traded(
        objective, {r.metric: r.change.model_copy(update={"p_adjusted": None}) for r in rows}
    )


def by_largest_t(found: Sequence[Pair]) -> set[str]:
    """The metrics that a max-T test by all changes of sign names (Westfall and Young, 1993).

    Single-step: the largest of all is what either form names first. With ``n`` pairs there are
    ``2**n`` changes of sign, so with fewer than six pairs nothing can be named.
    """
    names = [n for n in METRICS if all(side.get(n, 0) > 0 for pair in found for side in pair)]
    logs = np.log([[[side[n] for n in names] for side in pair] for pair in found])
    moved = logs[:, 1] - logs[:, 0]
    moving = np.abs(moved).max(axis=0) > 0
    moved, names = moved[:, moving], [n for n, m in zip(names, moving, strict=True) if m]
    signs = np.array([*itertools.product((1.0, -1.0), repeat=len(found))])
    means = signs @ moved / len(found)
    spread = np.sqrt(np.maximum(np.square(moved).mean(axis=0) - np.square(means), 1e-300))
    size = np.abs(means) / spread
    largest = size.max(axis=1)
    p = (largest[:, None] >= size[0] - 1e-12).mean(axis=0)
    return {name for name, each in zip(names, p, strict=True) if each < SIGNIFICANT}


def by_moderated_t(found: Sequence[Pair], before: Floats, noise: float = 1.0) -> bool:
    """Whether a moderated t test names anything, for comparison.

    G. Smyth, Statistical Applications in Genetics and Molecular Biology 3 (2004): the variance of
    a metric's differences is pooled with a prior one, each weighted by its degrees of freedom. The
    prior is twice the variance of the job's baseline runs (``before``: logarithms, one column for
    each of ``METRICS``). ``noise``: by what the pairs' differences are multiplied.
    """
    logs = np.log([[[side[n] for n in METRICS] for side in pair] for pair in found])
    moved = noise * (logs[:, 1] - logs[:, 0])
    known, prior = len(moved) - 1, len(before) - 1
    variance = known * moved.var(axis=0, ddof=1) + 2 * prior * before.var(axis=0, ddof=1)
    moving = variance > 1e-18
    error = np.sqrt(variance[moving] / (known + prior) / len(moved))
    t = np.abs(moved.mean(axis=0)[moving]) / error
    p = 2 * stdtr(known + prior, -t)
    return bool(p.min() * len(p) < SIGNIFICANT)  # the first step of Holm's procedure


@dataclass(frozen=True)
class NullCount:
    """How often verdicts on configurations that do not differ say anything false, as shares."""

    confirmed: float  # "better than the baseline"
    gain: float  # a gain
    cost: float  # a cost
    anything: float  # any of the three
    by_intervals: float  # a gain or a cost by each metric's own interval, as until 2026-11-28
    by_largest_t: float  # by the max-T test, for comparison
    by_moderated_t: float  # by the moderated t test, for comparison
    by_moderated_t_noisier: float  # the same, where a winner's variance is four times as large


def null_count(pool: Pool, *, times: int, pairs: int, seed: int) -> NullCount:
    """Verdicts where nothing differs."""
    said = np.zeros(8)
    for found in verdicts(pool, times=times, pairs=pairs, seed=seed):
        rows = traded(PAPER, found.changes)
        gain, cost = any(row.better for row in rows), any(row.worse for row in rows)
        former = any(row.better or row.worse for row in by_intervals(rows))
        said[:5] += found.confirmed, gain, cost, found.confirmed or gain or cost, former
    rng = np.random.default_rng(seed)
    columns = [pool.names.index(name) for name in METRICS]
    for _ in range(times):
        drawn, before = resampled(pool, rng, pairs, {}), rng.choice(pool.runs, BASELINES)
        said[5] += bool(by_largest_t(drawn))
        said[6] += by_moderated_t(drawn, before[:, columns])
        said[7] += by_moderated_t(drawn, before[:, columns], np.sqrt((1 + 4) / 2))
    return NullCount(*(said / times).tolist())


@dataclass(frozen=True)
class CostCount:
    """How often a true cost of a winner is named, as shares."""

    named: float
    false: float  # anything else that is named and does not differ
    by_intervals: float
    by_largest_t: float
    scatter: float  # standard deviation of the logarithm of a pair's ratio
    needed: int  # pairs that would name the cost with 80% probability, by the t test's power
    named_by_needed: float  # share that names it with so many pairs


def cost_count(
    pool: Pool, metric: str, cost: float, *, times: int, pairs: int, seed: int
) -> CostCount:
    """A winner that truly worsens one metric by a share, and improves WAF, TIME and RATE."""
    factors = {**WINNER, metric: 1 + cost if PAPER.named[metric] == "min" else 1 - cost}
    said = np.zeros(4)
    for found in verdicts(pool, times=times, pairs=pairs, seed=seed, factors=factors):
        rows = traded(PAPER, found.changes)
        said[0] += any(row.worse for row in rows if row.metric == metric)
        said[1] += any(row.worse or row.better for row in rows if row.metric not in factors)
        said[2] += any(row.worse for row in by_intervals(rows) if row.metric == metric)
    rng = np.random.default_rng(seed)
    said[3] = sum(
        metric in by_largest_t(resampled(pool, rng, pairs, factors)) for _ in range(times)
    )
    logs = np.log([[side[metric] for side in pair] for pair in pool.pairs])
    # Sides are swapped by a coin, so the mean is 0.
    scatter = float(np.sqrt(np.square(logs[:, 1] - logs[:, 0]).mean()))
    named, false, former, largest = (said / times).tolist()
    # Three gains are named first, and the configured memory is never asked about.
    alpha = SIGNIFICANT / 2 / (len(METRICS) - 1 - len({*WINNER} - {metric}))
    ratio = abs(np.log(factors[metric]))
    needed = max(pairs, pairs_for(float(np.expm1(ratio)), scatter / np.sqrt(2), alpha))
    many = verdicts(pool, times=times, pairs=needed, seed=seed, factors=factors)
    then = sum(any(r.worse and r.metric == metric for r in traded(PAPER, f.changes)) for f in many)
    return CostCount(named, false, former, largest, scatter, needed, then / times)


@dataclass(frozen=True)
class LimitCase:
    """A limit, and how the metric of a configuration that breaks it truly stands."""

    limit: str
    breaking: float  # over the baseline's


CASES = (
    LimitCase("rate >= 1 baseline", 0.97),
    LimitCase("rate >= 0.95 baseline", 0.92),
    LimitCase("sa <= 1 baseline", 1.03),
    LimitCase("write_p99 <= 1 baseline", 1.1),
    LimitCase("scan_short >= 0.9 baseline", 0.8),
    LimitCase("peak_rss <= 1.1 baseline", 1.15),
    LimitCase("write_p99 <= 20us", 2.5),  # the median is 9.6 in quiet runs, 14.3 in busy ones
)


@dataclass(frozen=True)
class LimitCount:
    """How often a limit was called kept."""

    margin: float  # median share of the bound
    unchanged: float  # share of unchanged configurations that are kept
    at_margin: float  # of configurations exactly at the margin of their own job
    breaking: float  # of those of ``LimitCase.breaking``
    breaking_by_medians: float  # of the same, as until 2026-11-28


def is_kept_unchanged(pool: Pool, case: LimitCase) -> bool:
    """Whether the median run keeps the limit: one in figures may be out of a machine's reach."""
    limit = parse_limit(case.limit)
    level = _level(pool, limit)
    bound = limit.resolved({limit.metric: level})
    return level >= bound.at_least if limit.is_floor else level <= bound.at_most


def _level(pool: Pool, limit: Limit) -> float:
    return float(np.median([side[limit.metric] for pair in pool.pairs for side in pair]))


def limit_count(pool: Pool, case: LimitCase, *, times: int, pairs: int, seed: int) -> LimitCount:
    """Jobs with a limit: margins from runs of the baseline before, then a proof by pairs."""
    rng, limit = np.random.default_rng(seed), parse_limit(case.limit)
    objective = Objective("limited", (Term("goal", "min"),), (limit,))
    level = _level(pool, limit)
    singles, kept, margins = _singles(pool, limit, level), np.zeros(4), []
    for _ in range(times):
        before = rng.choice(singles, BASELINES)
        margin = margin_of(limit, [before.tolist()], pairs, LIMIT_POWER, leveled=True)
        margins.append(margin.share)
        found = _proof(pool, limit, singles, rng, pairs)
        for place, factor in enumerate((1.0, _at(limit, level, margin.share), case.breaking)):
            shifted = [
                ({**b, "goal": 2.0}, {limit.metric: w[limit.metric] * factor, "goal": 1.0})
                for b, w in found
            ]
            shares = {limit_words(limit): margin.share}
            kept[place] += _kept(objective, shifted, shares)
        kept[3] += _kept(objective, shifted, None)
    return LimitCount(float(np.median(margins)), *(kept / times).tolist())


def _proof(
    pool: Pool, limit: Limit, singles: Floats, rng: np.random.Generator, pairs: int
) -> list[tuple[Metrics, Metrics]]:
    if limit.beside_baseline:
        return resampled(pool, rng, pairs, {})
    values = rng.choice(singles, (pairs, 2))
    return [({limit.metric: b}, {limit.metric: w}) for b, w in values.tolist()]


def _singles(pool: Pool, limit: Limit, level: float) -> Floats:
    """Single runs of a configuration whose median is ``level``: what a limit in figures means."""
    logs = pool.runs[:, pool.names.index(limit.metric)]
    return np.asarray(level * np.exp(logs - np.median(logs)))


def _at(limit: Limit, level: float, share: float) -> float:
    """What takes an unchanged configuration to the margin of the limit, exactly."""
    bound = limit.resolved({limit.metric: level})
    figure = bound.at_least * (1 - share) if limit.is_floor else bound.at_most * (1 + share)
    return figure / level


def _kept(
    objective: Objective, pairs: Sequence[Pair], margins: Mapping[str, float] | None
) -> bool:
    verdict = judge(objective, pairs, planned=len(pairs), margins=margins)
    assert verdict is not None
    return bool(verdict.limits[0].kept)
