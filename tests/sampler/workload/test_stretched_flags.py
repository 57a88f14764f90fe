"""A load that is longer by a factor: what its flags become."""

import pytest

from sampler.workload.workload import Prepare, stretched


@pytest.mark.parametrize(
    ("name", "value", "longer"),
    [("writes", 1000, 8000), ("reads", 10, 80), ("reads", -1, -1), ("sine_b", 0.8, 0.1),
     ("readwritepercent", 80, 80), ("use_existing_db", True, True),
     ("compression_type", "lz4", "lz4"), ("key_id_range", 5, 40)],
)  # fmt: skip
def test_what_counts_operations_grows_and_a_sine_is_stretched(name: str, value, longer):
    assert stretched(name, value, 8) == longer


def test_what_fills_the_database_grows_with_the_load_by_its_flags_too():
    """Else the larger load would be measured on the small database."""
    small = Prepare(benchmarks=("fillrandom",), num=1000, flags=(("writes", 500),))
    large = small.at_size(8)
    assert (large.num, dict(large.flags)) == (8000, {"writes": 4000})
    assert large.writes == 8 * small.writes
