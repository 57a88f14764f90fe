"""One configuration in the forms that people paste, each read by who is to read it."""

import json
import subprocess
from dataclasses import asdict
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sampler.bench.installed import InstalledDbBench
from sampler.rocksdb.changes import PlannedChange, steps_of
from sampler.rocksdb.forms import FORMS, Form, option_string, write_form
from sampler.rocksdb.options_file import (
    CF,
    DB,
    TABLE,
    OptionsFile,
    format_options,
    leaves,
    parse_struct,
)
from tests.support.sampler.rocksdb_library import RocksDbLibrary, written_options

SET = {
    DB: {"max_background_jobs": "5", "max_total_wal_size": "123456789", "use_fsync": "true"},
    CF: {
        "write_buffer_size": "33554432",
        "compression": "kLZ4Compression",
        "compression_opts": "{level=4;max_dict_bytes=4096;}",
        "compaction_options_universal": "{size_ratio=7;max_size_amplification_percent=150;}",
        "compaction_pri": "kRoundRobin",
        "max_bytes_for_level_multiplier": "8.500000",
    },
    TABLE: {
        "block_size": "16384", "filter_policy": "bloomfilter:12:false", "checksum": "kCRC32c",
        "cache_index_and_filter_blocks": "true",
    },
}  # fmt: skip
FILE = OptionsFile(SET)
TEXT = format_options(FILE, rocksdb_version="7.8.3", comments=["Tuned"])
CHANGES = [
    PlannedChange(DB, "max_background_jobs", "2", "5"),
    PlannedChange(DB, "use_fsync", "false", "true"),
    PlannedChange(CF, "write_buffer_size", "67108864", "33554432"),
    PlannedChange(CF, "compression_opts.level", None, "4"),
    PlannedChange(CF, "compression_per_level", "kNoCompression:kZSTD", None),
    PlannedChange(CF, "of_a_fork", "1", "2"),
    PlannedChange(TABLE, "block_size", "4096", "16384"),
    PlannedChange(TABLE, "filter_policy", "nullptr", "bloomfilter:12:false"),
]


def lines(form: Form, text: str = TEXT) -> list[str]:
    return write_form(form, text, CHANGES).splitlines()


def differing(written: OptionsFile, wanted: OptionsFile = FILE) -> list[tuple[str, str]]:
    """The options that a database has not as they are wanted."""
    return [place for place, text in leaves(wanted) if written.get(*place) != text]


def test_the_file_is_what_it_was():
    assert write_form("ini", TEXT, CHANGES) == TEXT


@pytest.mark.db_bench
def test_option_strings_are_what_rocksdb_takes(installed: InstalledDbBench, tmp_path: Path):
    _, database, _, family = lines("string")
    library = RocksDbLibrary(installed.program)
    with library.database(tmp_path / "db", database, family):
        assert differing(written_options(tmp_path / "db")) == []


@pytest.mark.db_bench
def test_strings_of_a_whole_dump_are_taken(installed: InstalledDbBench, tmp_path: Path):
    whole = OptionsFile(installed.defaults.sections).with_values(CF, {"num_levels": "5"})
    text = format_options(whole, rocksdb_version=installed.version)
    _, database, _, family = lines("string", text)
    library = RocksDbLibrary(installed.program)
    with library.database(tmp_path / "db", database, family):
        written = written_options(tmp_path / "db")
    wanted = OptionsFile({title: whole.sections[title] for title in (DB, CF, TABLE)})
    assert differing(written, wanted.without(DB, ["listeners"])) == []


def test_each_family_has_a_string_and_code_of_the_application_is_left_out():
    more = {
        'CFOptions "meta"': {
            "comparator": "of.mine", "write_buffer_size": "9", "prefix_extractor": "x",
            "table_factory": "BlockBasedTable",
        },
        'TableOptions/BlockBasedTable "meta"': {"block_size": "512"},
    }  # fmt: skip
    found = lines("string", format_options(OptionsFile({**SET, **more}), rocksdb_version="8.0.0"))
    assert "MyRocks" in found[2] and "meta" in found[4]
    fields = parse_struct(found[5])
    assert fields["block_based_table_factory"] == "{block_size=512;}"
    assert fields.keys() >= {"write_buffer_size"}
    assert not fields.keys() & {"comparator", "table_factory"}


def test_an_escaped_colon_is_plain_in_a_string():
    hours = OptionsFile({DB: {"daily_offpeak_time_utc": r"23\:30-03\:15"}, CF: {}})
    assert lines("string", format_options(hours, rocksdb_version="9.0.0"))[1] == (
        "daily_offpeak_time_utc=23:30-03:15;"
    )


_NAMES = st.from_regex(r"[a-z][a-z_0-9]{0,9}", fullmatch=True)
_PLAIN = st.from_regex(r"[A-Za-z0-9_.:-]{1,12}", fullmatch=True)
_VALUES = st.recursive(
    _PLAIN,
    lambda inner: st.dictionaries(_NAMES, inner, min_size=1, max_size=4).map(
        lambda fields: "{" + option_string(fields) + "}"
    ),
    max_leaves=8,
)


@given(st.dictionaries(_NAMES, _VALUES, max_size=6))
def test_an_option_string_reads_back(options: dict[str, str]):
    assert parse_struct(option_string(options)) == options


@pytest.mark.db_bench
def test_ceph_is_read_as_ceph_reads_it(installed: InstalledDbBench, tmp_path: Path):
    _, line, *own = lines("ceph")
    name, _, text = line.partition(" = ")
    assert name == "bluestore_rocksdb_options" and not set(text) & set(";{} ")
    # Ceph sorts them, and gives RocksDB one at a time.
    pairs = sorted(text.split(","))
    with RocksDbLibrary(installed.program).database(tmp_path / "db", *pairs):
        written = written_options(tmp_path / "db")
    assert {title for title, _ in differing(written)} == {TABLE}, "Ceph makes the table itself"
    assert set(own) == {
        "rocksdb_block_size = 16384", "rocksdb_bloom_bits_per_key = 12",
        "rocksdb_cache_index_and_filter_blocks = true", "# Ceph has no setting for: checksum.",
    }  # fmt: skip


def test_what_ceph_would_cut_is_named():
    objects = {
        "memtable_factory": "{id=VectorRepFactory;count=9;}",
        "compression_opts": "{level=4;}",
        "of_a_fork": "a,b",
        "prefix_extractor": "rocksdb.FixedPrefix.4",
    }
    text = format_options(OptionsFile({DB: {}, CF: objects}), rocksdb_version="8.0.0")
    _, line, *rest = lines("ceph", text)
    pairs = line.partition(" = ")[2].split(",")
    assert pairs == ["compression_opts.level=4", "prefix_extractor=rocksdb.FixedPrefix.4"]
    named = "memtable_factory.id, memtable_factory.count, of_a_fork"
    assert rest == [f"# Ceph has no setting for: {named}."]


def made_by(installed: InstalledDbBench, folder: Path, flags: str) -> OptionsFile:
    """The options of a database that db_bench makes with such flags."""
    (folder / "flags").write_text(flags)
    given = (f"--flagfile={folder / 'flags'}", f"--db={folder / 'db'}")
    argv = [installed.program, *given, "--benchmarks=fillseq", "--num=1"]
    subprocess.run(argv, check=True, capture_output=True)
    return written_options(folder / "db")


@pytest.mark.db_bench
def test_flags_make_what_the_file_says(installed: InstalledDbBench, tmp_path: Path):
    assert differing(made_by(installed, tmp_path, write_form("flags", TEXT, CHANGES))) == []
    assert not [line for line in lines("flags")[1:] if line.startswith("#")]


@pytest.mark.db_bench
def test_flags_of_a_whole_dump_make_it_again(installed: InstalledDbBench, tmp_path: Path):
    text = format_options(installed.defaults, rocksdb_version=installed.version)
    *flags, last = lines("flags", text)
    left = set(last.partition(": ")[2].rstrip(".").split(", "))
    assert len(flags) > 90 and left > {"info_log_level", "keep_log_file_num"}
    made = made_by(installed, tmp_path, "\n".join(flags))
    left.add("listeners")  # code of the application
    assert not [key for _, key in differing(made, installed.defaults) if key not in left]


@pytest.mark.db_bench
def test_a_flag_turns_the_filter_off(installed: InstalledDbBench, tmp_path: Path):
    text = format_options(
        OptionsFile({DB: {}, CF: {}, TABLE: {"filter_policy": "nullptr"}}), rocksdb_version="7.8.3"
    )
    assert lines("flags", text)[1:] == ["--bloom_bits=-1"]
    made = made_by(installed, tmp_path, "--bloom_bits=-1")
    assert made.get(TABLE, "filter_policy") == "nullptr"


def test_what_no_flag_carries_is_named():
    codec = {"compression": "kXpressCompression", "prefix_extractor": "rocksdb.FixedPrefix.4"}
    table = {"filter_policy": "ribbonfilter:10:0"}
    file = OptionsFile({DB: {"allow_2pc": "true"}, CF: codec, TABLE: table})
    *_, last = lines("flags", format_options(file, rocksdb_version="7.8.3"))
    named = "allow_2pc, compression, prefix_extractor, filter_policy"
    assert last == f"# db_bench has no flag for: {named}."


def test_calls_are_those_of_the_version_and_the_rest_is_named():
    database, family, *rest = lines("setoptions")
    assert database == 'db->SetDBOptions({{"max_background_jobs", "5"}});'
    assert family == (
        'db->SetOptions({{"write_buffer_size", "33554432"}, {"compression_opts", "{level=4;}"}, '
        '{"block_based_table_factory", "{block_size=16384;}"}});'
    )
    assert all(line.startswith("// ") for line in rest)
    told = "\n".join(rest)
    assert "Restart with OPTIONS.ini to change: use_fsync, of_a_fork, filter_policy." in told
    assert "from your own file, then restart: compression_per_level." in told
    newer = lines("setoptions", TEXT.replace("7.8.3", "9.8.4"))
    assert '"{block_size=16384;filter_policy=bloomfilter:12:false;}"' in newer[1]
    older = lines("setoptions", TEXT.replace("7.8.3", "4.3.0"))
    assert not [line for line in older if line.startswith("db->")]


@pytest.mark.parametrize(("key", "warned"), [("num_levels", True), ("write_buffer_size", False)])
def test_another_number_of_levels_is_warned_of(key: str, warned: bool):
    steps = steps_of([PlannedChange(CF, key, "7", "5")], OptionsFile())
    assert any("files beyond num_levels" in line for line in steps.lines) is warned


NOTHING_TO_REWRITE = {
    DB: ("bytes_per_sync", "strict_bytes_per_sync", "writable_file_max_buffer_size", "db_host_id"),
    CF: (
        "compression_opts.parallel_threads", "paranoid_file_checks", "sample_for_compression",
        "blob_file_size", "check_flush_compaction_key_order", "preserve_internal_time_seconds",
    ),
    TABLE: (
        "skip_table_builder_flush", "prepopulate_block_cache", "verify_compression",
        "detect_filter_construct_corruption", "reserve_table_builder_memory",
    ),
}  # fmt: skip


def test_of_what_no_table_holds_nothing_is_to_be_rewritten():
    for title, keys in NOTHING_TO_REWRITE.items():
        for key in keys:
            steps = steps_of([PlannedChange(title, key, "0", "1")], OptionsFile())
            assert not any("CompactRange" in line for line in steps.lines), key
            ((_, how),) = steps.rows
            assert how is not None and how.document()["acts"] == "next files", key
            assert how.when == "in files written from then on; there is nothing to rewrite"


def test_tables_and_blob_files_are_rewritten_each_in_their_own_way():
    changes = [
        PlannedChange(CF, "compression_opts.level", "3", "6"),
        PlannedChange(CF, "blob_compression_type", "kNoCompression", "kZSTD"),
        PlannedChange(TABLE, "filter_policy", "nullptr", "bloomfilter:10:false"),
    ]
    tables, blobs = (x for x in steps_of(changes, OptionsFile()).lines if "CompactRange" in x)
    assert tables.startswith("Existing SST files keep the old value until they are compacted")
    assert tables.endswith("rewrites all): compression_opts.level, filter_policy.")
    assert blobs.startswith("Existing blob files keep the old value until garbage is collected")
    assert blobs.endswith(": blob_compression_type.")


@pytest.mark.db_bench
def test_the_calls_are_taken_by_a_running_database(installed: InstalledDbBench, tmp_path: Path):
    file = OptionsFile({**SET, "Version": {"rocksdb_version": installed.version}})
    (call,) = [c for c in steps_of(CHANGES, file).calls if "SetOptions" in c]
    braces = call.removeprefix("db->SetOptions({").removesuffix("});")
    listed = braces.replace('{"', '["').replace('"}', '"]')
    pairs = dict(json.loads(f"[{listed}]"))
    library = RocksDbLibrary(installed.program)
    with library.database(tmp_path / "db") as database:
        assert library.set_options(database, **pairs) is None
        written = written_options(tmp_path / "db")
    assert written.get(CF, "write_buffer_size") == "33554432"
    assert written.get(CF, "compression_opts.level") == "4"
    assert written.get(CF, "compression_opts.window_bits") == "-14", "others stay as they were"
    assert written.get(TABLE, "block_size") == "16384"


def test_calls_of_another_family_name_its_handle():
    change = PlannedChange('CFOptions "meta"', "ttl", "0", "60")
    file = OptionsFile({"Version": {"rocksdb_version": "7.8.3"}})
    assert steps_of([change], file).calls == ['db->SetOptions(meta_handle, {{"ttl", "60"}});']


def test_the_table_has_a_line_for_each_change():
    _, _, *rows = lines("table")
    cells = {row.split(" | ")[0].removeprefix("| "): row.split(" | ")[1:] for row in rows}
    assert list(cells) == [change.key for change in CHANGES]
    assert cells["write_buffer_size"] == ["67108864", "33554432", "SetOptions", "immediately |"]
    assert cells["filter_policy"][2] == "restart (online since 9.8)"
    assert cells["use_fsync"][2] == "restart"
    assert cells["compression_per_level"][1] == "default"
    assert cells["of_a_fork"][2:] == ["not known", "not known |"]


def test_json_has_sections_and_changes():
    found = json.loads(write_form("json", TEXT, CHANGES))
    assert found["rocksdb_version"] == "7.8.3"
    assert found["sections"][CF]["compression_opts"] == {"level": "4", "max_dict_bytes": "4096"}
    assert found["sections"].keys() == {DB, CF, TABLE}
    assert found["changes"][-1] == {
        **asdict(CHANGES[-1]), "apply": {"call": None, "since": "9.8", "acts": "new files"},
    }  # fmt: skip
    assert found["changes"][5]["apply"] is None


def test_a_file_that_says_no_version_takes_a_restart():
    bare = "\n".join(line for line in TEXT.splitlines() if "rocksdb_version" not in line)
    assert not [line for line in lines("setoptions", bare) if line.startswith("db->")]
    for form in FORMS:
        assert write_form(form, bare, CHANGES)
