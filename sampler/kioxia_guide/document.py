"""The guide's answer: OPTIONS files, all of it as JSON, and settings to begin a search at.

The files are for TRocksDB, and for RocksDB with BlobDB in place of VLogs.
"""

from collections.abc import Mapping
from dataclasses import asdict, replace
from typing import Any

from sampler.common.errors import InputError
from sampler.kioxia_guide.guide import (
    COMPACTION_TRIGGER,
    EXAMPLE_FILE,
    LEAST_BUFFERS,
    MULTIPLIER,
    OPEN_FILES,
    Guide,
    Planned,
    compute_guide,
    files_of,
    guide_cautions,
    whole,
)
from sampler.rocksdb.option_values import write_values
from sampler.rocksdb.options_file import CF, DB, TABLE, OptionsFile, format_options
from sampler.rocksdb.parameters import Value, catalogue
from sampler.workload.workload import Workload

TROCKSDB, ROCKSDB = "OPTIONS.trocksdb.ini", "OPTIONS.rocksdb.ini"
_TROCKSDB_VERSION = "6.4.6"  # the RocksDB in TRocksDB t6.4.6.27, which the guide was tested with
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
_ROCKSDB_VERSION = "7.8.3"
# TRocksDB's option, and what does the same in BlobDB. Shown on the page and at the terminal.
COUNTERPARTS = {
    "vlogring_activation_level": "blob_file_starting_level",
    "min_indirect_val_size": "min_blob_size",
    "vlogfile_max_size": "blob_file_size",
    "ring_compression_style": "blob_compression_type",
    "fraction_remapped_during_compaction": "blob_garbage_collection_age_cutoff",
    "fragmentation_active_recycling_trigger": "blob_garbage_collection_force_threshold",
}
WITHOUT_COUNTERPART = tuple(name for name in PRESET if name not in COUNTERPARTS)


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
        "warnings": [asdict(each) for each in guide_cautions(guide)],
        "options": {TROCKSDB: trocksdb_text(guide), ROCKSDB: rocksdb_text(guide)},
    }


def comments(guide: Guide) -> list[str]:
    """What the file was computed for, and what no OPTIONS file can hold: a line each."""
    planned = guide.planned
    return [
        "Computed by Rocktune from KIOXIA's tuning guide for TRocksDB; not measured.",
        f"{planned.keys} keys of {planned.key_size} B, values of {planned.value_size} B, "
        f"{planned.cpu_threads} CPU threads, {planned.memory} B of memory, "
        f"{planned.open_files} open files",
        f"Set cache_size = {guide.cache_size} in the application: no OPTIONS file can hold it",
        f"The process needs `ulimit -n` well above {planned.open_files}",
        *(f"Warning: {each.setting}: {each.text}" for each in guide_cautions(guide)),
    ]


def trocksdb_text(guide: Guide) -> str:
    """The OPTIONS file for TRocksDB."""
    values = rocksdb_values(guide)
    options = _options({name: value for name, value in values.items() if "blob" not in name})
    options = options.with_values(
        CF, {"vlogfile_max_size": str(guide.vlogfile_max_size), **PRESET}
    )
    about = [*comments(guide), f"For TRocksDB; run its db_bench with --threads={guide.threads}"]
    return format_options(options, rocksdb_version=_TROCKSDB_VERSION, comments=about)


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
    without = ", ".join(WITHOUT_COUNTERPART)
    about = [
        *comments(guide),
        "Translated for RocksDB with integrated BlobDB: values are kept in blob files.",
        f"TRocksDB options without a counterpart here: {without}",
    ]
    options = _options(rocksdb_values(guide))
    return format_options(options, rocksdb_version=_ROCKSDB_VERSION, comments=about)


def _options(values: Mapping[str, Value]) -> OptionsFile:
    parameters = [catalogue()[name] for name in values]
    options = write_values(OptionsFile(), values, parameters, scale=1)
    options = options.with_values(DB, {"max_open_files": "-1"})
    return options.with_values(TABLE, {"pin_l0_filter_and_index_blocks_in_cache": "true"})


NAME = "guide"
HELP = "KIOXIA's tuning guide, computed for the workload; guide:48 for a host with 48 CPU threads"
SOURCE = (
    "KIOXIA, Optimizing TRocksDB for Improved Performance; rocktune guide, "
    "docs/explanation/kioxia-guide.md"
)
_MOST_THREADS = 4096
# For keys alone: with the values among them such files and levels would be far too small, and
# the values, which TRocksDB compresses in their own files, would not be compressed at all.
_FOR_KEYS_ALONE = ("target_file_size_base", "max_bytes_for_level_base", "compression_type")


def names_guide(name: str) -> bool:
    """Whether a starting point's name means the guide: ``guide``, or ``guide:`` and a number."""
    return name == NAME or name.startswith(f"{NAME}:")


def named_threads(name: str, *, field: str = "start_from") -> int | None:
    """The CPU threads in ``guide:48``; None in ``guide``.

    Raises:
        InputError: What follows the colon is no number of threads.
    """
    _, colon, text = name.partition(":")
    if not colon:
        return None
    if not (text.isascii() and text.isdecimal() and 1 <= int(text[:6]) <= _MOST_THREADS):
        raise InputError(field, f"{name!r:.40} has no number of threads; write it like guide:48")
    return int(text)


def with_threads(name: str, threads: int) -> str:
    """The name with so many CPU threads in it, unless it has some."""
    return f"{NAME}:{threads}" if name == NAME else name


def planned_for(workload: Workload, *, cpu_threads: int, memory: int | None) -> Planned:
    """The database that a workload of db_bench stands for, at full scale.

    A workload at scale 64 has a 64th of the keys. There are so few open files that each file of
    keys is 8 MB, as in the guide's example, 80,000 at most; and so many that two write buffers,
    which hold a file each, fit into the memory (None: no bound). More of them may not: a starting
    point is given fewer write buffers before smaller ones.
    """
    planned = Planned(
        keys=workload.num * workload.scale,
        key_size=workload.key_size,
        value_size=workload.value_size,
        cpu_threads=cpu_threads,
        memory=2**62 if memory is None else memory,
    )
    pair = planned.key_bytes + planned.value_size
    fitting = planned.memory // LEAST_BUFFERS // pair
    keys_per_file = max(1, min(EXAMPLE_FILE // planned.key_bytes, fitting))
    return replace(planned, open_files=min(OPEN_FILES, files_of(planned.keys, keys_per_file)))


def guide_values(
    workload: Workload, *, cpu_threads: int, memory: int | None, separating: bool
) -> dict[str, Value]:
    """The guide's settings for a workload, by parameter, full scale.

    The block cache is left where it is, as by every starting point. Where keys and values cannot
    be kept apart (``separating``), what is meant for keys alone (sizes of files and levels, the
    codec) is left out, and so is what concerns values. For the rest see ``planned_for``.
    """
    planned = planned_for(workload, cpu_threads=cpu_threads, memory=memory)
    values = rocksdb_values(compute_guide(planned))
    left = {"cache_size"}
    if not separating:
        left |= {*_FOR_KEYS_ALONE, *(name for name in values if "blob" in name)}
    return {name: value for name, value in values.items() if name not in left}
