import numpy as np
import pytest

from models.importance import split_half


def halves(planted, rows, *, target=None, **more):
    values = planted.target if target is None else target
    arguments = {"seed": 0, "top_k": 2, "splits": 6} | more
    return split_half(planted.features.rows(rows), {"y": values[rows]}, **arguments)


def test_halves_agree_on_clear_effects_and_more_so_with_more_trials(planted):
    many, few = halves(planted, np.arange(400)), halves(planted, np.arange(24))
    assert many.overlap.tolist() == [1] * 6
    assert many.kendall_tau.mean() > few.kendall_tau.mean()
    assert many.overlap.mean() > few.overlap.mean()


@pytest.mark.slow
def test_halves_of_noise_agree_by_chance(planted):
    rng = np.random.default_rng(1)
    found = [
        halves(planted, np.arange(100), target=rng.permutation(planted.target), seed=seed).overlap
        for seed in range(12)
    ]
    # `codec` has four columns of two levels, the others are continuous: 2 of about 6.
    assert 0.15 < np.mean(found) < 0.5


def test_gaps_of_one_metric_leave_the_others_alone(planted):
    gap = np.full(400, np.nan)
    with_gap = split_half(
        planted.features, {"y": planted.target, "z": gap}, seed=3, top_k=2, splits=2
    )
    alone = split_half(planted.features, {"y": planted.target}, seed=3, top_k=2, splits=2)
    assert with_gap.kendall_tau.tolist() == alone.kendall_tau.tolist()


def test_what_is_constant_teaches_nothing(planted):
    found = halves(planted, np.arange(100), target=np.ones(400))
    assert found.overlap.tolist() == found.kendall_tau.tolist() == [0] * 6
    assert halves(planted, np.arange(19)).overlap.tolist() == [0] * 6  # 9 a half: too few to learn


def test_the_seed_decides(planted):
    def taus(seed):
        return halves(planted, np.arange(60), seed=seed).kendall_tau.tolist()

    assert taus(1) == taus(1)
    assert taus(1) != taus(2)


def test_the_top_is_no_more_than_everything(planted):
    assert halves(planted, np.arange(100), top_k=50, splits=2).overlap.tolist() == [1, 1]
