import numpy as np
import pytest
from statsmodels.stats.multitest import multipletests

from models.importance.design import FeatureMatrix
from models.importance.ranking import rank_parameters

FAST = {"trees": 30, "resamples": 4, "n_repeats": 2}


def shown(ranking):
    """Everything of a ranking that is a number, for comparing two of them."""
    return {
        metric: (
            found.forest.r2_split,
            found.forest.r2_cross_validated,
            found.importance.mdi.tolist(),
            found.importance.permutation_raw.tolist(),
            found.stability.rank_mean.tolist(),
            found.p_holm,
        )
        for metric, found in ranking.metrics.items()
    }


@pytest.fixture(scope="module")
def two_metrics(planted):
    """`first` depends on the planted parameters, `second` on noise_0 alone."""
    rng = np.random.default_rng(9)
    second = 5 * planted.features.values[:, 6] + rng.normal(scale=0.3, size=400)
    return {"first": planted.target, "second": second}


@pytest.mark.slow
def test_metrics_count_alike_in_the_order(planted, two_metrics):
    # In units of a millionth the second metric must weigh as much as it did.
    targets = two_metrics | {"second": two_metrics["second"] * 1e-6}
    ranking = rank_parameters(planted.features, targets, planted.groups, seed=0, **FAST)
    assert ranking.order[:3] == ("noise_0", "strong", "codec")
    assert ranking.importance.sum() == pytest.approx(1)
    halves = [found.importance.mdi / 2 for found in ranking.metrics.values()]
    np.testing.assert_allclose(ranking.importance, sum(halves))
    position = [ranking.names.index(name) for name in ranking.order]
    assert (np.diff(ranking.importance[position]) <= 0).all()


@pytest.mark.slow
def test_p_values_are_corrected_for_all_parameters_and_metrics(planted, two_metrics):
    ranking = rank_parameters(planted.features, two_metrics, planted.groups, seed=0, **FAST)
    first = ranking.metrics["first"]
    assert {name for name, p in first.p_holm.items() if p < 0.01} == {"strong", "codec"}
    tests = [(m, name) for m in ranking.metrics for name in ranking.names]
    plain = [ranking.metrics[m].anova[name].p for m, name in tests]
    corrected = [ranking.metrics[m].p_holm[name] for m, name in tests]
    assert len(plain) == 14
    np.testing.assert_allclose(corrected, multipletests(plain, method="holm")[1], rtol=1e-9)
    assert ranking.metrics["second"].p_holm["noise_0"] < 1e-9
    assert first.p_holm["noise_0"] > 0.05


@pytest.mark.slow
def test_a_metric_is_found_alike_alone_and_in_company(planted, two_metrics):
    both = rank_parameters(planted.features, two_metrics, planted.groups, seed=0, **FAST)
    alone = rank_parameters(
        planted.features, {"second": two_metrics["second"]}, planted.groups, seed=0, **FAST
    )
    *found, p_holm = shown(both)["second"]
    *expected, p_alone = shown(alone)["second"]
    assert found == expected
    assert all(p_holm[name] >= p_alone[name] for name in both.names)  # more questions


def test_the_seed_decides(planted):
    def rank(seed):
        targets = {"m": planted.target}
        return shown(rank_parameters(planted.features, targets, planted.groups, seed=seed, **FAST))

    assert rank(1) == rank(1)
    assert rank(1) != rank(2)


@pytest.mark.slow
def test_missing_values_leave_a_trial_out_for_their_metric_alone(planted, two_metrics):
    gaps = two_metrics["second"].copy()
    gaps[:150] = np.nan
    kept = np.arange(150, 400)
    ranking = rank_parameters(
        planted.features, two_metrics | {"second": gaps}, planted.groups, seed=0, **FAST
    )
    assert ranking.metrics["first"].forest.n_trials == 400
    assert ranking.metrics["first"].anova["codec"].sizes.sum() == 400
    rest = rank_parameters(
        planted.features.rows(kept),
        {"second": gaps[kept]},
        {name: [labels[i] for i in kept] for name, labels in planted.groups.items()},
        seed=0,
        **FAST,
    )
    *found, _ = shown(ranking)["second"]  # p-values are corrected for both metrics
    *expected, _ = shown(rest)["second"]
    assert found == expected


@pytest.mark.slow
def test_row_order_does_not_change_what_matters(planted):
    order = np.random.default_rng(0).permutation(400)
    ranking = rank_parameters(
        planted.features.rows(order),
        {"m": planted.target[order]},
        {name: [labels[i] for i in order] for name, labels in planted.groups.items()},
        seed=0,
        **FAST,
    )
    assert ranking.order[:3] == ("strong", "codec", "weak")


@pytest.mark.slow
def test_metrics_that_tell_nothing_are_left_out_of_the_order(planted):
    few = np.full(400, np.nan)
    few[:5] = planted.features.values[:5, 6]
    targets = {
        "good": planted.target,
        "constant": np.ones(400),
        "few": few,
        "none": np.full(400, np.nan),
    }
    ranking = rank_parameters(planted.features, targets, planted.groups, seed=0, **FAST)
    np.testing.assert_allclose(ranking.importance, ranking.metrics["good"].importance.mdi)
    for metric in ("constant", "few", "none"):
        assert ranking.metrics[metric].importance is None
        assert ranking.metrics[metric].stability is None
    assert ranking.metrics["few"].forest.n_trials == 5
    assert ranking.metrics["none"].forest is None
    assert set(ranking.metrics["constant"].p_holm.values()) == {None}


def test_without_any_knowledge_the_order_is_as_given(planted):
    ranking = rank_parameters(planted.features, {}, planted.groups, seed=0)
    assert ranking.order == planted.features.names
    assert ranking.importance.tolist() == [0] * 7


def test_groups_must_name_the_parameters():
    features = FeatureMatrix(values=np.ones((3, 1)), names=("a",), owner=np.array([0]))
    for groups in ({}, {"a": "xyz", "b": "xyz"}):
        with pytest.raises(ValueError, match=r"check '[ab]'"):
            rank_parameters(features, {}, groups, seed=0)
