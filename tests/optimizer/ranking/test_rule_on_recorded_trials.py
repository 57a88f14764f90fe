"""The rule that ends sampling, on real trials of a load: docs/results/rank_stability.md."""

import numpy as np
import pytest

from models.importance import beyond_chance, split_half
from models.random_forest import FeatureMatrix
from optimizer.strategies.genetic import LEVEL
from sampler.space.latent import encode_columns
from sampler.space.space import digest
from studies.search.recorded import read_recorded


@pytest.mark.slow
def test_halves_of_real_draws_agree_and_of_shuffled_ones_do_not():
    load = read_recorded("load")
    runs = [each for each in load.runs if digest(each.configuration) != digest(load.default)]
    columns, owner = encode_columns(load.space, [each.configuration for each in runs])
    features = FeatureMatrix(columns, load.space.names, owner)
    metrics = [term.metric for term in load.problem.objective.terms]
    measured = {m: np.log([each.metrics[m] for each in runs]) for m in metrics}
    other = np.random.default_rng(5).permutation(len(runs))
    shuffled = {metric: values[other] for metric, values in measured.items()}

    def agreement(targets, draws):
        rows = np.random.default_rng(1).permutation(len(runs))[:draws]
        some = {metric: values[rows] for metric, values in targets.items()}
        overlap = split_half(features.rows(rows), some, seed=1, top_k=5).overlap.mean()
        return beyond_chance(overlap, top_k=5, n_parameters=features.n_parameters)

    assert agreement(measured, 600) > LEVEL > agreement(measured, 60)
    assert agreement(shuffled, 300) < LEVEL
