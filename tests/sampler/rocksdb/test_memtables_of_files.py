"""Hash memtables of files of all versions: their buckets are divided like all that they hold."""

from pathlib import Path

import pytest

from sampler.bench.installed import InstalledDbBench, try_options
from sampler.rocksdb.measured_part import measured_part, memtable_in_full
from sampler.rocksdb.options_file import CF, DB, OptionsFile, parse_options, parse_struct

SPELLINGS = [
    "HashSkipListRepFactory", "prefix_hash", "prefix_hash:4000", "HashSkipListRepFactory:64000",
    "{id=HashSkipListRepFactory;bucket_count=6400;branching_factor=5;}",
    "{id=HashSkipListRepFactory;skiplist_height=3;}",
    "HashLinkListRepFactory", "hash_linkedlist:640000", "{id=HashLinkListRepFactory;threshold=9;}",
    "VectorRepFactory", "vector:12800", "{id=VectorRepFactory;count=77;}",
]  # fmt: skip


def file_with(memtable: str) -> str:
    return (
        "[Version]\n  rocksdb_version=6.8.0\n  options_file_version=1.1\n"
        f"[{DB}]\n  allow_concurrent_memtable_write=false\n"
        f"[{CF}]\n  memtable_factory={memtable}\n  prefix_extractor=rocksdb.FixedPrefix.8\n"
        "  write_buffer_size=67108864\n"
    )


@pytest.mark.db_bench
@pytest.mark.parametrize("memtable", SPELLINGS)
def test_a_spelling_in_full_is_what_rocksdb_makes_of_it(
    installed: InstalledDbBench, tmp_path: Path, memtable: str
):
    tried = try_options(installed.program, file_with(memtable), tmp_path)
    assert tried.options is not None, tried.complaint
    effect = parse_struct(tried.options.get(CF, "memtable_factory") or "")
    said = parse_struct(memtable_in_full(memtable))
    assert len(said) > 1
    assert said == {key: effect[key] for key in said}


@pytest.mark.parametrize("memtable", ["SkipListFactory", "skip_list:4", "SpeedbRepFactory", "{}"])
def test_what_counts_nothing_stays_as_it_is(memtable: str):
    assert memtable_in_full(memtable) == memtable


@pytest.mark.db_bench
@pytest.mark.parametrize("memtable", SPELLINGS)
def test_it_is_opened_beside_a_write_buffer_that_is_divided(
    installed: InstalledDbBench, tmp_path: Path, memtable: str
):
    part: OptionsFile = measured_part(parse_options(file_with(memtable)), 64)
    part = part.with_values(CF, {"write_buffer_size": str(2**20)})
    tried = try_options(installed.program, part, tmp_path)
    assert tried.options is not None, tried.complaint
    assert tried.died is None
    whole = parse_struct(memtable_in_full(memtable))
    field = "count" if "count" in whole else "bucket_count"
    scaled = tried.options.get(CF, f"memtable_factory.{field}")
    assert scaled == str(max(int(whole[field]) // 64, min(int(whole[field]), 1)))
