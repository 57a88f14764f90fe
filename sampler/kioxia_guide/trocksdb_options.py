"""The OPTIONS file for TRocksDB: what the guide computes, beside what it says to leave alone."""

from __future__ import annotations

from sampler.kioxia_guide.comments import comments
from sampler.kioxia_guide.guide import COMPACTION_TRIGGER, Guide
from sampler.kioxia_guide.levels import MULTIPLIER
from sampler.options.options_file import CF, DB, TABLE, OptionsFile, format_options

VERSION = "6.4.6"  # the RocksDB in TRocksDB t6.4.6.27, which the guide was tested with
BYTES_PER_SYNC = 8 * 2**20
BLOCK_SIZE = 8192
# Of the oldest value files, those whose live values a compaction moves to new ones.
REMAPPED_PERCENT = 20
# Of dead values in a value file, from which it is worth a compaction of its own.
FRAGMENTED_PERCENT = 25
# Preset: the values of TRocksDB's own example, tools/trocks_options.ini, commit e3c3f6e.
PRESET = {
    "allow_trivial_move": "false",
    "compaction_score_limit_L0": "1000.0",
    "vlogring_activation_level": "0",
    "min_indirect_val_size": "0",
    "fraction_remapped_during_compaction": str(REMAPPED_PERCENT),
    "fraction_remapped_during_active_recycling": "15",
    "fragmentation_active_recycling_trigger": str(FRAGMENTED_PERCENT),
    "fragmentation_active_recycling_klaxon": "50",
    "active_recycling_sst_minct": "5",
    "active_recycling_sst_maxct": "15",
    "active_recycling_vlogfile_freed_min": "7",
    "active_recycling_size_trigger": "1073741824",
    "compaction_picker_age_importance": "100",
    "ring_compression_style": "kLZ4Compression",
    "vlog_direct_IO": "false",
}


def trocksdb_text(guide: Guide) -> str:
    """The OPTIONS file for TRocksDB."""
    options = OptionsFile(
        {
            DB: {
                "max_background_jobs": str(guide.max_background_jobs),
                "bytes_per_sync": str(BYTES_PER_SYNC),
                "max_open_files": "-1",
            },
            CF: {
                "write_buffer_size": str(guide.write_buffer_size),
                "max_write_buffer_number": str(guide.max_write_buffer_number),
                "level0_file_num_compaction_trigger": str(COMPACTION_TRIGGER),
                "level0_slowdown_writes_trigger": str(guide.level0_slowdown_writes_trigger),
                "level0_stop_writes_trigger": str(guide.level0_stop_writes_trigger),
                "max_bytes_for_level_base": str(guide.max_bytes_for_level_base),
                "max_bytes_for_level_multiplier": str(MULTIPLIER),
                "target_file_size_base": str(guide.target_file_size_base),
                "num_levels": str(guide.num_levels),
                "level_compaction_dynamic_level_bytes": "true",
                "compaction_style": "kCompactionStyleLevel",
                "compression": "kNoCompression",
                "vlogfile_max_size": str(guide.vlogfile_max_size),
                **PRESET,
            },
            TABLE: {
                "block_size": str(BLOCK_SIZE),
                "pin_l0_filter_and_index_blocks_in_cache": "true",
            },
        }
    )
    about = [*comments(guide), f"For TRocksDB; db_bench there with --threads={guide.threads}"]
    return format_options(options, rocksdb_version=VERSION, comments=about)
