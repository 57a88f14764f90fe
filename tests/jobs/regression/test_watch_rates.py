"""A small version of docs/results/watch.md: wrong limits fail here."""

import numpy as np
import pytest

from models.change_points import PER_100_NIGHTS, detect_changes
from studies.watch.simulation import SIGMA, changed, draw, night_chances, quiet


@pytest.mark.parametrize(
    ("law", "least", "most"),
    # Expected 40 * 56 * 0.01 = 22; three standard deviations, and what the law adds.
    [("normal", 9, 37), ("t(3)", 8, 40), ("contaminated", 8, 45), ("alike", 5, 45)],
)
def test_false_alarms_are_as_many_as_stated(law: str, least: int, most: int) -> None:
    found = quiet(law, batches=40, series=16, nights=60, seed=11)
    assert found.nights == pytest.approx(40 * 56, rel=0.05)
    assert least <= found.alarms.sum() <= most


def test_neighbours_alike_do_not_multiply_false_alarms() -> None:
    found = quiet("autocorrelated", batches=40, series=16, nights=60, seed=12)
    assert found.alarms.sum() <= 75  # without the allowance about 150


@pytest.mark.parametrize(
    ("sigmas", "before", "within", "least"), [(5, 10, 3, 0.5), (5, 30, 3, 0.7), (3, 30, 7, 0.9)]
)
def test_changes_are_found_as_soon_as_stated(
    sigmas: float, before: int, within: int, least: float
) -> None:
    found = changed(
        "normal", sigmas=sigmas, before=before, after=7, batches=100, series=8, seed=13
    )
    assert np.mean(found.delays <= within) >= least
    assert np.mean(np.abs(found.date_errors) <= 1) >= 0.8
    assert np.mean(found.dates_held) >= 0.9
    assert np.mean(found.sizes_held) >= 0.75
    assert 0.9 < np.median(found.sizes) < 1.3


@pytest.mark.slow
def test_the_simulation_judges_as_the_product_does() -> None:
    values = SIGMA * draw("normal", (10, 8, 40), np.random.default_rng(14))
    values[::2, 0, 25:] += 4 * SIGMA
    share = PER_100_NIGHTS / 800
    for batch in values:
        striking = [
            night
            for night in range(4, 40)
            if (night_chances(batch[None, :, : night + 1]) <= share).any()
        ]
        alarms = detect_changes(batch).alarms
        assert [a.reported for a in alarms[:1]] == striking[:1]
