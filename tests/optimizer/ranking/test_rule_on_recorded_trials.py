"""The rule on real trials of a load, and the figures that its benchmark makes of them."""

from dataclasses import replace
from xml.etree import ElementTree

import numpy as np
import pytest

from optimizer.ranking.sampling import LEVEL
from studies.line_plot import Line, line_plot
from studies.rank_stability.rule_replay import Point, _halves, rule_table, stop
from studies.rank_stability.sample_size import COMBINED, importances_of
from studies.recorded_trials import recorded


@pytest.fixture(scope="module")
def load():
    return recorded()


def halves(learned, seed, draws):
    rows = np.random.default_rng(seed).permutation(learned.features.n_trials)[:draws]
    return _halves(learned, rows, top_k=5, seed=seed)


@pytest.mark.slow
def test_halves_of_real_draws_agree_and_of_shuffled_ones_do_not(load):
    order = np.random.default_rng(5).permutation(load.features.n_trials)
    targets = {metric: target[order] for metric, target in load.targets.items()}
    shuffled = replace(load, targets=targets)
    assert halves(load, 1, 600) > LEVEL > halves(load, 1, 60)
    assert halves(shuffled, 1, 300) < LEVEL


def test_the_recorded_trials_rank_what_decides_a_load(load):
    rows = np.arange(load.features.n_trials)
    found = importances_of(load.features, load.targets, rows, seed=0, trees=30)[COMBINED]
    top = {load.features.names[i] for i in np.argsort(-found)[:3]}
    assert top == {"write_buffer_size", "min_level_to_compress", "compression_type"}


def test_a_replay_stops_at_the_second_good_checkpoint_in_a_row():
    assert stop({48: 0.5, 68: 0.1, 96: 0.5, 136: 0.5, 192: 0.9}, 0.4) == 136
    assert stop({48: 0.5, 68: 0.1, 96: 0.5}, 0.4) is None
    points = [{48: Point(0.5, 0.4, 0.2), 68: Point(0.5, 0.8, 0.6), 80: Point(0.0, 1.0, 1.0)}]
    row = next(r for r in rule_table(points, [{48: 0, 68: 0}], 5).splitlines() if "**" in r)
    cells = [cell.strip() for cell in row.strip("|").split("|")]
    assert cells == [
        f"**{LEVEL}**",
        "100%",
        "0%",
        "68",
        "68 to 68",
        "0.80",
        "100%",
        "0.60",
        "100%",
    ]


def test_a_plot_is_a_picture_with_every_point_inside():
    lines = [Line("a < b", [10, 20, 40], [0.0, 0.5, 1.0], [-0.1, 0.4, 0.9], [0.1, 0.6, 1.0])]
    picture = ElementTree.fromstring(line_plot("title", "draws", lines))
    shapes = [e.get("points") for e in picture.iter() if e.get("points")]
    across, down = zip(*(map(float, p.split(",")) for s in shapes for p in s.split()), strict=True)
    assert min(across) == 60 and max(across) == 700
    assert min(down) == 40 and max(down) == 330
    assert "a < b" in [e.text for e in picture.iter()]
