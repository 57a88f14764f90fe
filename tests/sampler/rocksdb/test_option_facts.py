"""The table of RocksDB's options: complete, and true of real files and of the real db_bench."""

from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

import pytest

from sampler.bench.installed import InstalledDbBench, TriedOptions, try_options
from sampler.rocksdb.option_facts import OptionFact, derived_values, option_facts
from sampler.rocksdb.options_file import (
    CF,
    DB,
    TABLE,
    OptionsFile,
    format_options,
    list_members,
    parse_struct,
)
from sampler.rocksdb.parameters import catalogue
from tests.support.cases.case import ARTEFACTS
from tests.support.sampler.versions import asserts, ignores, knows, version_of

PLAIN = 'TableOptions/PlainTable "default"'
CUCKOO = 'TableOptions/CuckooTable "default"'
TITLES = {
    "DBOptions": DB, "CFOptions": CF, "BlockBasedTable": TABLE, "PlainTable": PLAIN,
    "CuckooTable": CUCKOO,
}  # fmt: skip
# Read from a file, and written into none.
NOT_WRITTEN = {
    "env", "db_log_dir", "wal_dir", "rate_limiter_bytes_per_sec", "statistics", "blob_cache",
    "block_cache", "block_cache.capacity", "block_cache.num_shard_bits",
    "block_cache.strict_capacity_limit", "block_cache.high_pri_pool_ratio",
    "block_cache.low_pri_pool_ratio", "block_cache_compressed", "memtable",
    "block_based_table_factory", "plain_table_factory", "memtable_factory.lookahead",
    # Written where they are set.
    "daily_offpeak_time_utc", "filter_policy.bloom_before_level",
    "table_properties_collectors.compaction_trigger_ratio",
    "blob_direct_write_partition_strategy",
    "memtable_veirfy_per_key_checksum_on_seek",  # an old spelling
}  # fmt: skip
# Not of RocksDB but of CacheLib, in the one file that sets up its cache.
MEMTABLES = (
    "{id=HashSkipListRepFactory;bucket_count=9;}",
    "{id=HashLinkListRepFactory;bucket_count=9;}",
    "{id=VectorRepFactory;count=9;}",
)
NOT_ROCKSDB = {"block_cache.secondary_cache"}


def facts_where(condition: Callable[[OptionFact], bool]) -> Iterator[OptionFact]:
    return (fact for fact in option_facts().values() if condition(fact))


def kind_of(title: str) -> str:
    return title.split(" ")[0].removeprefix("TableOptions/")


def keys_of(sections: Mapping[str, Mapping[str, str]]) -> set[tuple[str, str]]:
    """Every key of a file, fields of structures dotted."""
    found = set()
    for title, values in sections.items():
        for key, text in values.items():
            found.add((kind_of(title), key))
            if text.startswith("{") and "=" in text:
                table = key == "block_based_table_factory"
                kind, within = ("BlockBasedTable", "") if table else (kind_of(title), f"{key}.")
                for struct in list_members(text) or [text]:
                    found |= {(kind, f"{within}{field}") for field in parse_struct(struct)}
    return {(section, key) for section, key in found if not key.endswith(".id")}


def sections_of(text: str) -> dict[str, dict[str, str]]:
    """Sections of a file, of any column family, unfinished ones too."""
    sections: dict[str, dict[str, str]] = {}
    title = ""
    for line in (each.partition("#")[0].strip() for each in text.splitlines()):
        if line.startswith("["):
            title = line.strip("[] ")
            sections.setdefault(title, {})
        elif "=" in line and title:
            key, _, value = line.partition("=")
            sections[title][key.strip()] = value.strip()
    sections.pop("Version", None)
    return sections


@pytest.mark.parametrize(
    "path",
    sorted(p for p in ARTEFACTS.rglob("*") if p.suffix == ".ini" or p.name == "OPTIONS"),
    ids=lambda path: f"{path.parent.name}/{path.name}",
)
def test_every_key_of_a_real_file_is_in_the_table(path: Path):
    keys = keys_of(sections_of(path.read_text(encoding="utf-8")))
    assert len(keys) > 1
    missing = keys - option_facts().keys()
    assert {key for _, key in missing} <= NOT_ROCKSDB


def test_the_table_agrees_with_the_catalogue():
    named = {name: name for name in ("DBOptions", "CFOptions")}
    named |= {"Table": "BlockBasedTable", "deployment": "BlockBasedTable"}
    facts = {
        parameter.name: option_facts()[named[parameter.section], parameter.key]
        for parameter in catalogue().values()
        if parameter.section in named
    }
    assert len(facts) > 50
    divided = {name for name, fact in facts.items() if fact.measure in {"scale", "derive"}}
    assert divided == {name for name in facts if catalogue()[name].scaled}
    assert not {name for name, fact in facts.items() if fact.measure == "leave_out"}


def test_an_old_key_names_the_key_that_it_overrides():
    table = option_facts()
    pairs = {key: table[section, key].overrides for section, key in table}
    assert pairs["max_background_compactions"] == "max_background_jobs"
    assert pairs["max_background_flushes"] == "max_background_jobs"
    assert pairs["compression_per_level"] == "compression"
    for (section, _), fact in table.items():
        assert not fact.overrides or (section, fact.overrides) in table
        assert not (fact.overrides and fact.deprecated)
    assert table["DBOptions", "max_background_compactions"].overrides_unless == ("-1",)


def test_only_numbers_are_divided_and_each_decision_has_a_reason():
    for fact in option_facts().values():
        assert fact.why.endswith(".")
        assert fact.source
        assert fact.measure not in {"scale", "derive"} or fact.type in {"size", "uint"}
        assert fact.measure != "derive" or fact.derived_as
        if fact.derived_as:
            derived_values(fact.derived_as, {})


Sections = Mapping[str, Mapping[str, str]]


def tried(
    installed: InstalledDbBench, folder: Path, sections: Sections, name: str
) -> TriedOptions:
    (folder / name).mkdir()
    text = format_options(OptionsFile({DB: {}, CF: {}, **sections}), rocksdb_version="5.0.0")
    return try_options(installed.program, text, folder / name)


def written(
    installed: InstalledDbBench, folder: Path, sections: Sections, name: str
) -> OptionsFile:
    ran = tried(installed, folder, sections, name)
    assert ran.options is not None, ran.complaint
    return ran.options


@pytest.mark.db_bench
def test_all_that_db_bench_writes_is_in_the_table_with_its_default(
    installed: InstalledDbBench, tmp_path: Path
):
    mapped = {DB: {"allow_mmap_reads": "true"}}
    plain = {CF: {"table_factory": "PlainTable", "ttl": "0"}, PLAIN: {}}
    cuckoo = {CF: {"table_factory": "CuckooTable", "ttl": "0"}, CUCKOO: {}}
    defaults = dict(installed.defaults.sections)
    defaults[PLAIN] = written(installed, tmp_path, mapped | plain, "plain").sections[PLAIN]
    defaults[CUCKOO] = written(installed, tmp_path, cuckoo, "cuckoo").sections[CUCKOO]
    for text in MEMTABLES:
        family = {
            "memtable_factory": text,
            "prefix_extractor": "rocksdb.FixedPrefix.4",
            "compression_per_level": "kNoCompression:kZSTD",
            "sst_partitioner_factory": "{id=SstPartitionerFixedPrefixFactory;length=4;}",
            "table_properties_collectors": "{{id=CompactOnDeletionCollector;window_size=9;}}",
        }
        sections = {DB: {"allow_concurrent_memtable_write": "false"}, CF: family}
        options = written(installed, tmp_path, sections, text.strip("{}").replace(";", "-"))
        defaults[f"{CF} {text}"] = options.sections[CF]
    found = {key for key in keys_of(defaults) if key[0] != "Version"}
    acting = {
        (fact.section, fact.key)
        for fact in facts_where(lambda f: knows(installed, f) and not ignores(installed, f))
        if fact.key not in NOT_WRITTEN
    }
    assert found == acting
    for section, key in acting:
        fact = option_facts()[section, key]
        text = OptionsFile(defaults).get(TITLES[section], key)
        default = fact.default_in(installed.version)
        if key == "info_log_level" and not asserts(installed):
            default = "INFO_LEVEL"  # of every release build (options.h)
        assert text is None or fact.type == "struct" or default == text, key


@pytest.mark.db_bench
def test_what_is_said_to_be_ignored_is_read_and_not_written(
    installed: InstalledDbBench, tmp_path: Path
):
    sections: dict[str, dict[str, str]] = {}
    for fact in facts_where(lambda each: ignores(installed, each)):
        if "." not in fact.key:
            sections.setdefault(TITLES[fact.section], {})[fact.key] = "1"
    sections[CF]["compaction_options_fifo"] = "{ttl=77;max_table_files_size=5;}"
    assert sum(len(keys) for keys in sections.values()) > 30
    options = written(installed, tmp_path, sections, "ignored")
    for title, keys in sections.items():
        for key in keys:
            assert key == "compaction_options_fifo" or options.get(title, key) is None
    assert options.get(CF, "compaction_options_fifo.ttl") is None
    assert options.get(CF, "compaction_options_fifo.max_table_files_size") == "5"
    assert options.get(CF, "ttl") == "2592000"


@pytest.mark.db_bench
def test_what_is_newer_is_refused_one_by_one(installed: InstalledDbBench, tmp_path: Path):
    newer = list(facts_where(lambda each: not knows(installed, each)))
    if not newer:
        pytest.skip("the table has nothing newer than this build")
    for fact in newer:
        struct, _, member = fact.key.partition(".")
        if struct in {"filter_policy", "table_properties_collectors"}:
            continue  # objects pass over what they do not know
        value = f"{{{member}=1;}}" if member else "1"
        ran = tried(installed, tmp_path, {TITLES[fact.section]: {struct: value}}, fact.key)
        assert ran.options is None, fact.key
        assert struct in ran.complaint or member in ran.complaint


@pytest.mark.db_bench
def test_every_size_is_taken_at_its_floor(installed: InstalledDbBench, tmp_path: Path):
    sections: dict[str, dict[str, str]] = {}
    for fact in facts_where(lambda f: knows(installed, f) and not ignores(installed, f)):
        if fact.floor is not None and fact.measure in {"scale", "derive"} and "." not in fact.key:
            sections.setdefault(TITLES[fact.section], {})[fact.key] = str(fact.floor)
    options = written(installed, tmp_path, sections, "floors")
    for title, keys in sections.items():
        for key, text in keys.items():
            assert options.get(title, key) in {text, None} or key == "max_compaction_bytes"
    below = {"write_buffer_size": "65535"}
    lifted = written(installed, tmp_path, {CF: below}, "below").get(CF, "write_buffer_size")
    assert lifted == str(option_facts()["CFOptions", "write_buffer_size"].floor)


@pytest.mark.db_bench
@pytest.mark.parametrize("memtable", [65_536, 100_000, 8 * 2**20, 2**30])
def test_what_rocksdb_derives_is_what_the_formulas_say(
    installed: InstalledDbBench, tmp_path: Path, memtable: int
):
    family = {
        "write_buffer_size": memtable, "max_write_buffer_number": 5,
        "target_file_size_base": memtable // 3, "max_write_buffer_size_to_maintain": -1,
        "hard_pending_compaction_bytes_limit": 100 * memtable,
        "soft_pending_compaction_bytes_limit": 0, "arena_block_size": 0, "max_compaction_bytes": 0,
    }  # fmt: skip
    database = {"use_direct_reads": 1, "delayed_write_rate": 0, "compaction_readahead_size": 0}
    sections = {
        DB: {key: str(value) for key, value in database.items()},
        CF: {key: str(value) for key, value in family.items()},
    }
    options = written(installed, tmp_path, sections, "derived")
    newer = version_of(installed) >= (8, 7)  # has another default, and 0 means none
    tested = 0
    for key, value in {**family, **database}.items():
        section = "CFOptions" if key in family else "DBOptions"
        formula = option_facts()[section, key].derived_as
        if value <= 0 and formula:
            text = options.get(TITLES[section], key)
            assert text is not None
            derived = derived_values(formula, {**family, **database})
            stays = key == "compaction_readahead_size" and newer
            assert int(text) in ({0} if stays else derived), key
            tested += 1
    assert tested == 6
