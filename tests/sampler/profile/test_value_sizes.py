"""A load writes values of the sizes that its compression ratio was worked out with."""

import numpy as np
import pytest

from sampler.profile.load import choose_load
from sampler.profile.load_shape import WrittenSizes
from sampler.profile.profile import DatabaseProfile, FamilyProfile, Skew, ValueSize


@pytest.mark.parametrize(
    ("size", "kind", "low", "high"),
    [
        (ValueSize(400.0), "fixed", 400, 400),  # nothing tells that they differ
        (ValueSize(400.0, 400.0, 400.0, 0.0), "fixed", 400, 400),
        (ValueSize(100.0, deviation=28.87), "normal", 13, 187),
        (ValueSize(100.0, deviation=50.0), "uniform", 13, 187),  # wider than normal sizes can be
        (ValueSize(1000.0, 1000.0, 1232.6), "normal", 700, 1300),
        (ValueSize(33.0, 23.0, 130.0), "uniform", 1, 65),
        (ValueSize(0.0), "fixed", 1, 1),
    ],
)
def test_sizes_are_as_wide_as_they_are_told_to_be(
    size: ValueSize, kind: str, low: int, high: int
) -> None:
    sizes = WrittenSizes.of(size)
    assert (sizes.kind, sizes.low, sizes.high) == (kind, low, high)
    drawn = [sizes.draw(np.random.default_rng(seed)) for seed in range(400)]
    assert low <= min(drawn) and max(drawn) <= high
    assert np.mean(drawn) == pytest.approx(max(1.0, size.mean or 0), rel=0.1)
    if size.deviation:
        assert np.std(drawn) == pytest.approx(size.deviation, rel=0.15)


def test_what_was_there_before_has_the_same_sizes() -> None:
    family = FamilyProfile(
        name="default", key_size=16.0, value_size=ValueSize(100.0, deviation=29.0),
        operations={"put": 6e5}, overwrite_share=0.9, entries=6_000_000,
    )  # fmt: skip
    load = choose_load(DatabaseProfile(families=(family,)), family, name="x").workload
    sizes = WrittenSizes.of(family.value_size).flags().items()
    assert sizes <= dict(load.prepare.flags).items() and sizes <= dict(load.flags).items()


@pytest.mark.parametrize("operations", [{"put": 1e6}, {"put": 1e6, "get": 2e6, "seek": 1e6}])
@pytest.mark.parametrize("deviation", [0.0, 29.0, 50.0])
def test_every_load_writes_sizes_of_that_deviation(
    operations: dict[str, float], deviation: float
) -> None:
    """``mixgraph`` draws a generalized Pareto distribution: of the shape -1 it is even."""
    family = FamilyProfile(
        name="default", key_size=16.0, value_size=ValueSize(100.0, deviation=deviation),
        operations=operations, entries=500_000, hit_rate=1.0, skew=Skew(reads=0.1),
    )  # fmt: skip
    load = choose_load(DatabaseProfile(families=(family,)), family, name="x").workload
    flags = dict(load.flags)
    if "mixgraph" in load.benchmarks:
        shape, width, low = (float(flags[f"value_{n}"]) for n in ("k", "sigma", "theta"))
        u = (np.arange(1000) + 0.5) / 1000
        sizes = low + width * (u**-shape - 1) / shape if shape else np.full(1000, low)
        assert sizes.max() <= float(flags["mix_max_value_size"])
    else:
        written = WrittenSizes(
            flags.get("value_size_distribution_type", "fixed"), load.value_size,
            flags.get("value_size_min", load.value_size),
            flags.get("value_size_max", load.value_size),
        )  # fmt: skip
        random = np.random.default_rng(1)
        sizes = np.array([written.draw(random) for _ in range(1000)])
    assert np.mean(sizes) == pytest.approx(100, abs=3)
    assert np.std(sizes) == pytest.approx(deviation, rel=0.06, abs=0.5)
