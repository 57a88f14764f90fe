"""Random OPTIONS files over all that the installed RocksDB takes, catalogued or not.

Sizes are log-uniform in ranges of production, enumerations come from the table of options, and
what RocksDB refuses to open together is put back to its default (``_AGREE``).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from random import Random

from sampler.rocksdb.option_facts import OptionFact, option_facts
from sampler.rocksdb.options_file import CF, DB, TABLE, OptionsFile, format_struct

Key = tuple[str, str]
Values = dict[Key, str]
KIB, MIB, GIB = 2**10, 2**20, 2**30
PLAIN = 'TableOptions/PlainTable "default"'
_TITLES = {"DBOptions": DB, "CFOptions": CF, "BlockBasedTable": TABLE, "PlainTable": PLAIN}
_OURS = (7, 8)
# All memtables of a file together: a load must be many times as large to be of the tree.
MEMTABLES = 256 * MIB
# Of these a file of RocksDB holds nothing, or a run nothing that could be compared.
NOT_DRAWN: Mapping[str, str] = {
    "env": "a path or code", "wal_dir": "a path", "db_log_dir": "a path",
    "listeners": "code", "statistics": "code", "wal_filter": "code",
    "rate_limiter_bytes_per_sec": "written into no file", "blob_cache": "written into no file",
    "block_cache": "written into no file", "block_cache_compressed": "written into no file",
    "memtable": "an older spelling", "block_based_table_factory": "an older spelling",
    "plain_table_factory": "an older spelling", "compaction_filter_factory": "code",
    "disable_auto_compactions": "a load would stop for good",
    "CuckooTable": "takes no load: keys and values of one length, and no updates",
}  # fmt: skip

Spec = tuple[str, float, float]
# "log": log-uniform; "log0": that or 0; "int", "float": uniform.
_RANGES: Mapping[str, Spec] = {
    # database: sizes
    "db_write_buffer_size": ("log0", 64 * MIB, 2 * GIB),
    "max_total_wal_size": ("log0", 64 * MIB, 4 * GIB),
    "delayed_write_rate": ("log", 8 * MIB, 256 * MIB),
    "compaction_readahead_size": ("log0", 64 * KIB, 8 * MIB),
    "log_readahead_size": ("log0", 64 * KIB, 8 * MIB),
    "random_access_max_buffer_size": ("log", 64 * KIB, 8 * MIB),
    "writable_file_max_buffer_size": ("log", 64 * KIB, 8 * MIB),
    "max_write_batch_group_size_bytes": ("log", 64 * KIB, 8 * MIB),
    "bytes_per_sync": ("log0", 64 * KIB, 8 * MIB),
    "wal_bytes_per_sync": ("log0", 64 * KIB, 8 * MIB),
    "manifest_preallocation_size": ("log0", 64 * KIB, 64 * MIB),
    "max_manifest_file_size": ("log", 64 * KIB, 4 * GIB),
    "WAL_size_limit_MB": ("log0", 64, 65_536),
    "max_log_file_size": ("log0", 64 * KIB, GIB),
    "stats_history_buffer_size": ("log0", 64 * KIB, 16 * MIB),
    # database: counts and times
    "max_background_jobs": ("int", 1, 8),
    "max_background_compactions": ("int", -1, 6),
    "max_background_flushes": ("int", -1, 3),
    "max_subcompactions": ("int", 1, 4),
    "max_file_opening_threads": ("int", 1, 32),
    "max_open_files": ("int", 100, 5_000),
    "table_cache_numshardbits": ("int", 1, 8),
    "recycle_log_file_num": ("int", 0, 4),
    "keep_log_file_num": ("int", 1, 1_000),
    "WAL_ttl_seconds": ("log0", 60, 2_592_000),
    "log_file_time_to_roll": ("log0", 60, 86_400),
    "stats_dump_period_sec": ("log0", 1, 3_600),
    "stats_persist_period_sec": ("log0", 1, 3_600),
    "delete_obsolete_files_period_micros": ("log", 1_000_000, 21_600_000_000),
    "write_thread_max_yield_usec": ("int", 0, 1_000),
    "write_thread_slow_yield_usec": ("int", 0, 10),
    "max_bgerror_resume_count": ("int", 0, 1_000),
    "bgerror_resume_retry_interval": ("log", 1_000, 10_000_000),
    # family: sizes
    "write_buffer_size": ("log", 4 * MIB, 128 * MIB),
    "arena_block_size": ("log0", 64 * KIB, 8 * MIB),
    "target_file_size_base": ("log", 2 * MIB, 256 * MIB),
    "max_bytes_for_level_base": ("log", 16 * MIB, GIB),
    "max_compaction_bytes": ("log0", 128 * MIB, 16 * GIB),
    "soft_pending_compaction_bytes_limit": ("log0", GIB, 256 * GIB),
    "hard_pending_compaction_bytes_limit": ("log0", 4 * GIB, 1024 * GIB),
    "max_write_buffer_size_to_maintain": ("log0", 16 * MIB, GIB),
    "memtable_huge_page_size": ("log0", 2 * MIB, 2 * MIB),
    "blob_file_size": ("log", 16 * MIB, GIB),
    "min_blob_size": ("log0", 64, 8 * KIB),
    "blob_compaction_readahead_size": ("log0", 64 * KIB, 8 * MIB),
    "compaction_options_fifo.max_table_files_size": ("log", GIB, 64 * GIB),
    # family: counts, ratios and times
    "max_write_buffer_number": ("int", 2, 8),
    "min_write_buffer_number_to_merge": ("int", 1, 4),
    "max_write_buffer_number_to_maintain": ("int", -1, 4),
    "level0_file_num_compaction_trigger": ("int", 2, 12),
    "level0_slowdown_writes_trigger": ("int", 8, 40),
    "level0_stop_writes_trigger": ("int", 16, 80),
    "num_levels": ("int", 3, 8),
    "max_bytes_for_level_multiplier": ("float", 4, 16),
    "target_file_size_multiplier": ("int", 1, 4),
    "max_sequential_skip_in_iterations": ("int", 0, 100),
    "max_successive_merges": ("int", 0, 100),
    "inplace_update_num_locks": ("log", 1, 100_000),
    "bloom_locality": ("int", 0, 1),
    "memtable_prefix_bloom_size_ratio": ("float", 0, 0.25),
    "experimental_mempurge_threshold": ("float", 0, 1),
    "sample_for_compression": ("log0", 10, 10_000),
    "blob_garbage_collection_age_cutoff": ("float", 0, 1),
    "blob_garbage_collection_force_threshold": ("float", 0.2, 1),
    "blob_file_starting_level": ("int", 0, 3),
    "ttl": ("log0", 600, 2_592_000),
    "periodic_compaction_seconds": ("log0", 600, 2_592_000),
    "preclude_last_level_data_seconds": ("log0", 600, 2_592_000),
    "preserve_internal_time_seconds": ("log0", 600, 2_592_000),
    "compaction_options_fifo.age_for_warm": ("log0", 600, 2_592_000),
    "compaction_options_universal.size_ratio": ("int", 0, 50),
    "compaction_options_universal.min_merge_width": ("int", 2, 6),
    "compaction_options_universal.max_merge_width": ("int", 6, 64),
    "compaction_options_universal.max_size_amplification_percent": ("int", 25, 400),
    "compaction_options_universal.compression_size_percent": ("int", -1, 100),
    # tables
    "block_size": ("log", KIB, 64 * KIB),
    "metadata_block_size": ("log", KIB, 64 * KIB),
    "block_size_deviation": ("int", 0, 50),
    "block_restart_interval": ("int", 1, 64),
    "index_block_restart_interval": ("int", 1, 16),
    "read_amp_bytes_per_bit": ("log0", 1, 64),
    "initial_auto_readahead_size": ("log0", 4 * KIB, 64 * KIB),
    "max_auto_readahead_size": ("log0", 64 * KIB, MIB),
    "num_file_reads_for_auto_readahead": ("int", 0, 8),
    "data_block_hash_table_util_ratio": ("float", 0.1, 1),
    "bloom_bits_per_key": ("int", 0, 20),
    "hash_table_ratio": ("float", 0, 1),
    "index_sparseness": ("int", 1, 64),
    "huge_page_tlb_size": ("log0", 2 * MIB, 2 * MIB),
}
_COMPRESSION: Mapping[str, Spec] = {
    "window_bits": ("int", -15, -8),
    "level": ("int", 1, 6),
    "strategy": ("int", 0, 1),
    "max_dict_bytes": ("log0", 4 * KIB, 64 * KIB),
    "zstd_max_train_bytes": ("log0", 64 * KIB, MIB),
    "max_dict_buffer_bytes": ("log0", MIB, 64 * MIB),
    "parallel_threads": ("int", 1, 3),
}
_PREFIXES = ("rocksdb.FixedPrefix.8", "rocksdb.CappedPrefix.4", "rocksdb.Noop")
_SPECIAL: Mapping[str, Callable[[Random], str]] = {
    "db_host_id": lambda rng: f"host-{rng.randrange(100)}",
    "prefix_extractor": lambda rng: rng.choice(_PREFIXES),
    "memtable_insert_with_hint_prefix_extractor": lambda rng: rng.choice(_PREFIXES[:2]),
    "filter_policy": lambda rng: rng.choice(
        [f"bloomfilter:{rng.randint(1, 20)}:false", f"ribbonfilter:{rng.randint(5, 15)}:-1"]
    ),
    "memtable_factory": lambda rng: rng.choice(
        [
            f"{{id=HashSkipListRepFactory;bucket_count={_log(rng, 1_000, 1_000_000)};"
            f"skiplist_height={rng.randint(2, 8)};branching_factor={rng.randint(2, 8)};}}",
            f"{{id=HashLinkListRepFactory;bucket_count={_log(rng, 1_000, 200_000)};"
            f"threshold={rng.randint(16, 512)};huge_page_size={rng.choice([0, 2 * MIB])};"
            f"logging_threshold={_log(rng, 16, 8_192)};log_when_flash={_bool(rng)};}}",
            f"{{id=VectorRepFactory;count={_log(rng, 1, 1_000_000)};}}",
            f"SkipListFactory:{rng.randint(1, 64)}",
        ]
    ),
    # Keys of db_bench begin with zeros: a longer prefix would make a file of each key.
    "sst_partitioner_factory": lambda rng: (
        f"{{id=SstPartitionerFixedPrefixFactory;length={rng.randint(1, 4)};}}"
    ),
    "table_properties_collectors": lambda rng: (
        f"{{{{id=CompactOnDeletionCollector;window_size={_log(rng, 128, 100_000)};"
        f"deletion_trigger={_log(rng, 50, 50_000)};deletion_ratio={rng.random():.2f};}}}}"
    ),
    "table_factory": lambda rng: "PlainTable" if rng.random() < 0.4 else "BlockBasedTable",
    "compaction_style": lambda rng: rng.choice(
        ["kCompactionStyleLevel", "kCompactionStyleUniversal", "kCompactionStyleFIFO"]
    ),
    "max_bytes_for_level_multiplier_additional": lambda rng: ":".join(
        str(rng.randint(1, 2)) for _ in range(8)
    ),
    "compression_per_level": lambda rng: ":".join(
        sorted(rng.choices(("kNoCompression", "kSnappyCompression", "kZSTD"), k=rng.randint(2, 7)))
    ),
    "compression": lambda rng: rng.choice(_codecs("compression")),
    # Every key of one length, or of any; those of the loads have 16 bytes.
    "user_key_len": lambda rng: rng.choice(["0", "16"]),
    "format_version": lambda rng: str(rng.randint(2, 5)),
    # A hash index takes a prefix for each key to be found.
    "index_type": lambda rng: rng.choice(option_facts()["BlockBasedTable", "index_type"].choices),
}


def draw_options(number: int, *, seed: int = 29) -> OptionsFile:
    """The file of a number: always the same one for a seed; RocksDB may refuse to open it."""
    rng = Random(f"{seed}:{number}")
    share = rng.uniform(0.1, 0.6)
    values: Values = {}
    for fact in option_facts().values():
        if drawn(fact) and rng.random() < share:
            values[fact.section, fact.key] = _value(fact, rng)
    _agree(values)
    return _file(values)


def drawn(fact: OptionFact) -> bool:
    """Whether the option is one that random files hold."""
    struct = fact.key.partition(".")[0]
    known = not fact.since or tuple(map(int, fact.since.split("."))) <= _OURS
    acts = not fact.deprecated or tuple(map(int, fact.deprecated.split("."))) > _OURS
    whole = fact.type != "struct" and not (
        "." in fact.key and option_facts()[fact.section, struct].type != "struct"
    )
    return known and acts and whole and not {struct, fact.section} & NOT_DRAWN.keys()


def _value(fact: OptionFact, rng: Random) -> str:
    if fact.key in _SPECIAL:
        return _SPECIAL[fact.key](rng)
    struct, _, member = fact.key.rpartition(".")
    spec = _COMPRESSION.get(member) if struct.endswith("compression_opts") else None
    spec = spec or _RANGES.get(fact.key)
    if spec:
        return _number(rng, spec)
    if fact.type == "bool":
        return _bool(rng)
    if fact.choices:
        return rng.choice(fact.choices)
    raise KeyError(f"no way to draw {fact.key}")


def _number(rng: Random, spec: Spec) -> str:
    kind, low, high = spec
    match kind:
        case "log0" if rng.random() < 0.3:
            return "0"
        case "log" | "log0":
            return str(_log(rng, low, high))
        case "int":
            return str(rng.randint(int(low), int(high)))
        case _:
            return f"{rng.uniform(low, high):.4f}"


def _log(rng: Random, low: float, high: float) -> int:
    return round(low * (high / low) ** rng.random())


def _bool(rng: Random) -> str:
    return rng.choice(["true", "false"])


def _codecs(key: str) -> list[str]:
    every = option_facts()["CFOptions", key].choices
    return [name for name in every if name not in {"kXpressCompression", "kBZip2Compression"}]


def _agree(values: Values) -> None:
    """Puts back to its default what does not go with the rest (ValidateOptions of RocksDB)."""

    def on(key: str, section: str = "DBOptions") -> bool:
        fact = option_facts()[section, key]
        return values.get((section, key), fact.default) not in {"false", "0", "nullptr", ""}

    def drop(*keys: str, section: str = "DBOptions") -> None:
        for key in keys:
            values.pop((section, key), None)

    if on("unordered_write") or on("atomic_flush") or on("two_write_queues"):
        drop("enable_pipelined_write")
    if on("unordered_write"):
        values["DBOptions", "allow_concurrent_memtable_write"] = "true"
        drop("max_successive_merges", section="CFOptions")
        drop("manual_wal_flush")  # 7.8.3 never ends: not refused, but seen
    if on("atomic_flush"):
        drop("best_efforts_recovery", "recycle_log_file_num")  # SIGSEGV of 7.8.3 at a flush
    if on("use_direct_reads"):
        drop("allow_mmap_reads")
    _agree_memtables(values, on, drop)
    _agree_tables(values, on, drop)
    if on("use_direct_io_for_flush_and_compaction") or not on("allow_fallocate"):
        drop("allow_mmap_writes")  # SIGBUS: without fallocate nothing is there to be mapped
    if on("allow_mmap_reads"):  # an assertion of env/io_posix.cc
        drop("use_direct_io_for_flush_and_compaction")
    for opts in ("compression_opts", "bottommost_compression_opts"):
        if not on(f"{opts}.max_dict_bytes", "CFOptions"):
            drop(f"{opts}.zstd_max_train_bytes", section="CFOptions")
    if values.get(("CFOptions", "compaction_style")) == "kCompactionStyleFIFO":
        drop("max_open_files")


def _agree_memtables(values: Values, on: Callable[..., bool], drop: Callable[..., None]) -> None:
    memtable = values.get(("CFOptions", "memtable_factory"), "SkipListFactory")
    size = int(values.get(("CFOptions", "write_buffer_size"), 64 * MIB))
    most = max(MEMTABLES // size, 2)
    if int(values.get(("CFOptions", "max_write_buffer_number"), 2)) > most:
        values["CFOptions", "max_write_buffer_number"] = str(most)
    if "SkipListFactory" not in memtable or on("inplace_update_support", "CFOptions"):
        values["DBOptions", "allow_concurrent_memtable_write"] = "false"
        drop("unordered_write")
    merged = int(values.get(("CFOptions", "min_write_buffer_number_to_merge"), 1))
    if "SkipListFactory" not in memtable or merged > 1:
        # An assertion of memtablerep.h (no samples can be taken), or a flush that never ends.
        drop("experimental_mempurge_threshold", section="CFOptions")
    if "Hash" in memtable:
        values.setdefault(("CFOptions", "prefix_extractor"), _PREFIXES[0])


def _agree_tables(values: Values, on: Callable[..., bool], drop: Callable[..., None]) -> None:
    if values.get(("CFOptions", "table_factory")) == "PlainTable":
        values["DBOptions", "allow_mmap_reads"] = "true"
        values["CFOptions", "ttl"] = values["CFOptions", "periodic_compaction_seconds"] = "0"
        values.setdefault(("CFOptions", "prefix_extractor"), _PREFIXES[0])
        drop("use_direct_reads", "max_subcompactions")  # "total_order_seek not implemented"
        for key in [key for key in values if key[0] == "BlockBasedTable"]:
            del values[key]
    else:
        for key in [key for key in values if key[0] == "PlainTable"]:
            del values[key]
    if on("no_block_cache", "BlockBasedTable"):
        drop("cache_index_and_filter_blocks", "pin_l0_filter_and_index_blocks_in_cache",
             section="BlockBasedTable")  # fmt: skip
    if on("block_align", "BlockBasedTable"):
        values["CFOptions", "compression"] = "kNoCompression"
        drop("compression_per_level", "bottommost_compression", section="CFOptions")
        drop("block_size", section="BlockBasedTable")
    if values.get(("BlockBasedTable", "index_type")) == "kHashSearch":
        values.setdefault(("CFOptions", "prefix_extractor"), _PREFIXES[0])
        drop("prepopulate_block_cache", section="BlockBasedTable")  # an assertion of 7.8.3


def _file(values: Values) -> OptionsFile:
    sections: dict[str, dict[str, str]] = {DB: {}, CF: {}}
    structs: dict[tuple[str, str], dict[str, str]] = {}
    for (section, key), text in values.items():
        struct, _, member = key.partition(".")
        if member:
            structs.setdefault((section, struct), {})[member] = text
        else:
            sections.setdefault(_TITLES[section], {})[key] = text
    for (section, struct), fields in structs.items():
        sections.setdefault(_TITLES[section], {})[struct] = format_struct(fields)
    return OptionsFile(sections)
