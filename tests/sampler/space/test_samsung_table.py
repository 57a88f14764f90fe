"""Samsung's tables as the document prints them, against the spaces and the starting points.

Krishnamoorthy and Choi, "Fine-tuning RocksDB for NVMe SSD", Samsung Memory Solutions Lab: "Optimal
Value Selection" and "Optimal Values for Different Workloads", 1/2 and 2/2. Typed off the document,
in its units.
"""

import pytest

from sampler.space.space_file import load_space
from sampler.space.starting_points import known_points

KIB, MIB, GIB = 2**10, 2**20, 2**30
SPACES = ("samsung", "samsung-uncompressed")
SWEEPS = {
    "block_size": (KIB, (2, 4, 8, 16, 32)),
    "write_buffer_size": (MIB, (128, 256, 512, 1024, 2048)),
    "max_write_buffer_number": (1, (4, 8, 16, 32, 64)),
    "min_write_buffer_number_to_merge": (1, (1, 2, 4)),
    "max_bytes_for_level_base": (MIB, (256, 512, 1024, 2048, 4096)),
    "max_bytes_for_level_multiplier": (1, (5, 10, 20)),
    "target_file_size_base": (MIB, (32, 64, 128, 256)),
    "target_file_size_multiplier": (1, (1, 2, 5, 10)),
    # max_background_compactions; the 1, 2 and 4 of max_background_flushes have no option any more.
    "max_background_jobs": (1, (16, 32, 48, 64, 128)),
    "level0_file_num_compaction_trigger": (1, (1, 2, 4, 8, 16)),
    "level0_slowdown_writes_trigger": (1, (16, 24, 32, 40, 48)),
    "level0_stop_writes_trigger": (1, (48, 56, 64)),
}
COLUMNS = (
    "samsung-baseline", "samsung-80-20-snappy", "samsung-80-20-uncompressed",
    "samsung-50-50-snappy", "samsung-50-50-uncompressed",
)  # fmt: skip
TABLE = {
    "block_size": (KIB, (4, 8, 4, 8, 16)),
    "cache_size": (GIB, (1, 4, 0, 2, 0)),
    "write_buffer_size": (MIB, (256, 512, 1024, 512, 512)),
    "max_write_buffer_number": (1, (8, 8, 4, 16, 16)),
    "min_write_buffer_number_to_merge": (1, (1, 4, 3, 4, 1)),
    "max_bytes_for_level_base": (MIB, (512, 2048, 4096, 2048, 512)),
    "max_bytes_for_level_multiplier": (1, (10, 5, 5, 10, 10)),
    "target_file_size_base": (MIB, (64, 128, 64, 256, 128)),
    "target_file_size_multiplier": (1, (1, 1, 1, 1, 1)),
    "level0_file_num_compaction_trigger": (1, (1, 2, 2, 1, 8)),
    "level0_slowdown_writes_trigger": (1, (32, 24, 16, 48, 40)),
    "level0_stop_writes_trigger": (1, (46, 56, 56, 56, 46)),
}
FLUSHES = (2, 2, 1, 2, 1)
COMPACTIONS = (32, 32, 16, 48, 32)
# The second table; its baseline defines none of them.
TUNED = {
    "mmap_read": (True, True, True, True),
    "mmap_write": (False, False, False, True),
    "bytes_per_sync": (2048 * KIB, 512 * KIB, 512 * KIB, 1024 * KIB),
}


def column(place: int) -> dict[str, object]:
    """What the document says of a column, by parameter, in bytes."""
    found: dict[str, object] = {name: unit * row[place] for name, (unit, row) in TABLE.items()}
    found["max_background_jobs"] = FLUSHES[place] + COMPACTIONS[place]
    if place:
        found |= {name: row[place - 1] for name, row in TUNED.items()}
    return found


@pytest.mark.parametrize("name", COLUMNS)
def test_a_column_is_the_document_s(name: str):
    codec = "none" if name.endswith("uncompressed") else "snappy"
    expected = {**column(COLUMNS.index(name)), "compression_type": codec}
    assert known_points()[name].values == expected


def test_the_baseline_is_one_but_for_the_codec():
    compressed, plain = (known_points()[f"samsung-baseline{end}"] for end in ("", "-uncompressed"))
    assert plain.values == {**compressed.values, "compression_type": "none"}


@pytest.mark.parametrize("space", SPACES)
def test_a_space_has_the_document_s_sweeps_in_its_order_and_its_baseline(space: str):
    loaded = load_space(space)
    assert {each.name: each.sweep for each in loaded.parameters} == {
        name: tuple(unit * value for value in values) for name, (unit, values) in SWEEPS.items()
    }
    assert loaded.names == tuple(SWEEPS)
    assert {name: loaded.context[name] for name in column(0)} == column(0)
    assert loaded.context["compression_type"] == (
        "none" if space.endswith("uncompressed") else "snappy"
    )
