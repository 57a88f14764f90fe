"""Figures that cannot all be true are told as unknown, with both sides; others stay."""

from __future__ import annotations

from dataclasses import replace

import pytest

from sampler.profile.evidence import without_contradictions
from sampler.profile.load import choose_load
from sampler.profile.profile import (
    DatabaseProfile,
    FamilyProfile,
    Level,
    Source,
    ValueSize,
    profile_document,
)

# 2,000,000 puts of 116 B, half of which overwrite; tables compress to 74 B an entry.
SOUND = FamilyProfile(
    name="default",
    key_size=16.0,
    value_size=ValueSize(100.0),
    compression_ratio=0.5,
    codec="LZ4",
    entries=1_000_000,
    operations={"put": 2e6, "delete": 0.0, "merge": 0.0},
    overwrite_share=0.5,
    waf=2.1,
    levels=(Level(0, 2, 4_000_000), Level(1, 20, 76_000_000)),
    table_bytes=3_700_000.0,
    table_entries=50_000.0,
    flushed_bytes=140_000_000,
    sources={"entries": Source("LOG", "estimated"), "waf": Source("LOG", "estimated")},
)


def checked(family: FamilyProfile) -> DatabaseProfile:
    return without_contradictions(DatabaseProfile(families=(family,)))


def test_figures_that_agree_stay() -> None:
    profile = checked(SOUND)
    assert profile.families == (SOUND,)
    assert not profile.unknown


@pytest.mark.parametrize(
    ("told", "doubted", "why"),
    [
        # As a stranger saw them side by side: 4.03 M puts, no overwrites, 3.28 M live keys.
        ({"operations": {"put": 4.03e6}, "overwrite_share": 0.0, "entries": 3_280_000,
          "flushed_bytes": 280_000_000, "levels": (Level(1, 99, 300_000_000),)},
         {"entries", "overwrite_share"}, "leave at least 4,030,000 keys, but 3,280,000"),
        ({"entries": 0, "overwrite_share": 1.0}, {"entries"}, "2,000,000 keys were put"),
        ({"entries": 2_000_000, "overwrite_share": 0.0}, {"entries", "overwrite_share"},
         "hold about 1,081,081 entries, but 2,000,000 keys"),
        # LOGs of 10.9.1, of which every ordinary flush was lost: 6,051 puts were "counted".
        ({"operations": {"put": 6051.0}, "overwrite_share": None, "entries": None, "waf": 44.11},
         {"operations", "waf"}, "6,051 puts of 116 B"),
        # Two families with blob files: 0.12, because their bytes were left out.
        ({"waf": 0.12}, {"waf"}, "flushes alone wrote 0.473 times"),
        ({"value_size": ValueSize(32.0), "compression_ratio": 0.05, "flushed_bytes": 90_000_000},
         {"compression_ratio"}, "LZ4 cannot make less than 0.094"),
        ({"value_size": ValueSize(8.0), "compression_ratio": 0.025, "flushed_bytes": 50_000_000},
         {"compression_ratio"}, "LZ4 cannot make less than 0.38"),
        ({"codec": None, "compression_ratio": 0.01}, {"compression_ratio"}, "0.01"),
    ],
)  # fmt: skip
def test_a_contradiction_is_told_with_both_sides(
    told: dict[str, object], doubted: set[str], why: str
) -> None:
    given = replace(SOUND, **told)  # type: ignore[arg-type]
    profile = checked(given)
    (family,) = profile.families
    assert {n for n in ("entries", "overwrite_share", "compression_ratio", "waf", "operations")
            if getattr(family, n) != getattr(given, n)} == doubted  # fmt: skip
    assert not doubted & set(family.sources)
    assert any(why in each.what and "column family 'default'" in each.what
               for each in profile.unknown)  # fmt: skip
    for name in doubted - {"operations"}:
        assert family.doubted[name] == getattr(given, name)
    assert profile_document(profile)["families"][0]["doubted"] == family.doubted


def test_what_is_missing_contradicts_nothing() -> None:
    nothing = FamilyProfile(name="default")
    assert checked(nothing).families == (nothing,)
    deleted = FamilyProfile(name="default", entries=0, operations={"put": 1e6, "delete": 1e6})
    assert checked(deleted).families == (deleted,)
    expired = FamilyProfile(name="default", entries=0, operations={"put": 1e6}, removed=1_000_000)
    assert checked(expired).families == (expired,)


def test_the_load_makes_tables_as_large_though_the_ratio_is_doubted() -> None:
    family = replace(SOUND, value_size=ValueSize(8.0), compression_ratio=0.025,
                     flushed_bytes=50_000_000)  # fmt: skip
    profile = checked(family)
    load = choose_load(profile, profile.families[0], name="x")
    assert load.document["compression_ratio"] == 0.025
    assert "tables as large" in load.reasons["compression_ratio"]
