"""The guide's answer as JSON holds it: the same at the terminal and over HTTP."""

from dataclasses import asdict
from typing import Any

from sampler.kioxia_guide.cautions import guide_cautions
from sampler.kioxia_guide.guide import COMPACTION_TRIGGER, MULTIPLIER, Guide, whole
from sampler.kioxia_guide.options_files import rocksdb_text, rocksdb_values, trocksdb_text

TROCKSDB, ROCKSDB = "OPTIONS.trocksdb.ini", "OPTIONS.rocksdb.ini"


def settings(guide: Guide) -> dict[str, int]:
    """The settings that the guide tunes, by its own names, in the order in which it finds them."""
    return {
        "max_background_jobs": guide.max_background_jobs,
        "num_threads": guide.threads,
        "max_write_buffer_number": guide.max_write_buffer_number,
        "level0_file_num_compaction_trigger": COMPACTION_TRIGGER,
        "level0_slowdown_writes_trigger": guide.level0_slowdown_writes_trigger,
        "level0_stop_writes_trigger": guide.level0_stop_writes_trigger,
        "target_file_size_base": guide.target_file_size_base,
        "max_bytes_for_level_base": guide.max_bytes_for_level_base,
        "max_bytes_for_level_multiplier": MULTIPLIER,
        "vlogfile_max_size": guide.vlogfile_max_size,
        "write_buffer_size": guide.write_buffer_size,
        "cache_size": guide.cache_size,
    }


def guide_document(guide: Guide) -> dict[str, Any]:
    """Everything that was worked out, the text of both OPTIONS files included. Bytes."""
    files, size = whole(guide.levels)
    return {
        "planned": asdict(guide.planned),
        "settings": settings(guide),
        "files": {
            "keys": guide.key_files,
            "values": guide.value_files,
            "keys_per_file": guide.keys_per_file,
        },
        "memtables": guide.memtables,
        "levels": [
            {"level": each.number, "files": each.files, "bytes": each.size}
            for each in guide.levels
        ],
        "total": {"files": files, "bytes": size},
        "translated": rocksdb_values(guide),
        "warnings": [
            {"setting": each.setting, "text": each.text} for each in guide_cautions(guide)
        ],
        "options": {TROCKSDB: trocksdb_text(guide), ROCKSDB: rocksdb_text(guide)},
    }
