"""Ablations: each variant changes what it says and nothing else, and the page counts pairs."""

import numpy as np
import pytest

from models.gaussian_process import kernel
from optimizer.strategies import evolution, guided, replication
from optimizer.surrogate import expected_gain
from sampler.common.errors import InputError
from studies.ablations import page, problems, variants
from studies.ablations.searched import searched
from studies.ablations.variants import AS_IT_IS, VARIANTS, under
from studies.search.best import Effort

RUNS = (12, 24)


@pytest.fixture(autouse=True)
def short(monkeypatch):
    monkeypatch.setattr(problems, "EFFORT", Effort(300, 4, 20, 20))


def parts():
    return (
        guided.surrogate_of, guided.expected_gain, guided.evolve, guided.replication_of,
        expected_gain.improvement, expected_gain._DRAWS, evolution._KEPT, evolution._CHILDREN,
        replication.SHARE, kernel._PER_LENGTH,
    )  # fmt: skip


@pytest.mark.parametrize("variant", [*VARIANTS, "no noise + true models"])
def test_a_variant_changes_the_search_and_puts_everything_back(variant):
    before, usual = parts(), problems.posed("anonymous-12")[0]
    function, within = under(variant, usual)
    with within:
        changed = parts() != before
    noisy = function.noise.residuals
    assert (changed or not np.array_equal(noisy, usual.noise.residuals)) == (variant != AS_IT_IS)
    found = searched("anonymous-12", variant, 1, (4, 14))
    assert parts() == before
    assert found["runs"] == [4, 14]


def test_what_knows_the_truth_finds_the_best_and_noise_hides_it():
    shares = {
        variant: [searched("anonymous-12", variant, seed, RUNS) for seed in (0, 1)]
        for variant in (AS_IT_IS, "no noise", "no noise + true models")
    }
    last = {
        v: np.mean([row["fitness"][-1] / row["best"] for row in found])
        for v, found in shares.items()
    }
    assert last["no noise + true models"] > 0.97
    assert last[AS_IT_IS] < last["no noise"] <= last["no noise + true models"] + 0.02
    assert searched("anonymous-12", AS_IT_IS, 0, RUNS)["fitness"] == shares[AS_IT_IS][0]["fitness"]


def test_only_clocks_err_less_with_the_covariate():
    function = problems.posed("anonymous-12")[0]
    half, _ = under("covariate", function)
    ratio = half.noise.residuals.std(axis=0) / function.noise.residuals.std(axis=0)
    assert ratio.tolist() == pytest.approx([1, 1, 0.5, 0.5])
    with pytest.raises(InputError, match="'nothing' is none of as it is"):
        under("no noise + nothing", function)


def test_the_trust_region_moves_few_parameters_and_sweeps_lower_nothing():
    start, matters = np.random.default_rng(0).random((48, 12)), np.ones(12)

    def hill(points):
        return -np.square(points - 0.7).sum(axis=1)

    near = variants._in_trust_region(hill, start, matters, seed=1)
    moved = (np.abs(near[0] - start[:3]) > 1e-9).sum(axis=1).min()
    assert 0 < moved <= variants._MOVES
    swept = variants._with_sweeps(hill, start, matters, seed=1)
    assert hill(swept[:1]) > hill(evolution.evolve(hill, start, matters, seed=1)[:1])


def test_the_page_counts_pairs_of_seeds(tmp_path):
    row = {"problem": "anonymous-12", "digest": "", "best": 900, "runs": [100, 200], "seconds": 9}
    rows = [
        {
            **row,
            "variant": variant,
            "seed": seed,
            "fitness": [100, level + 10 * seed],
            "day": "2026-11-27",
        }
        for variant, level in ((AS_IT_IS, 500), ("no noise", 701), ("log EI", 500))
        for seed in range(4)
    ]
    rows[-1]["fitness"] = [100, 1000]  # beyond the best that was known
    text = page.write_page(tmp_path / "page", "make prove-ablations", rows)
    assert (tmp_path / "page.md").read_text() == text
    assert "| as it is | 0.52 (4) |" in text
    assert "| no noise | 0.72 (4) **+20 [+20, +20]** |" in text
    assert "| log EI | 0.63 (4) +12 [-26, +49] |" in text
