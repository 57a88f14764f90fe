"""The same key-value separation with today's RocksDB: integrated BlobDB in place of VLogs."""

from __future__ import annotations

from sampler.kioxia_guide.comments import comments
from sampler.kioxia_guide.guide import COMPACTION_TRIGGER, Guide
from sampler.kioxia_guide.levels import MULTIPLIER
from sampler.kioxia_guide.trocksdb_options import (
    BLOCK_SIZE,
    BYTES_PER_SYNC,
    FRAGMENTED_PERCENT,
    REMAPPED_PERCENT,
)
from sampler.options.option_values import write_values
from sampler.options.options_file import DB, TABLE, OptionsFile, format_options
from sampler.parameters.catalogue import catalogue
from sampler.parameters.parameter import Value

VERSION = "7.8.3"
# TRocksDB's option, and what does the same in BlobDB. Shown on the page and at the terminal.
COUNTERPARTS = {
    "vlogring_activation_level": "blob_file_starting_level",
    "min_indirect_val_size": "min_blob_size",
    "vlogfile_max_size": "blob_file_size",
    "ring_compression_style": "blob_compression_type",
    "fraction_remapped_during_compaction": "blob_garbage_collection_age_cutoff",
    "fragmentation_active_recycling_trigger": "blob_garbage_collection_force_threshold",
}
WITHOUT_COUNTERPART = (
    "allow_trivial_move",
    "compaction_score_limit_L0",
    "fraction_remapped_during_active_recycling",
    "fragmentation_active_recycling_klaxon",
    "active_recycling_sst_minct",
    "active_recycling_sst_maxct",
    "active_recycling_vlogfile_freed_min",
    "active_recycling_size_trigger",
    "compaction_picker_age_importance",
    "vlog_direct_IO",
)


def rocksdb_values(guide: Guide) -> dict[str, Value]:
    """The translation by parameter of the catalogue, full scale.

    The block cache (``cache_size``) is among them, though no OPTIONS file can hold it.
    """
    return {
        "write_buffer_size": guide.write_buffer_size,
        "max_write_buffer_number": guide.max_write_buffer_number,
        "level0_file_num_compaction_trigger": COMPACTION_TRIGGER,
        "level0_slowdown_writes_trigger": guide.level0_slowdown_writes_trigger,
        "level0_stop_writes_trigger": guide.level0_stop_writes_trigger,
        "max_bytes_for_level_base": guide.max_bytes_for_level_base,
        "max_bytes_for_level_multiplier": float(MULTIPLIER),
        "target_file_size_base": guide.target_file_size_base,
        "num_levels": guide.num_levels,
        "level_compaction_dynamic_level_bytes": True,
        "compaction_style": "level",
        "compression_type": "none",
        "block_size": BLOCK_SIZE,
        "max_background_jobs": guide.max_background_jobs,
        "bytes_per_sync": BYTES_PER_SYNC,
        "enable_blob_files": True,
        "min_blob_size": 0,
        "blob_file_size": guide.vlogfile_max_size,
        "blob_compression_type": "lz4",
        "enable_blob_garbage_collection": True,
        "blob_garbage_collection_age_cutoff": REMAPPED_PERCENT / 100,
        "blob_garbage_collection_force_threshold": FRAGMENTED_PERCENT / 100,
        "blob_file_starting_level": 0,
        "cache_size": guide.cache_size,
    }


def rocksdb_text(guide: Guide) -> str:
    """The OPTIONS file for RocksDB 7.8 and later."""
    values = rocksdb_values(guide)
    parameters = [catalogue()[name] for name in values]
    options = write_values(OptionsFile(), values, parameters, scale=1)
    options = options.with_values(DB, {"max_open_files": "-1"})
    options = options.with_values(TABLE, {"pin_l0_filter_and_index_blocks_in_cache": "true"})
    without = ", ".join(WITHOUT_COUNTERPART)
    about = [
        *comments(guide),
        "Translated for RocksDB with integrated BlobDB: values are kept in blob files.",
        f"Nothing here does what these do in TRocksDB: {without}",
    ]
    return format_options(options, rocksdb_version=VERSION, comments=about)
