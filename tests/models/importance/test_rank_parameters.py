import numpy as np
import pytest
from statsmodels.stats.multitest import multipletests

from models.importance import rank_parameters
from models.importance import tested_parameters as analyses
from models.random_forest import FeatureMatrix


def rank(features, targets, *, seed=0):
    return rank_parameters(features, targets, seed=seed, trees=30)


@pytest.fixture(scope="module")
def two_metrics(planted):
    """`first` depends on the planted parameters, `second` on noise_0 alone."""
    rng = np.random.default_rng(9)
    second = 5 * planted.features.values[:, 6] + rng.normal(scale=0.3, size=400)
    return {"first": planted.target, "second": second}


def test_metrics_count_alike_in_the_order(planted, two_metrics):
    # In units of a millionth the second metric must weigh as much as it did.
    targets = two_metrics | {"second": two_metrics["second"] * 1e-6}
    assert rank(planted.features, targets)[:3] == ("noise_0", "strong", "codec")


def test_p_values_are_corrected_for_all_parameters_and_metrics(planted, two_metrics):
    tested = analyses(planted.features, two_metrics, planted.groups)
    first = tested["first"]
    assert {name for name, each in first.items() if each.p_holm < 0.01} == {"strong", "codec"}
    asked = [(metric, name) for metric in tested for name in planted.features.names]
    plain = [tested[metric][name].p for metric, name in asked]
    corrected = [tested[metric][name].p_holm for metric, name in asked]
    assert len(plain) == 14
    np.testing.assert_allclose(corrected, multipletests(plain, method="holm")[1], rtol=1e-9)
    assert tested["second"]["noise_0"].p_holm < 1e-9
    assert first["noise_0"].p_holm > 0.05


def test_the_seed_decides(planted):
    noise = {"m": np.random.default_rng(1).normal(size=400)}  # the forest's luck makes the order
    orders = [rank(planted.features, noise, seed=seed) for seed in (1, 1, 2)]
    assert orders[0] == orders[1]
    assert orders[0] != orders[2]


def test_a_trial_without_a_metric_is_left_out_for_that_metric_alone(planted):
    """Trials that would turn the order upside down, were their missing values learned from."""
    gaps = np.where(np.arange(400) < 150, np.nan, planted.target)
    kept = planted.features.rows(np.arange(150, 400))
    found = rank(planted.features, {"m": gaps})
    assert found == rank(kept, {"m": gaps[150:]})
    assert found[:2] == ("strong", "codec")


def test_metrics_that_tell_nothing_do_not_count(planted):
    few = np.full(400, np.nan)
    few[:9] = planted.features.values[:9, 6]
    told = {"good": planted.target}
    nothing = {"constant": np.ones(400), "few": few, "none": np.full(400, np.nan)}
    assert rank(planted.features, nothing) == planted.features.names
    assert rank(planted.features, told | nothing) == rank(planted.features, told)
    tested = analyses(planted.features, told | nothing, planted.groups)
    assert {each.p_holm for each in tested["constant"].values()} == {None}


def test_few_settings_do_not_count_however_often_they_were_measured(planted):
    features = planted.features.rows(np.repeat(np.arange(9), 5))
    assert rank(features, {"m": np.arange(45.0)}) == features.names


def test_inactive_parameters_are_a_value_of_their_own():
    values = np.random.default_rng(0).random((200, 2))
    inactive = np.arange(200) % 2 == 0
    features = FeatureMatrix(
        values=np.where(inactive[:, None] & [False, True], np.nan, values),
        names=("always", "sometimes"),
        owner=np.arange(2),
    )
    assert rank(features, {"m": np.where(inactive, 5.0, 0.0)}) == ("sometimes", "always")


def test_without_any_knowledge_the_order_is_as_given(planted):
    assert rank(planted.features, {}) == planted.features.names
