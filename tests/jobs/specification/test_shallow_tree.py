"""Which levels a load fills, and what is said of options that act in deeper ones."""

from dataclasses import replace

import pytest

from jobs.specification.load_warnings import deepest_level
from jobs.specification.named_files import specify
from jobs.specification.resolved_job import resolve
from sampler.space.space import default_values
from sampler.workload.workload_file import load_workload

LIBRARY = default_values("library")
QUICK = load_workload("load-quick")


def warned(**asked: object) -> list[str]:
    framed = resolve(specify(**asked), None)  # type: ignore[arg-type]
    return [each for each in framed.warnings if "fills levels" in each]


def test_the_quick_load_fills_level_2_as_db_bench_shows_it():
    # docs/results/ranking_scale.jsonl: level 0 empty, 3 MB in level 1, 37 MB in level 2.
    assert deepest_level(QUICK, LIBRARY) == 2


@pytest.mark.parametrize(
    ("keys", "moved", "level"),
    [
        (5_000, {}, 1),
        (1_000_000, {}, 3),
        (10_000_000, {}, 4),
        (10_000_000, {"num_levels": 3}, 2),
        (1_000_000, {"max_bytes_for_level_base": 2**31}, 2),
        (130_000, {"compression_type": "none"}, 3),  # twice the bytes
        (130_000, {"min_level_to_compress": 4}, 3),
        (130_000, {}, 2),
    ],
)
def test_more_keys_go_deeper(keys: int, moved: dict[str, object], level: int):
    values = {**LIBRARY, **moved}
    assert deepest_level(replace(QUICK, num=keys), values) == level


def test_the_same_load_at_another_scale_is_as_deep():
    for keys in (50_000, 100_000, 400_000):
        load = replace(QUICK, num=keys)
        assert deepest_level(load, LIBRARY) == deepest_level(load.at_scale(1), LIBRARY)


def test_universal_compaction_has_no_such_levels():
    assert deepest_level(QUICK, {**LIBRARY, "compaction_style": "universal"}) is None


def test_the_options_concerned_are_named():
    (text,) = warned(workload="load-quick")
    assert "levels 0 to 2" in text
    assert "min_level_to_compress of 3 or more compresses nothing" in text
    assert "num_levels of 3 or more makes no difference" in text
    assert "max_bytes_for_level_multiplier" not in text
    (text,) = warned(workload="load")
    assert "min_level_to_compress of 4 or more" in text


def test_nothing_is_said_where_the_space_has_none_of_them():
    assert warned(workload="load-quick", space="universal") == []
