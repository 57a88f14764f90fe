"""Tables that db_bench 7.8.3 made with a known ``compression_ratio`` (2026-11-27) tell it back."""

from __future__ import annotations

from dataclasses import replace

import pytest

from sampler.profile.compressibility import Packed, value_ratio
from sampler.profile.load_shape import WrittenSizes
from sampler.profile.profile import ValueSize

# fillrandom of 6,000,000 bytes with write_buffer_size=2097152, then compact: properties of the
# first table of a flush, with its sequence numbers, or of the compaction, whose are zeroed.


def packed(
    codec: str, key: int, value: int, entries: int, blocks: int, data: int, kind: str
) -> Packed:
    keys = 6_000_000 / (key + value)
    return Packed(
        codec=codec, key_size=key, value_size=value, valued=1.0, per_block=entries / blocks,
        packed=data / entries, spread=keys / entries if kind == "flush" else 1.6,
        sequences=entries if kind == "flush" else 0,
    )  # fmt: skip


@pytest.mark.parametrize(
    ("ratio", "codec", "key", "value", "entries", "blocks", "data", "kind"),
    [
        (0.25, "LZ4", 24, 40, 18778, 319, 822026, "flush"),
        (0.25, "LZ4", 24, 40, 55507, 941, 2227063, "compaction"),
        (0.25, "ZSTD", 16, 100, 12245, 372, 424174, "flush"),
        (0.25, "ZSTD", 16, 100, 32683, 991, 1015704, "compaction"),
        (0.5, "Snappy", 20, 1000, 1665, 417, 946614, "flush"),
        (0.5, "Snappy", 20, 1000, 3721, 931, 2097084, "compaction"),
        (0.75, "ZSTD", 32, 4000, 423, 423, 1126740, "flush"),
        (0.75, "ZSTD", 32, 4000, 946, 946, 2516449, "compaction"),
        (0.9, "Zlib", 16, 100, 12194, 370, 1085103, "flush"),
        (0.9, "Zlib", 16, 100, 32735, 992, 2761019, "compaction"),
        (0.9, "LZ4", 16, 100, 32678, 991, 3341483, "compaction"),
        (1.0, "Snappy", 20, 1000, 1655, 414, 1702736, "flush"),
        (1.0, "Snappy", 20, 1000, 3703, 926, 3808326, "compaction"),
    ],
)
def test_known_ratios(
    ratio: float, codec: str, key: int, value: int, entries: int, blocks: int, data: int, kind: str
) -> None:
    found = value_ratio(packed(codec, key, value, entries, blocks, data, kind))
    assert found.value == pytest.approx(ratio, rel=0.05)


def test_sizes_that_vary() -> None:
    # mixgraph: 10245 values of 33 bytes on average, half of them below 23. No load of db_bench
    # but mixgraph writes sizes so uneven, so the ratio is that of the load that is written: with
    # values of 1 to 65 bytes and 0.374 db_bench 7.8.3 made tables of 44.2 bytes an entry, the
    # table of mixgraph had 44.6.
    mixed = Packed(
        codec="Snappy", key_size=48, value_size=33, valued=1.0, per_block=10245 / 219,
        sizes=WrittenSizes.of(ValueSize(33, 23, 130)), packed=456777 / 10245, spread=7.1,
        sequences=10245,
    )  # fmt: skip
    found = value_ratio(mixed)
    assert found.value == pytest.approx(0.374, rel=0.03)
    made = replace(mixed, per_block=13332 / 283, packed=588875 / 13332, sequences=13332)
    assert (again := value_ratio(made)) and again.value == pytest.approx(0.374, rel=0.05)


def test_values_of_50_to_150_bytes() -> None:
    # fillrandom of 800,000 such values with LZ4 and 0.5, without statistics: its 28 flushes.
    sizes = WrittenSizes.of(ValueSize(100, deviation=28.87))
    even = packed("LZ4", 16, 100, 774440, 23361, 72429631, "flush")
    even = replace(even, spread=18.0, sequences=774440 // 28)
    found = value_ratio(replace(even, sizes=sizes))
    assert found.value == pytest.approx(0.5, rel=0.03)
    as_one_size = value_ratio(even)
    assert as_one_size.value == pytest.approx(0.756, rel=0.03)


@pytest.mark.parametrize(
    ("codec", "key", "value", "entries", "blocks", "data"),
    [
        ("LZ4", 16, 100, 12258, 372, 1483365),  # 0.9: LZ4 saved less than an eighth
        ("LZ4", 24, 40, 18720, 318, 999356),  # 0.5: 40 bytes of 50 random ones do not repeat
    ],
)
def test_what_saves_nothing_counts_as_incompressible_and_is_not_sure(
    codec: str, key: int, value: int, entries: int, blocks: int, data: int
) -> None:
    found = value_ratio(packed(codec, key, value, entries, blocks, data, "flush"))
    assert (found.value, found.sure) == (1.0, False)


@pytest.mark.parametrize("codec", ["", "NoCompression", "Xpress"])
def test_codecs_that_tell_nothing(codec: str) -> None:
    assert value_ratio(packed(codec, 16, 100, 12258, 372, 1483365, "flush")) is None


def test_values_that_hold_next_to_nothing() -> None:
    found = value_ratio(packed("ZSTD", 16, 1000, 1000, 250, 20_000, "flush"))
    assert found.value == pytest.approx(0.01, abs=0.005)


@pytest.mark.parametrize(("value", "per_block"), [(2**62, 1), (100, 2**62)])
def test_sizes_that_cannot_be_tell_no_ratio_and_take_no_memory(value: int, per_block: int):
    found = packed("Snappy", 16, 100, 1000, 10, 50_000, "flush")
    assert value_ratio(replace(found, value_size=value, per_block=per_block)) is None
