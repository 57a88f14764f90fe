"""What a program sets in code, by name: what an OPTIONS file names and cannot hold."""

import pytest

from sampler.rocksdb.application import application_names, application_steps
from sampler.rocksdb.option_values import FilterPolicy, prefix_of
from tests.support import DATA

CASES = DATA / "cases"
FAMILY = '[Version]\n[DBOptions]\n{db}\n[CFOptions "default"]\n{family}\n' + (
    '[TableOptions/BlockBasedTable "default"]\n{table}\n'
)


def steps(db: str = "", family: str = "", table: str = "") -> list[str]:
    """All but the last, which every file has."""
    text = FAMILY.format(db=db, family=family, table=table)
    *found, last = application_steps(text)
    assert "rate limiter" in last
    return found


@pytest.mark.parametrize(
    ("policy", "kind"),
    [
        ("bloomfilter", "bloomfilter"),
        ("ribbonfilter", "ribbonfilter"),
        ("rocksdb.BuiltinBloomFilter", "rocksdb.BuiltinBloomFilter"),
        ("{id=rocksdb.BloomFilter;bits_per_key=10;}", "rocksdb.BloomFilter"),
        ("MyFilter", "MyFilter"),
        ("bloomfilter:10:false", None),
        ("{id=ribbonfilter:10:0;bloom_before_level=0;}", None),
        ("bloomfilter:0:false", None),
        ("nullptr", None),
        ("", None),
        (None, None),
    ],
)
def test_which_policies_make_no_filter(policy: str | None, kind: str | None):
    """Tried with 7.8.3 and 9.10.0: what is in effect is ``nullptr``, or filters nothing."""
    assert FilterPolicy(policy).without_bits == kind


@pytest.mark.parametrize(
    ("text", "prefix"),
    [
        ("rocksdb.FixedPrefix.17", ("fixed", 17)),
        ("fixed:8", ("fixed", 8)),
        ("rocksdb.CappedPrefix.20", ("capped", 20)),
        ("capped:20", ("capped", 20)),
        ("rocksdb.Noop", ("capped", 2**31)),
        ("rocksdb.FixedPrefix", None),  # without its length, as the C API once wrote it
        ("ardb.prefix_extractor", None),
        ("nullptr", None),
        (None, None),
    ],
)
def test_which_prefix_extractors_rocksdb_makes(text: str | None, prefix: object):
    assert prefix_of(text) == prefix


def test_a_filter_without_bits_stands_first_with_what_to_write():
    assert steps(table="filter_policy=bloomfilter") == [
        "filter_policy = bloomfilter: RocksDB makes no filter from this text. Set the filter in "
        "code, or write it with its bits, such as bloomfilter:10:false",
        "block cache: its capacity is not in this file",
    ]
    assert "ribbonfilter:10:-1" in steps(table="filter_policy=ribbonfilter")[0]
    assert len(steps(table="filter_policy=bloomfilter:10:false")) == 1


def test_a_block_cache_is_told_with_its_size_and_none_not_at_all():
    (cache,) = steps(table="block_cache=1073741824")
    assert cache.startswith("block cache: 1 GiB.")
    assert steps(table="no_block_cache=true") == []


def test_code_of_the_program_is_told_by_name():
    text = (CASES / "04-ardb-custom-comparator-5.14/OPTIONS").read_text()
    names = application_names(text)
    assert names[:-1] == [
        "block cache", "compaction_filter_factory", "merge_operator", "prefix_extractor",
        "comparator",
    ]  # fmt: skip
    told = steps(
        db="  file_checksum_gen_factory=MyChecksums\n  env=MyEnv",
        family="  memtable_factory=MyMemtable\n  table_factory=MyTable",
    )
    assert told == [
        "table_factory = MyTable", "memtable_factory = MyMemtable",
        "file_checksum_gen_factory = MyChecksums", "env = MyEnv",
    ]  # fmt: skip


def test_what_rocksdb_has_code_for_is_not_told():
    family = (
        "  comparator=rocksdb.ReverseBytewiseComparator\n  merge_operator=PutOperator\n"
        "  prefix_extractor=capped:20\n  memtable_factory={id=HashSkipListRepFactory;}\n"
        "  compaction_filter=nullptr"
    )
    assert steps(family=family) == ["block cache: its capacity is not in this file"]


def test_without_a_file_the_block_cache_is_named_and_the_rest():
    assert application_names(None) == ["block cache", "whatever else the program sets in code"]


def test_column_families_are_named():
    text = (DATA / "applications/c-7.8.3-families").glob("OPTIONS-*")
    told = application_steps(next(text).read_text())
    assert told[0].endswith("such as bloomfilter:10:false (column families: default, users)")
    assert told[1].endswith("not in this file (column families: default, users, events)")
