"""The rule that ends the sampling phase, replayed in many random orders of the same trials."""

from collections.abc import Callable, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, replace
from functools import partial
from multiprocessing import get_context
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from models.importance.agreement import beyond_chance, split_half, top_overlap
from optimizer.ranking.sampling import FIRST_CHECKPOINT, IN_A_ROW, LEVEL, checkpoints, in_a_row
from studies.rank_stability.sample_size import COMBINED, importances_of
from studies.recorded_trials import Learned

LEVELS = (0.2, 0.28, 0.34, 0.4, 0.46, 0.52, 0.6)


@dataclass(frozen=True)
class Replay:
    """How the rule is replayed.

    Attributes:
        top_k: The top that the search would use.
        replays: Random orders of the trials.
        seed: Decides the orders, the splits and the forests.
    """

    top_k: int
    replays: int
    seed: int

    def words(self, total: int) -> str:
        """What is replayed, for the page."""
        return (
            f"{self.replays} random orders of the {total:,} trials; at most {total // 2:,} are "
            f"drawn, as of a budget of twice as much, at checkpoints {checkpoints(total // 2)}. "
            f"The level is agreement of halves beyond chance, needed at {IN_A_ROW} checkpoints in "
            f"a row, of which the first is {FIRST_CHECKPOINT}; the tool's is {LEVEL}. *The rest* "
            "are the trials that the replay did not draw, ranked by themselves, so they share "
            "nothing with the draws; *all* contain them. Agreement is that of the top "
            f"{self.top_k} as ranked when sampling ended. Levels that are not the tool's were "
            "looked at for the choice of its own. *Where nothing matters*: ended early although "
            "every replay gave the measurements to other trials at random."
        )


@dataclass(frozen=True)
class Point:
    """One replay at one number of draws.

    Attributes:
        halves: Agreement of halves beyond chance.
        with_all: Share of the top in common with the ranking of all trials.
        with_rest: The same with the ranking of the trials that were not drawn.
    """

    halves: float | None
    with_all: float
    with_rest: float


_T = TypeVar("_T")
Replayed = dict[int, Point]  # by number of draws
Agreement = dict[int, float | None]


def played(replay: Replay, learned: Learned) -> list[Replayed]:
    """The points of each replay: at the checkpoints, and where the budget ends the sampling."""
    rows = np.arange(learned.features.n_trials)
    truth = importances_of(learned.features, learned.targets, rows, seed=replay.seed, trees=200)
    return _side_by_side(partial(_one, replay, learned, truth[COMBINED]), replay.replays)


def _one(replay: Replay, learned: Learned, truth: NDArray[np.float64], number: int) -> Replayed:
    total, top = learned.features.n_trials, replay.top_k
    order = np.random.default_rng([replay.seed, number]).permutation(total)
    points = {}
    for draws in (*checkpoints(total // 2), total // 2):
        tops = [
            importances_of(learned.features, learned.targets, part, seed=number, trees=32)
            for part in (order[:draws], order[draws:])
        ]
        points[draws] = Point(
            _halves(learned, order[:draws], top_k=top, seed=number),
            top_overlap(tops[0][COMBINED], truth, top_k=top),
            top_overlap(tops[0][COMBINED], tops[1][COMBINED], top_k=top),
        )
    return points


def played_on_noise(replay: Replay, learned: Learned) -> list[Agreement]:
    """Agreement of halves where each replay gives the targets to other trials: nothing matters."""
    return _side_by_side(partial(_one_on_noise, replay, learned), replay.replays)


def _one_on_noise(replay: Replay, learned: Learned, number: int) -> Agreement:
    total = learned.features.n_trials
    rng = np.random.default_rng([replay.seed, number, 1])
    order, other = rng.permutation(total), rng.permutation(total)
    targets = {metric: target[other] for metric, target in learned.targets.items()}
    noise = replace(learned, targets=targets)
    return {
        draws: _halves(noise, order[:draws], top_k=replay.top_k, seed=number)
        for draws in checkpoints(total // 2)
    }


def _side_by_side(one: Callable[[int], _T], replays: int) -> list[_T]:
    with ProcessPoolExecutor(mp_context=get_context("spawn")) as processes:
        return list(processes.map(one, range(replays)))


def _halves(learned: Learned, rows: NDArray[np.intp], *, top_k: int, seed: int) -> float | None:
    targets = {metric: target[rows] for metric, target in learned.targets.items()}
    halves = split_half(learned.features.rows(rows), targets, seed=seed, top_k=top_k)
    mean, parameters = float(halves.overlap.mean()), learned.features.n_parameters
    return beyond_chance(mean, top_k=top_k, n_parameters=parameters)


def stop(agreement: Agreement, level: float) -> int | None:
    """At how many draws the rule ends the sampling; None where it never does."""
    so_far: list[float | None] = []
    for draws, agreed in agreement.items():
        so_far.append(agreed)
        if in_a_row(so_far, level):
            return draws
    return None


def rule_table(replays: Sequence[Replayed], noise: Sequence[Agreement], top_k: int) -> str:
    """A row a level, and for comparison a row a fixed number of draws."""
    rows = [
        f"| level | ended early | where nothing matters | draws, mean | 95% of replays "
        f"| top {top_k} shared with all | at least 80% | shared with the rest "
        "| at least 60% |",
        "|--:|--:|--:|--:|:-:|--:|--:|--:|--:|",
    ]
    last = max(replays[0])
    looks = [{d: p.halves for d, p in points.items() if d != last} for points in replays]
    for level in LEVELS:
        ends = [stop(each, level) for each in looks]
        early = np.mean([end is not None for end in ends])
        wrong = np.mean([stop(each, level) is not None for each in noise])
        name = f"**{level}**" if level == LEVEL else f"{level}"
        rows.append(
            _row(f"{name} | {early:.0%} | {wrong:.0%}", [e or last for e in ends], replays)
        )
    rows += [
        _row(f"always {draws:,} draws | | ", [draws] * len(replays), replays)
        for draws in replays[0]
    ]
    return "\n".join(rows)


def halves_table(replays: Sequence[Replayed], noise: Sequence[Agreement]) -> str:
    """What halves agree at each checkpoint, with effects and without: mean and 95% of replays."""
    real = [{d: p.halves for d, p in points.items()} for points in replays]
    rows = [
        "| draws | agreement of halves beyond chance | where nothing matters |",
        "|--:|--:|--:|",
    ]
    for draws in noise[0]:
        pairs = [np.array([each[draws] for each in found], dtype=float) for found in (real, noise)]
        cells = ["{:.2f} ({:.2f} to {:.2f})".format(v.mean(), *np.percentile(v, [2.5, 97.5]))
                 for v in pairs]  # fmt: skip
        rows.append(f"| {draws:,} | " + " | ".join(cells) + " |")
    return "\n".join(rows)


def _row(head: str, ends: Sequence[int], replays: Sequence[Replayed]) -> str:
    at = [points[end] for points, end in zip(replays, ends, strict=True)]
    low, high = np.percentile(ends, [2.5, 97.5])
    whole, rest = (np.array([getattr(p, n) for p in at]) for n in ("with_all", "with_rest"))
    near = 1e-9  # shares are of counts: 0.8 may come out as 0.7999...
    return (
        f"| {head} | {np.mean(ends):,.0f} | {low:,.0f} to {high:,.0f} "
        f"| {whole.mean():.2f} | {np.mean(whole >= 0.8 - near):.0%} "
        f"| {rest.mean():.2f} | {np.mean(rest >= 0.6 - near):.0%} |"
    )
