"""Real trials of a key-value store: does the ranking find what its engineers would expect?"""

import gzip
import json

import numpy as np
import pytest

from models.anova import group_labels
from models.importance import rank_parameters
from models.importance import tested_parameters as analyses
from models.random_forest import FeatureMatrix
from tests.support import DATA

RECORDED = DATA / "recorded_trials_load.jsonl.gz"


@pytest.fixture(scope="module")
def found():
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
    return rank_parameters(features, targets, seed=0), analyses(features, targets, groups)


def test_write_buffers_decide_write_amplification(found):
    waf = found[1]["waf"]
    by_size = waf["write_buffer_size"]
    assert by_size.p_holm < 1e-20
    assert by_size.omega_squared > 0.15
    smallest = np.argsort([int(label.split()[0]) for label in by_size.labels])
    means = by_size.means[smallest]
    assert means[0] > means[1] > means[-1]  # small buffers rewrite more


def test_compression_decides_space_and_time(found):
    for metric in ("sa", "log_time"):
        assert found[1][metric]["compression_type"].p_holm < 1e-6


def test_the_overall_order_starts_with_them(found):
    assert found[0][0] == "write_buffer_size"
    assert "compression_type" in found[0][:5]


def test_what_cannot_matter_to_a_load_does_not(found):
    # Bloom bits are for reads; a load of 100,000 keys reads nothing.
    for metric in ("waf", "log_time"):
        assert found[1][metric]["bloom_bits"].p_holm > 0.05
