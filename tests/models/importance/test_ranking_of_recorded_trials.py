"""Real trials of a key-value store: does the ranking find what its engineers would expect?"""

import gzip
import json

import numpy as np
import pytest

from models.importance.anova import group_labels
from models.importance.design import FeatureMatrix
from models.importance.ranking import rank_parameters
from tests.support import DATA

RECORDED = DATA / "recorded_trials_load.jsonl.gz"


@pytest.fixture(scope="module")
def ranking():
    with gzip.open(RECORDED, "rt", encoding="utf-8") as lines:
        trials = [trial for trial in map(json.loads, lines) if not trial["default"]]
    names = tuple(trials[0]["config"])
    columns, owner, groups = [], [], {}
    for parameter, name in enumerate(names):
        values = [trial["config"][name] for trial in trials]
        text = isinstance(values[0], str)
        new = [[v == level for v in values] for level in sorted(set(values))] if text else [values]
        columns += new
        owner += [parameter] * len(new)
        groups[name] = group_labels(values, special=(-1, 0))
    results = [trial["result"] for trial in trials]
    targets = {
        "waf": [(r["bytes_flush"] + r["bytes_compact"]) / r["bytes_user"] for r in results],
        "sa": [r["sst_bytes"] / r["bytes_user"] for r in results],
        "log_time": [np.log(r["ops"]["fillrandom"]["seconds"]) for r in results],
    }
    features = FeatureMatrix(
        values=np.array(columns, dtype=float).T, names=names, owner=np.array(owner)
    )
    return rank_parameters(features, targets, groups, seed=0)


def rank_of(ranking, metric, name):
    by_impurity = np.argsort(-ranking.metrics[metric].importance.mdi)
    return by_impurity.tolist().index(ranking.names.index(name)) + 1


@pytest.mark.slow
@pytest.mark.parametrize(("metric", "least"), [("waf", 0.5), ("sa", 0.45), ("log_time", 0.3)])
def test_forests_predict_unseen_trials(ranking, metric, least):
    forest = ranking.metrics[metric].forest
    assert forest.n_trials == 661
    assert forest.r2_cross_validated > least
    assert forest.r2_split > least - 0.15


def test_write_buffers_decide_write_amplification(ranking):
    assert rank_of(ranking, "waf", "write_buffer_size") == 1
    waf = ranking.metrics["waf"]
    assert waf.stability.rank_high[ranking.names.index("write_buffer_size")] <= 2
    assert waf.p_holm["write_buffer_size"] < 1e-20
    assert waf.anova["write_buffer_size"].omega_squared > 0.15
    by_size = waf.anova["write_buffer_size"]
    smallest = np.argsort([int(label.split()[0]) for label in by_size.labels])
    means = by_size.means[smallest]
    assert means[0] > means[1] > means[-1]  # small buffers rewrite more


def test_compression_decides_space_and_time(ranking):
    assert rank_of(ranking, "sa", "min_level_to_compress") == 1
    assert rank_of(ranking, "sa", "compression_type") <= 4
    assert rank_of(ranking, "log_time", "compression_type") <= 3
    for metric in ("sa", "log_time"):
        assert ranking.metrics[metric].p_holm["compression_type"] < 1e-6


def test_the_overall_order_starts_with_them(ranking):
    assert ranking.order[0] == "write_buffer_size"
    assert "compression_type" in ranking.order[:5]


def test_what_cannot_matter_to_a_load_does_not(ranking):
    # Bloom bits are for reads; a load of 100,000 keys reads nothing.
    bits = ranking.names.index("bloom_bits")
    for metric in ("waf", "log_time"):
        found = ranking.metrics[metric]
        assert abs(found.importance.permutation_mean[bits]) < 0.03
        assert found.stability.top_k_frequency[bits] < 0.2
        assert found.p_holm["bloom_bits"] > 0.05
