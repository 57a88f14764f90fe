"""What real runs say of a path: its points, the fewest changes and the winner, round by round."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType

import numpy as np

from models import Floats
from optimizer.budget.power import LEAST_PAIRS
from optimizer.confirmation.kept_limits import Margins, limits_kept
from optimizer.confirmation.paired_change import Change, change, interval_of_mean
from optimizer.confirmation.proof import fitness_by_pair
from optimizer.objective.limits import kept_words
from optimizer.objective.objective import Metrics, Objective
from optimizer.surrogate.predictions import Estimate

BASELINE, MINIMAL, WINNER = "baseline", "minimal", "winner"
Round = Mapping[str, Metrics]


@dataclass(frozen=True)
class BlockComparison:
    """One configuration against another, over the rounds that measured both."""

    rounds: int  # how many rounds
    fitness: Estimate  # the difference; each fitness is against the baseline of its round
    changes: Mapping[str, Change]  # by metric, the ratio of the two, in percent


@dataclass(frozen=True)
class NotWorse:
    """Whether the fewest changes are as good as all of them."""

    compared: BlockComparison
    margin: float  # the loss of fitness that was declared to be small enough, before the runs
    # Whether the 95% interval of the difference lies above that, every limit is shown to be kept,
    # and none of its runs failed alone.
    shown: bool
    why: str  # one line


def compare_blocks(
    objective: Objective, rounds: Sequence[Round], before: str, after: str
) -> BlockComparison | None:
    """One configuration (``after``) against another, over the runs that ended well.

    Neighbours in time are compared, as in the proof: a machine that drifts slows a round's runs
    alike. None with fewer than two rounds that measured both, and the baseline.
    """
    whole = _whole(objective, rounds, before, after)
    if len(whole) < 2:
        return None
    gained = _fitness(objective, whole, after) - _fitness(objective, whole, before)
    mean, half, _ = interval_of_mean(gained)
    names = [
        name
        for name in whole[0][after]
        if all(name in each[before] and name in each[after] for each in whole)
    ]
    return BlockComparison(
        rounds=len(whole),
        fitness=Estimate(mean, mean - half, mean + half),
        changes={
            name: change([(each[before][name], each[after][name]) for each in whole])
            for name in names
        },
    )


def judge_minimal(
    objective: Objective,
    rounds: Sequence[Round],
    *,
    margin: float,
    failed: int = 0,
    margins: Margins | None = MappingProxyType({}),
) -> NotWorse | None:
    """Whether the fewest changes are not worse than the winner by more than a margin of fitness.

    A non-inferiority test at the level of the proof: it passes when the 95% interval of the
    difference in fitness, fewest changes less winner, lies above ``-margin``, which is declared
    before the runs. As in the proof nothing is shown where runs of the fewest changes ``failed``,
    and the baseline and the winner ended well. None with fewer than two rounds.
    ``margins``: of the limits; see ``judge``.
    """
    compared = compare_blocks(objective, rounds, WINNER, MINIMAL)
    if compared is None:
        return None
    whole = _whole(objective, rounds, WINNER, MINIMAL)
    found = compared.fitness
    above, enough = found.low > -margin, compared.rounds >= LEAST_PAIRS
    why = (
        f"fitness {found.expected:+z.0f} [{found.low:+z.0f}, {found.high:+z.0f}] relative to the "
        f"winner over {compared.rounds} rounds, {'above' if above else 'not above'} "
        f"the declared {-margin:.0f}"
    )
    pairs = [(each[BASELINE], each[MINIMAL]) for each in whole]
    kept = limits_kept(objective.limits, pairs, pairs, margins=margins, unseen={})
    broken = [each for each in kept if not each.kept]
    for each in broken:
        why += f"; the limit {kept_words(each.document())}"
    if failed:
        why += f"; {failed} of its runs failed, while the others succeeded"
    if not enough:
        why += f"; {LEAST_PAIRS} rounds are needed"
    shown = above and enough and not broken and not failed
    return NotWorse(compared, margin, shown, why)


def _whole(objective: Objective, rounds: Sequence[Round], before: str, after: str) -> list[Round]:
    """The rounds in which the two and the baseline have a fitness."""
    return [
        each
        for each in rounds
        if {BASELINE, before, after} <= each.keys()
        and all(
            objective.fitness(each[name], each[BASELINE]) is not None for name in (before, after)
        )
    ]


def _fitness(objective: Objective, rounds: Sequence[Round], name: str) -> Floats:
    if name == BASELINE:
        return np.zeros(len(rounds))
    return fitness_by_pair(objective, [(each[BASELINE], each[name]) for each in rounds])
