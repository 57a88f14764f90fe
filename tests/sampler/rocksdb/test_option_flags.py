"""Flags that db_bench ignores beside an OPTIONS file: the list, tried on the installed build."""

import re
import subprocess
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path

import pytest

from sampler.bench.accepted import ignored_options, require_supported
from sampler.bench.installed import InstalledDbBench
from sampler.common.errors import InputError
from sampler.rocksdb.option_facts import option_flags
from sampler.workload.workload import Workload
from sampler.workload.workload_file import SHIPPED, load_workload, workload_from_document
from tests.support.sampler.versions import version_of

GROUP = 12
# These are no options; tried with a value of any kind they never end, or write somewhere else.
NOT_TRIED = {
    "benchmarks", "db", "options_file", "help", "version", "num", "use_existing_db", "duration",
    "wal_dir", "benchmark_write_rate_limit", "benchmark_read_rate_limit", "num_multi_db",
    "report_interval_seconds", "readonly", "value_size", "key_size", "build_info", "enable_numa",
    # These need others beside them, or a library that the build lacks: alone they end it.
    "disposable_entries_batch_size", "persistent_entries_batch_size", "keys_per_prefix",
    "optimistic_transaction_db", "readwritepercent", "deletepercent", "seek_missing_prefix",
    "sine_write_rate", "use_cache_jemalloc_no_dump_allocator", "use_cache_memkind_kmem_allocator",
    "use_existing_keys", "use_secondary_db", "write_batch_protection_bytes_per_key",
    # Families of their own have the defaults of their own in the file, which are no options.
    "num_column_families", "num_hot_column_families",
    # It switches thread tracking on as well, for db_bench's own report.
    "thread_status_per_interval",
}  # fmt: skip
_FLAG = re.compile(r"^ -(\w+) \((?:.(?!\n -))*?type: (\w+)\s+default: (\S*)", re.M | re.S)


def groups(flags: Mapping[str, str]) -> Iterator[dict[str, str]]:
    names = sorted(flags)
    for start in range(0, len(names), GROUP):
        yield {name: flags[name] for name in names[start : start + GROUP]}


def ignored(program: Path, flags: dict[str, str]) -> set[tuple[str, str]]:
    """Of all together, or where the build does not take them so, of each alone."""
    found = ignored_options(program, flags)
    if found is not None or len(flags) == 1:
        return set(found or ())
    return set().union(*(ignored_options(program, {n: v}) or () for n, v in flags.items()))


@pytest.mark.db_bench
def test_every_flag_of_the_list_sets_its_key_without_a_file_and_nothing_beside_one(
    installed: InstalledDbBench,
):
    tried = {
        name: flag.tried
        for name, flag in option_flags().items()
        if flag.tried and name in installed.flags
    }
    if version_of(installed) >= (9, 2):  # its default is what is tried
        tried["optimize_filters_for_memory"] = "false"
    # bloom_bits alone is looked at where the file has no filter; it is refused as an option.
    # Of some the value is taken with others alone (cuckoo tables, hash search).
    others = {
        "bloom_bits",
        "memtablerep",
        "use_hash_search",
        "use_cuckoo_table",
        "use_plain_table",
    }
    assert len(tried) > 100
    missed = set()
    for group in groups({n: v for n, v in tried.items() if n not in others}):
        found = ignored(installed.program, group)
        keys = {(title, key.partition(".")[0]) for title, key in found}
        missed |= {
            name
            for name in group
            if (option_flags()[name].title, option_flags()[name].key.partition(".")[0]) not in keys
        }
    assert missed == set()


@pytest.mark.db_bench
def test_no_other_flag_of_the_build_is_ignored(installed: InstalledDbBench, tmp_path: Path):
    argv = [str(installed.program), "--help"]
    shown = subprocess.run(argv, cwd=tmp_path, capture_output=True, text=True, check=False)
    text = shown.stdout.partition("db_bench_tool.cc:")[2].partition("Flags from")[0]
    others = {}
    for name, kind, usual in _FLAG.findall(re.sub(r"^\s{4,}-", " -", text, flags=re.M)):
        if name in option_flags() or name in NOT_TRIED or kind == "string":
            continue
        if kind == "bool":
            others[name] = "false" if usual == "true" else "true"
        elif kind != "double":
            others[name] = str(int(usual) * 2 if int(usual) > 0 else 2)
    assert len(others) > 80
    assert [ignored(installed.program, group) for group in groups(others)] == [set()] * (
        -(-len(others) // GROUP)
    )


@pytest.mark.parametrize(
    ("name", "value", "line"),
    [
        ("open_files", -1, "max_open_files=-1 in [DBOptions]"),
        ("block_size", 8192, 'block_size=8192 in [TableOptions/BlockBasedTable "default"]'),
        ("compression_type", "lz4", 'compression=kLZ4Compression in [CFOptions "default"]'),
        ("disable_auto_compactions", True, "disable_auto_compactions=true in [CFOptions"),
        ("prefix_size", 4, "prefix_extractor=rocksdb.FixedPrefix.4 in [CFOptions"),
        ("universal_size_ratio", 7, "compaction_options_universal={size_ratio=7;} in [CFOptions"),
        ("memtable_use_huge_page", False, "write memtable_huge_page_size in [CFOptions"),
        ("fifo_compaction_ttl", 9, "write ttl in [CFOptions"),
        ("use_blob_cache", True, "it has no counterpart in an OPTIONS file; leave it out"),
    ],
)
def test_a_flag_that_does_nothing_is_refused_with_what_to_write(
    name: str, value: object, line: str
):
    with pytest.raises(
        InputError, match=rf"^workload\.flags\.{name}: is a RocksDB option"
    ) as refused:
        workload_from_document({"name": "w", "flags": {name: value}})
    assert line in str(refused.value)


def test_all_of_them_are_named_at_once_those_of_the_preparation_too():
    document = {"name": "w", "flags": {"open_files": 5, "db": "/x", "sync": True, "mmap_read": 1}}
    with pytest.raises(InputError, match=r"flags\.db: .*flags\.mmap_read: .*flags\.open_files: "):
        workload_from_document(document)
    prepared = {"benchmarks": ["fillseq"], "flags": {"open_files": 5, "num_levels": 3}}
    document = {"name": "w", "benchmarks": ["readseq"], "prepare": prepared}
    with pytest.raises(
        InputError, match=r"prepare\.flags\.num_levels.*prepare\.flags\.open_files"
    ):
        workload_from_document(document)


def test_a_prefix_that_shapes_keys_is_a_fact_of_the_load():
    flags = {"prefix_size": 8, "keys_per_prefix": 10}
    assert workload_from_document({"name": "w", "flags": flags}).flags == tuple(
        sorted(flags.items())
    )


@pytest.mark.parametrize("name", SHIPPED)
def test_no_shipped_load_has_such_a_flag(name: str):
    load = load_workload(name)
    prepared = load.prepare.flags if load.prepare else ()
    # Those that say what the application does act beside an OPTIONS file, or come into it.
    shaping = {"merge_operator", "prefix_size"}
    assert not {flag for flag, _ in (*load.flags, *prepared)} & option_flags().keys() - shaping


@pytest.mark.db_bench
def test_a_newer_build_is_asked_what_it_does_with_flags_that_nobody_read_of(
    installed: InstalledDbBench, monkeypatch: pytest.MonkeyPatch
):
    newer = replace(installed, version="99.1.0")
    load = Workload(name="w", flags=(("open_files", 30), ("sync", True)))
    monkeypatch.setattr("sampler.bench.accepted.option_flags", dict)
    with pytest.raises(InputError, match=r"flags\.open_files: .*max_open_files in \[DBOptions\]"):
        require_supported(newer, load)
    require_supported(installed, load)


@pytest.mark.db_bench
def test_flags_and_benchmarks_that_a_build_does_not_have_are_refused(installed: InstalledDbBench):
    lacks = version_of(installed) < (10, 5)
    load = Workload(name="w", benchmarks=("multiscan",), flags=(("raeds", 5),))
    said = r"flags\.raeds: .* did you mean reads"
    with pytest.raises(InputError, match=f"has no multiscan.*{said}" if lacks else said):
        require_supported(installed, load)
