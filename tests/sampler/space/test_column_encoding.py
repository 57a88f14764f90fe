"""Configurations as columns of numbers for the models."""

import pytest

from sampler.space.latent import INACTIVE, SPECIAL, encode_columns
from sampler.space.space_file import space_from_document


@pytest.fixture
def space():
    names = ["compression_type", "compression_level", "write_buffer_size", "mmap_write"]
    return space_from_document({"name": "s", "parameter": [{"name": name} for name in names]})


def columns_of(space, name: str, configuration: dict[str, object]) -> list[float]:
    values, owner = encode_columns(space, [configuration])
    return values[0][owner == space.names.index(name)].tolist()


def test_a_codec_has_a_column_for_each_value_and_one_of_them_is_set(space):
    columns = columns_of(space, "compression_type", {"compression_type": "zstd"})
    levels = space.by_name["compression_type"].values
    assert columns == [1.0 if level == "zstd" else 0.0 for level in levels]


def test_a_size_drawn_on_a_log_scale_is_learned_on_one(space):
    assert columns_of(space, "write_buffer_size", {"write_buffer_size": 2**26}) == [26.0]


def test_special_values_and_inactive_parameters_lie_apart_from_the_range(space):
    special = columns_of(space, "compression_level", {"compression_level": 32767})
    assert special == [SPECIAL]
    assert columns_of(space, "compression_level", {}) == [INACTIVE]
    assert INACTIVE < SPECIAL < columns_of(space, "compression_level", {"compression_level": 1})[0]


def test_truth_values_are_0_and_1(space):
    assert columns_of(space, "mmap_write", {"mmap_write": True}) == [1.0]
    assert columns_of(space, "mmap_write", {"mmap_write": False}) == [0.0]


def test_every_column_has_an_owner_in_the_order_of_the_space(space):
    values, owner = encode_columns(space, [{}, {}, {}])
    assert values.shape == (3, len(owner))
    assert sorted(set(owner.tolist())) == list(range(len(space.parameters)))
