"""A user's own OPTIONS file: one configuration however it is written, and none of it lost."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from jobs.specification.named_files import baseline_named
from sampler.bench.accepted import accepted_part
from sampler.bench.bench_plan import BenchPlan
from sampler.bench.installed import InstalledDbBench, try_options
from sampler.bench.user_options import UserOptions, user_options
from sampler.common.errors import InputError
from sampler.rocksdb.forms import read_user_options
from sampler.rocksdb.measured_part import (
    caches_of,
    divided,
    file_values,
    measured_part,
    normalized,
    with_block_cache,
    without_derived,
)
from sampler.rocksdb.option_values import write_values
from sampler.rocksdb.options_file import (
    CF,
    DB,
    TABLE,
    OptionsFile,
    format_options,
    leaves,
    parse_options,
)
from sampler.rocksdb.parameters import catalogue
from sampler.space.space import memory_bytes
from sampler.space.space_file import load_space
from sampler.workload.workload import Workload
from tests.support import DATA
from tests.support.sampler.versions import need_before

CASES = DATA / "cases"
MIB = 2**20
OLD = "{deletion_ratio=0.25;id=CompactOnDeletionCollector;window_size=64;deletion_trigger=9;}"
NEW = "{id=CompactOnDeletionCollector;min_file_size=0;window_size=128;deletion_trigger=7;}"


# What an application writes in code of its own.
OBJECTS = {
    CF: ("comparator", "merge_operator", "compaction_filter", "compaction_filter_factory",
         "prefix_extractor", "memtable_factory", "sst_partitioner_factory",
         "table_properties_collectors", "table_factory"),
    DB: ("listeners", "file_checksum_gen_factory", "rate_limiter", "wal_filter"),
    TABLE: ("flush_block_policy_factory", "filter_policy"),
}  # fmt: skip


def text_of(db: str = "", family: str = "", table: str | None = None, more: str = "") -> str:
    lines = ["[DBOptions]", *db.split("|"), '[CFOptions "default"]', *family.split("|")]
    if table is not None:
        lines += [f"[{TABLE}]", *table.split("|")]
    return "\n".join([*lines, more, ""])


def read(db: str = "", family: str = "", table: str | None = None) -> OptionsFile:
    return read_user_options(text_of(db, family, table))


class TestOneForm:
    @pytest.mark.parametrize(
        "family",
        [
            "block_based_table_factory={block_size=8192;filter_policy=bloomfilter:10:false}",
            "block_based_table_factory=block_size=8192;filter_policy=bloomfilter:10:false",
            "table_factory={id=BlockBasedTable;block_size=8192;filter_policy=bloomfilter:10}",
            "block_based_table_factory.block_size=8192|"
            "block_based_table_factory.filter_policy=rocksdb.BloomFilter:10:false",
        ],
    )
    def test_table_options_of_a_column_family_are_those_of_the_table(
        self, family: str, installed: InstalledDbBench, tmp_path: Path
    ):
        found = file_values(read(family=family))
        assert (found["block_size"], found["bloom_bits"]) == (8192, 10)
        # RocksDB reads them so, too.
        effect = try_options(installed.program, text_of(family=family), tmp_path).options
        assert effect and effect.get(TABLE, "block_size") == "8192"
        assert effect.get(TABLE, "filter_policy") == "bloomfilter:10:false"

    def test_a_table_section_counts_alone(self, installed: InstalledDbBench, tmp_path: Path):
        family, table = "block_based_table_factory={block_size=8192}", "format_version=4"
        found = file_values(read(family=family, table=table))
        assert "block_size" not in found and found["format_version"] == 4
        effect = try_options(installed.program, text_of("", family, table), tmp_path).options
        assert effect and effect.get(TABLE, "block_size") == "4096"

    @pytest.mark.parametrize("text", ["-14:-1:0:0", "4:5:6:7:8:true", "4:5:6:7:8:9:true:1"])
    def test_a_list_of_compression_options_is_a_structure(
        self, text: str, installed: InstalledDbBench, tmp_path: Path
    ):
        family = f"compression_opts={text}"
        mine = read(family=family)
        effect = try_options(installed.program, text_of(family=family), tmp_path).options
        assert effect
        for (section, key), value in leaves(mine):
            assert effect.get(section, key) == value

    def test_fields_after_a_dot_join_their_structure(self):
        file = read(
            family="compaction_options_universal={size_ratio=7}|"
            "compaction_options_universal.min_merge_width=4"
        )
        assert file_values(file)["universal_size_ratio"] == 7
        assert file_values(file)["universal_min_merge_width"] == 4

    def test_an_empty_list_of_codecs_is_none(self):
        assert file_values(read(family="compression_per_level="))["min_level_to_compress"] == -1
        assert read(family="compression_per_level=").get(CF, "compression_per_level") is None

    def test_a_file_in_its_normal_form_stays(self, installed: InstalledDbBench):
        assert normalized(installed.defaults) == installed.defaults

    def test_three_ways_to_write_it_are_one_configuration(
        self, installed: InstalledDbBench, tmp_path: Path
    ):
        by_hand = text_of(
            "max_background_compactions=6|max_background_flushes=2",
            "write_buffer_size=32M|compression_per_level=kNoCompression:kZSTD|num_levels=4|"
            "compression_opts=-14:3:0:0|"
            "block_based_table_factory={block_size=16K;filter_policy=bloomfilter:12:false}",
        )
        with_section = text_of(
            "max_background_jobs=3|max_background_compactions=6|max_background_flushes=2",
            "write_buffer_size=33554432|compression_per_level=kNoCompression:kZSTD|num_levels=4|"
            "compression_opts={level=3}",
            "block_size=16384|filter_policy=rocksdb.BloomFilter:12:false",
        )
        dumped = try_options(installed.program, by_hand, tmp_path).options
        assert dumped is not None
        as_dumped = format_options(dumped, rocksdb_version="7.8.3")
        library = installed.library_defaults()
        hand, section, dump = (
            {**library, **user_options(text, installed).values}
            for text in (by_hand, with_section, as_dumped)
        )
        assert hand == section == dump
        assert (hand["max_background_jobs"], hand["compression_type"]) == (8, "zstd")

    @given(st.text())
    def test_whatever_is_given_is_read_or_refused(self, text: str):
        try:
            file = without_derived(read_user_options(text))
        except InputError:
            return
        file_values(file)
        measured_part(file, 64)


class TestWhatIsMeasured:
    def test_what_rocksdb_works_out_is_left_to_it(self):
        for arena in ("8388608", "1048576"):  # to 6.20, and since
            file = without_derived(read(family=f"write_buffer_size=64M|arena_block_size={arena}"))
            assert file.get(CF, "arena_block_size") is None
        file = without_derived(read(family="target_file_size_base=32M|max_compaction_bytes=800M"))
        assert "max_compaction_bytes" not in file_values(file)

    def test_a_choice_is_divided_but_never_below_what_rocksdb_takes(self):
        file = without_derived(read(family="write_buffer_size=64M|arena_block_size=2M"))
        assert measured_part(file, 64).get(CF, "arena_block_size") == str(2 * MIB // 64)
        tiny = read(family="arena_block_size=65536")
        assert measured_part(tiny, 64).get(CF, "arena_block_size") == "4096"

    @pytest.mark.parametrize(
        ("text", "measured"),
        [("0", "0"), ("-1", "-1"), ("18446744073709551615", "18446744073709551615"),
         ("6400", "100"), ("1", "1"), ("nonsense", "nonsense")],
    )  # fmt: skip
    def test_no_size_at_all_stays(self, text: str, measured: str):
        assert divided(text, 64) == measured

    def test_fifo_drops_files_at_its_scale(self):
        fifo = "compaction_style=kCompactionStyleFIFO"
        key = "compaction_options_fifo.max_table_files_size"
        assert measured_part(read(family=fifo), 64).get(CF, key) == str(2**30 // 64)
        own = read(family=f"{fifo}|{key}=64M")
        assert measured_part(own, 64).get(CF, key) == str(MIB)
        assert file_values(own)["compaction_style"] == "kCompactionStyleFIFO"

    def test_other_families_are_not_measured_and_it_is_told(self, installed: InstalledDbBench):
        more = '[CFOptions "meta"]\n  nonsense=1\n[CFOptions "odd\\:name"]\n'
        found = user_options(text_of(more=more), installed)
        assert [note for note in found.notes if note.startswith("column families meta, odd\\:nam")]
        assert "meta" not in str(measured_part(found.file, 64).sections.keys())

    def test_the_family_that_is_named_is_measured_and_the_others_are_told(
        self, installed: InstalledDbBench
    ):
        more = '[CFOptions "meta"]\n  num_levels=3\n'
        found = user_options(text_of(family="num_levels=5", more=more), installed, family="meta")
        assert found.values["num_levels"] == 3 and found.file.family == "meta"
        assert found.notes == (
            "column families default: not measured; only meta is. `column_family` selects another",
        )
        with pytest.raises(InputError, match=r'nonsense in \[CFOptions "meta"\]|know nonsense'):
            user_options(text_of(more=more + "  nonsense=1\n"), installed, family="meta")

    @pytest.mark.parametrize(
        ("section", "key"), [(section, key) for section, keys in OBJECTS.items() for key in keys]
    )
    @pytest.mark.parametrize("text", ["app.Mine", "{id=app.Mine;size=3;}"])
    def test_an_object_of_the_application_is_set_aside_in_one_line(
        self, section: str, key: str, text: str, installed: InstalledDbBench
    ):
        parts = {DB: "", CF: "", TABLE: None, section: f"{key}={text}"}
        found = user_options(text_of(parts[DB] or "", parts[CF] or "", parts[TABLE]), installed)
        (note,) = found.notes
        if key == "table_factory" and text.startswith("{"):
            assert note.startswith('[TableOptions/app.Mine "default"]: not known to db_bench')
        else:
            assert note.startswith(f"{key} = {text}: ")
        assert re.search(
            "not known to db_bench, measured with|left out while measuring|nothing is filtered",
            note,
        )

    def test_a_table_of_the_application_is_not_measured_nor_moved(
        self, installed: InstalledDbBench
    ):
        more = '[TableOptions/app.Mine "default"]\n  block_size=3\n'
        found = user_options(text_of(family="table_factory=app.Mine", more=more), installed)
        part = measured_part(found.file, 1)
        assert "app.Mine" not in str(part.sections)
        assert "block_size" in found.immovable
        assert found.file.get('TableOptions/app.Mine "default"', "block_size") == "3"

    @pytest.mark.parametrize(
        ("db", "family"),
        [
            # What RocksDB itself writes.
            ("listeners={ErrorHandlerListener:ErrorHandlerListener}", ""),
            ("listeners={}", ""),
            ("statistics=nullptr", ""),
            ("", "memtable_factory={id=SkipListFactory;lookahead=0;}"),
            ("allow_concurrent_memtable_write=false", "prefix_extractor=rocksdb.FixedPrefix.4|"
             "memtable_factory={id=HashSkipListRepFactory;bucket_count=9;}"),
            ("", "merge_operator={id=PutOperator;}"),
            ("", "table_properties_collectors={id=CompactOnDeletionCollector;window_size=64;}"),
            # One name in three spellings.
            ("", "prefix_extractor=fixed:8"),
            ("", "prefix_extractor=rocksdb.FixedPrefix.8"),
            ("", "prefix_extractor=capped:8"),
        ],
    )  # fmt: skip
    def test_an_object_of_rocksdb_is_not_taken_for_one_of_the_application(
        self, db: str, family: str, installed: InstalledDbBench
    ):
        assert user_options(text_of(db, family), installed).notes == ()

    def test_what_belongs_to_the_application_is_told(self, installed: InstalledDbBench):
        found = user_options(
            (CASES / "04-ardb-custom-comparator-5.14/OPTIONS").read_text(), installed
        )
        told = "\n".join(found.notes)
        for name in ("comparator", "merge_operator", "prefix_extractor", "compaction_filter_fac"):
            assert re.search(rf"^{name}\w* = ardb\.", told, re.MULTILINE), name

    @pytest.mark.parametrize(
        ("family", "name", "value"),
        [("write_buffer_size=1e6", "write_buffer_size", 64 * 2**10),
         ("max_write_buffer_number=1", "max_write_buffer_number", 2),
         ("num_levels=1", "num_levels", 2)],
    )  # fmt: skip
    def test_a_value_that_rocksdb_changes_is_the_one_in_effect(
        self, family: str, name: str, value: int, installed: InstalledDbBench
    ):
        found = user_options(text_of(family=family), installed)
        assert found.values[name] == value
        assert [note for note in found.notes if f": RocksDB changes it to {value}" in note]


class TestOldNames:
    def test_they_override_the_new_one(self):
        old = "max_background_compactions=16|max_background_jobs=4"
        assert file_values(read(old))["max_background_jobs"] == 17
        unset = "max_background_compactions=-1|max_background_jobs=4"
        assert file_values(read(unset))["max_background_jobs"] == 4

    def test_it_is_told_how_they_go(self):
        found = user_options(text_of("max_background_flushes=3"), None)
        (note,) = found.notes
        assert "amount to 4 threads" in note and "removed from the file" in note


class TestCaches:
    @pytest.mark.parametrize(
        ("table", "block", "others"),
        [
            ("block_cache=268435456", 256 * MIB, 0),
            ("block_cache=256M", 256 * MIB, 0),
            ("block_cache={capacity=256M;num_shard_bits=4;high_pri_pool_ratio=0.5}", 256 * MIB, 0),
            ("no_block_cache=true|block_cache=256M", 0, 0),
            ("block_cache=1M|block_cache_compressed=32M", MIB, 32 * MIB),
            ("block_cache={capacity=8M;secondary_cache={id=CompressedSecondaryCache;"
             "capacity=16M}}", 8 * MIB, 16 * MIB),
            ("block_cache={capacity=8M;secondary_cache=compressed_secondary_cache://capacity=16M}",
             8 * MIB, 16 * MIB),
            ("block_cache={capacity=8M;secondary_cache={id=CacheLibSecondaryCache;"
             "capacity=16M}}", 8 * MIB, 0),
            ("block_size=4096", None, 0),
        ],
    )  # fmt: skip
    def test_every_way_to_name_one(self, table: str, block: int | None, others: int):
        found = caches_of(read(table=table))
        assert (found.block, found.others) == (block, others)

    def test_memory_counts_them_all(self):
        own = file_values(read("row_cache=4M|db_write_buffer_size=16M", "", "block_cache=256M"))
        values = {name: known.default for name, known in catalogue().items()} | own
        assert memory_bytes(values) == (16 + 256 + 4) * MIB

    @pytest.mark.parametrize(
        ("before", "after"),
        [("256M", "1048576"), ("{capacity=256M;num_shard_bits=4;}",
                               "{capacity=1048576;num_shard_bits=4;}")],
    )  # fmt: skip
    def test_another_size_is_written_where_the_file_has_it(self, before: str, after: str):
        file = with_block_cache(read(table=f"block_cache={before}"), MIB)
        assert file.get(TABLE, "block_cache") == after


class TestUnknownOptions:
    def test_all_are_named_at_once_with_their_versions(self, installed: InstalledDbBench):
        need_before(installed, 8, 6)
        text = (CASES / "08-llm-tuner-inputs/NebulaGraph_default_options.ini").read_text()
        with pytest.raises(InputError) as refused:
            user_options(text, installed, name="--baseline mine")
        said = str(refused.value)
        assert said.startswith("--baseline mine: RocksDB 7.8.3 does not know ")
        unknown = "compaction_verify_record_count (since 8.6)", "compression_opts.checksum"
        for name in (*unknown, "block_protection_bytes_per_key", "memtable_max_range_deletions"):
            assert name in said
        assert "`drop_unknown` leaves them out" in said and "\n" not in said
        found = user_options(text, installed, drop_unknown=True)
        assert (DB, "compaction_verify_record_count") in found.dropped
        assert found.file.get(DB, "compaction_verify_record_count") == "true"

    def test_a_refused_value_is_told_with_section_key_and_line(self, installed: InstalledDbBench):
        text = (CASES / "17-rocksdb-own-tests/db_bench_tool_test.ini").read_text()
        line = text.splitlines().index("  prepopulate_blob_cache=kDisable;") + 1
        with pytest.raises(InputError) as refused:
            user_options(text, installed)
        place = f'[CFOptions "default"] prepopulate_blob_cache (line {line}) = kDisable;'
        assert place in str(refused.value)

    def test_a_scaled_option_that_is_left_out_is_not_measured_after_all(
        self, installed: InstalledDbBench, tmp_path: Path
    ):
        need_before(installed, 10, 2)
        key = "memtable_op_scan_flush_trigger"
        found = user_options(text_of(family=f"{key}=1000"), installed, drop_unknown=True)
        library = installed.library_defaults()
        plan = BenchPlan(
            Workload(name="tiny", num=1), load_space("default"), library,
            baseline_file=found.file, dropped=found.dropped,
        )  # fmt: skip
        values = {**plan.space.default_configuration(), **found.values}
        measured = plan.options({n: values[n] for n in plan.space.names})
        assert measured.get(CF, key) is None
        assert try_options(installed.program, measured, tmp_path).options is not None

    def test_a_value_of_a_later_version_can_be_left_out_and_is_not_searched(
        self, installed: InstalledDbBench
    ):
        found = user_options(text_of(table="format_version=99"), installed, drop_unknown=True)
        assert found.dropped == {(TABLE, "format_version")}
        assert found.immovable == {"format_version"}

    def test_of_a_structure_only_the_field_goes(self, installed: InstalledDbBench):
        options = OptionsFile({DB: {}, CF: {"compression_opts": "{level=3;nonsense=1;}"}})
        accepted = accepted_part(installed, options)
        assert [each.key for each in accepted.refused] == ["compression_opts.nonsense"]
        assert accepted.part and accepted.part.get(CF, "compression_opts") == "{level=3;}"


def test_another_table_leaves_nothing_of_the_block_based_one_to_move():
    own = UserOptions(file=parse_options(text_of(more='[TableOptions/PlainTable "default"]\n')))
    assert "block_size" in own.immovable and "write_buffer_size" not in own.immovable


class TestWhatABuildRefuses:
    """Each is named with its section, and where it is not unknown with its line."""

    @pytest.mark.parametrize(
        ("db", "family", "told"),
        [
            ("titan.enabled=false", "", "does not know titan.enabled. "),
            ("write_buffer_manager={cost_to_cache=true;}", "", "not know write_buffer_manager. "),
            (
                "allow_concurrent_memtable_write=false",
                "allow_concurrent_memtable_write=true",
                'not know allow_concurrent_memtable_write in [CFOptions "default"] '
                "(it belongs in [DBOptions]). ",
            ),
            (
                "max_open_files=10|two_write_queues=true|enable_pipelined_write=true",
                "num_levels=4",
                "refuses [DBOptions] enable_pipelined_write (line 4) = true: ",
            ),
            (
                "allow_concurrent_memtable_write=true",
                "num_levels=4|memtable_factory=HashSkipListRepFactory|max_write_buffer_number=4",
                '; [CFOptions "default"] memtable_factory (line 5) = '
                "HashSkipListRepFactory: Invalid argument: Memtable doesn't ",
            ),
        ],
    )
    def test_is_named_and_can_be_dropped(
        self, db: str, family: str, told: str, installed: InstalledDbBench
    ):
        text = text_of(db, family)
        with pytest.raises(InputError) as error:
            user_options(text, installed)
        assert told in str(error.value)
        found = user_options(text, installed, drop_unknown=True)
        assert len(found.dropped) == 1 + told.startswith(";")  # what contradict each other

    @pytest.mark.parametrize("collectors", [f"{{{NEW}}}", NEW, f"{{{NEW}:{OLD}}}", f"{OLD}:{NEW}"])
    def test_of_a_list_the_unknown_field_alone_is_dropped(
        self, collectors: str, installed: InstalledDbBench
    ):
        need_before(installed, 10, 4)
        text = text_of(family=f"table_properties_collectors={collectors}")
        with pytest.raises(InputError, match=r"know table_properties_collectors\.min_file_size"):
            user_options(text, installed)
        found = user_options(text, installed, drop_unknown=True)
        ((_, key),) = found.dropped
        assert key.endswith(".min_file_size")
        assert [note for note in found.notes if "RocksDB changes it" in note] == []

    @pytest.mark.parametrize(
        ("family", "cause"),
        [
            ("memtable_factory=vector", "memtable_factory = vector"),
            ("memtable_factory={id=VectorRepFactory;count=0;}", "memtable_factory = {id=Vector"),
            ("memtable_factory=prefix_hash:9|prefix_extractor=rocksdb.FixedPrefix.4",
             "memtable_factory = prefix_hash:9"),
            ("inplace_update_support=true", "inplace_update_support = true"),
        ],
    )  # fmt: skip
    def test_a_memtable_of_one_writer_is_measured_with_one(
        self, family: str, cause: str, installed: InstalledDbBench
    ):
        found = user_options(text_of(family=family), installed)
        (note,) = [each for each in found.notes if "allow_concurrent" in each]
        assert f"RocksDB opens no database otherwise with {cause}" in note
        assert found.values["allow_concurrent_memtable_write"] is False
        assert "allow_concurrent_memtable_write" in found.immovable
        with pytest.raises(InputError, match="concurrent writes"):
            user_options(text_of("allow_concurrent_memtable_write=true", family), installed)

    def test_a_key_of_two_sections_is_dropped_where_no_version_has_it(
        self, installed: InstalledDbBench
    ):
        text = text_of("max_background_jobs=5", "max_background_jobs=9")
        found = user_options(text, installed, drop_unknown=True)
        assert found.dropped == {(CF, "max_background_jobs")}
        assert found.values["max_background_jobs"] == 5

    def test_a_row_cache_is_measured_by_a_flag_and_not_told_as_left_out(
        self, installed: InstalledDbBench
    ):
        found = user_options(text_of("row_cache=1048576"), installed, drop_unknown=True)
        assert not [note for note in found.notes if "not measured" in note]


@pytest.mark.parametrize(
    "policy",
    [
        "{id=ribbonfilter:10:1;bloom_before_level=1;}",
        "{bloom_before_level=1;id=ribbonfilter:10:1;}",
        "{bloom_before_level=3;id=ribbonfilter:10:1;}",
        "rocksdb.RibbonFilter:10:1",
    ],
)
def test_a_ribbon_filter_keeps_its_level_in_every_spelling(
    policy: str, installed: InstalledDbBench, tmp_path: Path
):
    text = text_of(table=f"filter_policy={policy}")
    (tmp_path / "given").mkdir()
    effect = try_options(installed.program, text, tmp_path / "given").options
    assert effect
    there = effect.get(TABLE, "filter_policy")
    assert there and "ribbonfilter:10:" in there
    found = user_options(text, installed)
    assert (found.values["bloom_bits"], found.notes) == (10, ())
    bits = catalogue()["bloom_bits"]
    moved = write_values(found.file, {"bloom_bits": 12}, [bits], scale=1)
    (tmp_path / "moved").mkdir()
    effect = try_options(installed.program, moved, tmp_path / "moved").options
    assert effect
    assert effect.get(TABLE, "filter_policy") == there.replace(":10:", ":12:")


@pytest.mark.parametrize("policy", ["MyFilter", "{id=bloomfilter;bits_per_key=10;}"])
def test_a_filter_that_db_bench_does_not_make_is_none_and_told(
    policy: str, installed: InstalledDbBench
):
    found = user_options(text_of(table=f"filter_policy={policy}"), installed)
    assert found.values["bloom_bits"] == 0
    (note,) = found.notes
    assert note.startswith(
        f"filter_policy = {policy}: RocksDB makes no filter from this text: nothing is "
        "filtered while measuring. Write filter_policy=bloomfilter:10:false"
    )


def test_a_number_that_rocksdb_cuts_off_is_told():
    def notes(text: str) -> tuple[str, ...]:
        return user_options(text_of(family=f"target_file_size_base={text}"), None).notes

    for text, number in (("64 MB", 64), ("1e8", 1), ("4.5", 4), ("0x4000000", 0)):
        assert f"target_file_size_base = {text}: RocksDB reads {number} and " in notes(text)[0]
    for whole in ("67108864", "64M", "64MB", "64mb", "64MiB", "67108864;", "-1"):
        assert not notes(whole), whole


@pytest.mark.parametrize("text", ["LRUCache@0x7f1c", "lru_cache://capacity=536870912"])
def test_a_block_cache_without_a_size_is_told(text: str):
    notes = user_options(text_of(table=f"block_cache={text}"), None).notes
    assert f"block_cache = {text}: has no capacity" in notes[0]


def test_a_byte_order_mark_is_passed_over():
    assert read_user_options("\ufeff" + text_of("max_background_jobs=4")).get(
        DB, "max_background_jobs"
    )


@pytest.mark.parametrize("encoding", ["utf-16", "latin-1"])
def test_a_file_that_is_not_utf_8_is_refused_for_that(encoding: str, tmp_path: Path):
    path = tmp_path / "OPTIONS"
    path.write_text(text_of("max_background_jobs=4\n# größer"), encoding=encoding)
    with pytest.raises(InputError, match="not text in UTF-8"):
        baseline_named(str(path))
