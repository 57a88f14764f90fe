"""KIOXIA's tuning guide for TRocksDB, worked out: from a database's size to its options.

The arithmetic goes from a database and a machine to threads, files, levels and buffers. With it
the cautions: where the guide itself says that it should not be followed blindly. The answer is
OPTIONS files, for TRocksDB and for RocksDB with BlobDB in place of VLogs, and all of it as JSON.

Source: T. Nelson and S. Harlin, Optimizing TRocksDB for Improved Performance, KIOXIA America.
The guide's megabytes are 10**6 bytes, and so are those here.
"""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from decimal import Decimal, InvalidOperation
from typing import Annotated, Any

from pydantic import BaseModel, Field, StringConstraints

from sampler.common.errors import InputError, noting, refuse_noted
from sampler.common.text import format_decimal as said
from sampler.common.text import parse_bytes
from sampler.rocksdb.option_values import write_values
from sampler.rocksdb.options_file import CF, DB, TABLE, OptionsFile, format_options
from sampler.rocksdb.parameters import Value, catalogue

OPEN_FILES = 80_000
# Of a value in the tree: a pointer into the value files, and what RocksDB adds to a key. BlobDB's
# is about as long: 8 bytes of sequence number and type, and 5 to 20 of file, offset and size.
POINTER_BYTES = 20
_MOST_KEYS = 10**15
_MOST_BYTES = 2**50
_MOST_THREADS = 4096
_MOST_FILES = 10**9
MULTIPLIER = 8  # files in level 1, and how many times larger each level is than the one above
COMPACTION_TRIGGER = 4  # files in level 0; never another
# RocksDB lifts what is below the trigger up to it, and then every compaction begins with a stall.
LEAST_SLOWDOWN, LEAST_STOP = 2 * COMPACTION_TRIGGER, 3 * COMPACTION_TRIGGER
LEAST_BUFFERS = 2  # one is written while the other is flushed
# Of the memory that the memtables leave. The guide takes "about 100 GB" of 126 GB; the rest is
# for indexes, filters and the system.
_CACHE_SHARE = (4, 5)
MB = 10**6
MOST_LEVEL_BASE = 100 * MB
MOST_FILE = 12 * MB
MOST_VALUE = 10 * MB
EXAMPLE_FILE = 8 * MB  # of the guide's worked example
MOST_OPEN_FILES = 100_000  # RocksDB opens some more; 150,000 and more are slower
# column_family.cc, SanitizeOptions: larger and smaller write buffers are cut to these.
MOST_BUFFER, LEAST_BUFFER = 64 * 2**30, 64 * 2**10
_SMALL_FILE = MB  # ours: below it, files are mostly index and footer, and far too many
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
# Settings that are options of RocksDB as they are.
_OF_SAME_NAME = (
    "write_buffer_size", "max_write_buffer_number", "level0_file_num_compaction_trigger",
    "level0_slowdown_writes_trigger", "level0_stop_writes_trigger", "max_bytes_for_level_base",
    "max_bytes_for_level_multiplier", "target_file_size_base",
)  # fmt: skip
WITHOUT_COUNTERPART = tuple(name for name in PRESET if name not in COUNTERPARTS)


@dataclass(frozen=True, kw_only=True)
class Planned:
    """A database and its machine."""

    keys: int  # pairs of key and value that it will hold
    # key_size, value_size: bytes of each, without what RocksDB adds.
    key_size: int
    value_size: int
    cpu_threads: int  # hardware threads, two a core where the cores have two
    memory: int  # bytes that memtables and block cache may take together, as a rule all there is
    open_files: int = OPEN_FILES  # files that may be open at once: half hold keys, half values

    @property
    def key_bytes(self) -> int:
        """Bytes of a key in the tree, with the pointer to its value."""
        return self.key_size + POINTER_BYTES


_Typed = Annotated[str, StringConstraints(max_length=40)]


class GuideRequest(BaseModel):
    """What the guide is asked: ``rocktune guide`` and ``GET /v1/guide``, as it is typed."""

    keys: _Typed = Field(description="Number of key-value pairs, such as 8e9.")
    key_size: _Typed = Field(description="Key size in bytes, such as 20.")
    value_size: _Typed = Field(description="Value size in bytes, such as 800 or 4KiB.")
    cpu_threads: _Typed = Field(description="Number of hardware threads, such as 48.")
    memory: _Typed = Field(description="Memory of the machine, such as 128GB or 64GiB.")
    open_files: _Typed = Field(
        default=str(OPEN_FILES), description="Limit of open files: half for keys, half for values."
    )


def read_planned(request: GuideRequest) -> Planned:
    """Reads whole numbers, also as ``8e9``, and sizes, as ``20`` or ``128GB``.

    Raises:
        InputError: One is not what it should be, or out of range.
        InputErrors: Several are.
    """
    found: list[InputError] = []
    read: dict[str, int] = {}
    counts = (
        ("keys", 1, _MOST_KEYS),
        ("cpu_threads", 1, _MOST_THREADS),
        ("open_files", 2, _MOST_FILES),
    )
    for name, least, most in counts:
        with noting(found):
            read[name] = _count(getattr(request, name), name, least, most)
    for name in ("key_size", "value_size", "memory"):
        with noting(found):
            read[name] = _bytes(getattr(request, name), name)
    refuse_noted(found)
    return Planned(**read)


def _count(text: str, field: str, least: int, most: int) -> int:
    try:
        number = Decimal(text.strip())
        # Compared before it is made whole: 1e999999 would take for ever.
        whole = number.is_finite() and number.adjusted() < 30 and number == int(number)
    except InvalidOperation:
        whole = False
    if not whole:
        raise InputError(field, f"{text!r:.40} is not a whole number; write it like 48 or 8e9")
    if not least <= number <= most:
        raise InputError(field, f"{text} is out of range, {least} to {most:,}")
    return int(number)


def _bytes(text: str, field: str) -> int:
    size = parse_bytes(text[:40], field=field)
    if not 1 <= size <= _MOST_BYTES:
        raise InputError(field, f"{text:.40} is out of range, 1 byte to 1024 TiB")
    return size


@dataclass(frozen=True)
class GuideLevel:
    """A full level."""

    level: int  # its number
    files: int
    bytes: int


def levels_for(files: int, file_size: int) -> tuple[GuideLevel, ...]:
    """Level 1 and those below it, down to the first with which all files of keys have room."""
    levels: list[GuideLevel] = []
    while whole(levels)[0] < files:
        number = len(levels) + 1
        levels.append(GuideLevel(number, MULTIPLIER**number, MULTIPLIER**number * file_size))
    return tuple(levels)


def whole(levels: Sequence[GuideLevel]) -> tuple[int, int]:
    """Files and bytes of all levels together, when they are full."""
    return sum(each.files for each in levels), sum(each.bytes for each in levels)


@dataclass(frozen=True, kw_only=True)
class Guide:
    """What the guide recommends. Sizes are bytes."""

    planned: Planned  # what it was asked for
    files: int  # the most files that hold keys (SSTs), and as many that hold values (VLogs)
    keys_per_file: int  # keys in an SST, and values in a VLog
    # The settings that it tunes, by its own names, in the order in which it finds them.
    # ``num_threads`` are client threads that keep the machine busy: db_bench's ``--threads``.
    settings: Mapping[str, int]
    levels: tuple[GuideLevel, ...]  # the tree, down to the first level that holds what is planned

    @property
    def memtables(self) -> int:
        """Bytes of all memtables together."""
        return self.settings["write_buffer_size"] * self.settings["max_write_buffer_number"]


def compute_guide(planned: Planned) -> Guide:
    """Works it out: KIOXIA's guide, "Test Results and Analysis".

    With n hardware threads: n background jobs, n/4 + 1 write buffers, writes slowed at 3n/4 files
    in level 0 and stopped at n. With f open files: f/2 files of keys and f/2 of values, so
    keys / (f/2) keys in each. A file of keys has these times the key and its pointer; eight such
    files are level 1, and each level is eight times the one above. A write buffer holds one file
    of keys and one of values.
    """
    threads = planned.cpu_threads
    files = planned.open_files // 2
    keys_per_file = -(-planned.keys // files)
    buffers = max(LEAST_BUFFERS, threads // 4 + 1)
    file_size = keys_per_file * planned.key_bytes
    values_size = keys_per_file * planned.value_size
    left = max(0, planned.memory - (file_size + values_size) * buffers)
    settings = {
        "max_background_jobs": threads,
        "num_threads": threads,
        "max_write_buffer_number": buffers,
        "level0_file_num_compaction_trigger": COMPACTION_TRIGGER,
        "level0_slowdown_writes_trigger": max(LEAST_SLOWDOWN, threads * 3 // 4),
        "level0_stop_writes_trigger": max(LEAST_STOP, threads),
        "target_file_size_base": file_size,
        "max_bytes_for_level_base": MULTIPLIER * file_size,
        "max_bytes_for_level_multiplier": MULTIPLIER,
        "vlogfile_max_size": values_size,
        "write_buffer_size": file_size + values_size,
        "cache_size": left * _CACHE_SHARE[0] // _CACHE_SHARE[1],
    }
    levels = levels_for(-(-planned.keys // keys_per_file), file_size)
    return Guide(
        planned=planned, files=files, keys_per_file=keys_per_file, settings=settings, levels=levels
    )


@dataclass(frozen=True)
class Caution:
    """A warning."""

    setting: str  # the setting that it is about, as the guide names it
    text: str  # what is wrong with it, and the fix


def guide_cautions(guide: Guide) -> tuple[Caution, ...]:
    """All that is to be said against these settings, the guide's own limits first."""
    planned, tuned = guide.planned, guide.settings
    more, fewer = _more_files(planned), _fewer_files(planned)
    file, base = tuned["target_file_size_base"], tuned["max_bytes_for_level_base"]
    size, buffers = tuned["write_buffer_size"], tuned["max_write_buffer_number"]
    slowdown, stop = (tuned[f"level0_{name}_writes_trigger"] for name in ("slowdown", "stop"))
    cautions = (
        (base > MOST_LEVEL_BASE, "max_bytes_for_level_base",
         f"{said(base)} is over 100 MB: compactions get slow; {more}"),
        (file > MOST_FILE, "target_file_size_base",
         f"{said(file)} is over 12 MB, an eighth of what level 1 should hold at most; {more}"),
        (guide.memtables > planned.memory, "write_buffer_size",
         f"{buffers} write buffers of {said(size)} are {said(guide.memtables)}, more than the "
         f"memory of {said(planned.memory)}: use fewer or smaller ones, each at least as large as "
         "a file"),
        (planned.value_size > MOST_VALUE, "write_buffer_size",
         f"values of {said(planned.value_size)} are over 10 MB, too large for the guide; "
         "size the write buffers by the available memory"),
        (size > MOST_BUFFER, "write_buffer_size",
         f"{said(size)} is above RocksDB's maximum; it uses 64 GiB"),
        (planned.open_files > MOST_OPEN_FILES, "open_files",
         f"{planned.open_files:,} is over 100,000: many open files slow everything down"),
        (size < LEAST_BUFFER, "write_buffer_size",
         f"{said(size)} is below RocksDB's minimum; it uses 64 KiB; {fewer}"),
        (file < _SMALL_FILE, "target_file_size_base",
         f"{said(file)} is small: the database needs fewer files; {fewer}"),
        (planned.cpu_threads < LEAST_STOP, "level0_slowdown_writes_trigger",
         f"with {planned.cpu_threads} CPU threads writes would slow or stop at hardly more files "
         f"than the compaction trigger, {COMPACTION_TRIGGER}; used instead: "
         f"{slowdown} and {stop}"),
    )  # fmt: skip
    return tuple(Caution(setting, text) for told, setting, text in cautions if told)


def _more_files(planned: Planned) -> str:
    """The fix for large files: so many open files as make them small enough."""
    most = MOST_LEVEL_BASE // MULTIPLIER // planned.key_bytes
    needed = files_of(planned.keys, max(1, min(most, MOST_FILE // planned.key_bytes)))
    if needed > MOST_OPEN_FILES:
        return f"this needs {needed:,} open files, more than one database should have"
    return f"use --open-files {needed}"


def _fewer_files(planned: Planned) -> str:
    """The fix for small files: so few open files as make them as large as in its example."""
    enough = files_of(planned.keys, max(1, EXAMPLE_FILE // planned.key_bytes))
    if enough >= planned.open_files:
        return "a database this small needs no guide"
    size = -(-planned.keys // (enough // 2)) * planned.key_bytes
    return f"--open-files {enough} makes them {said(size)}"


def files_of(keys: int, keys_per_file: int) -> int:
    """The open files, of keys and values together, with so many keys in each."""
    return 2 * -(-keys // keys_per_file)


def guide_document(guide: Guide) -> dict[str, Any]:
    """Everything that was worked out, the text of both OPTIONS files included. Bytes."""
    files, size = whole(guide.levels)
    return {
        "planned": asdict(guide.planned),
        "settings": dict(guide.settings),
        "files": {
            "keys": guide.files,
            "values": guide.files,
            "keys_per_file": guide.keys_per_file,
        },
        "memtables": guide.memtables,
        "levels": [asdict(each) for each in guide.levels],
        "total": {"files": files, "bytes": size},
        "translated": rocksdb_values(guide),
        "warnings": [asdict(each) for each in guide_cautions(guide)],
        "options": {TROCKSDB: trocksdb_text(guide), ROCKSDB: rocksdb_text(guide)},
    }


def comments(guide: Guide) -> list[str]:
    """What the file was computed for, and what no OPTIONS file can hold: a line each."""
    planned, cache = guide.planned, guide.settings["cache_size"]
    return [
        "Computed by Rocktune from KIOXIA's tuning guide for TRocksDB; not measured.",
        f"{planned.keys} keys of {planned.key_size} B, values of {planned.value_size} B, "
        f"{planned.cpu_threads} CPU threads, {planned.memory} B of memory, "
        f"{planned.open_files} open files",
        f"Set cache_size = {cache} in the application: no OPTIONS file can hold it",
        f"The process needs `ulimit -n` well above {planned.open_files}",
        *(f"Warning: {each.setting}: {each.text}" for each in guide_cautions(guide)),
    ]


def trocksdb_text(guide: Guide) -> str:
    """The OPTIONS file for TRocksDB."""
    values = {name: each for name, each in rocksdb_values(guide).items() if "blob" not in name}
    own = {"vlogfile_max_size": str(guide.settings["vlogfile_max_size"]), **PRESET}
    threads = f"--threads={guide.settings['num_threads']}"
    about = [*comments(guide), f"For TRocksDB; run its db_bench with {threads}"]
    options = _options(values).with_values(CF, own)
    return format_options(options, rocksdb_version=_TROCKSDB_VERSION, comments=about)


def rocksdb_values(guide: Guide) -> dict[str, Value]:
    """The translation by parameter of the catalogue, full scale.

    The block cache (``cache_size``) is among them, though no OPTIONS file can hold it.
    """
    tuned = guide.settings
    return {
        **{name: tuned[name] for name in _OF_SAME_NAME},
        "max_bytes_for_level_multiplier": float(MULTIPLIER),
        # Level 0 counts, and unused ones cost nothing.
        "num_levels": max(7, len(guide.levels) + 1),
        "level_compaction_dynamic_level_bytes": True,
        "compaction_style": "level",
        "compression_type": "none",
        "block_size": BLOCK_SIZE,
        "max_background_jobs": tuned["max_background_jobs"],
        "bytes_per_sync": BYTES_PER_SYNC,
        "enable_blob_files": True,
        "min_blob_size": 0,
        "blob_file_size": tuned["vlogfile_max_size"],
        "blob_compression_type": "lz4",
        "enable_blob_garbage_collection": True,
        "blob_garbage_collection_age_cutoff": REMAPPED_PERCENT / 100,
        "blob_garbage_collection_force_threshold": FRAGMENTED_PERCENT / 100,
        "blob_file_starting_level": 0,
        "cache_size": tuned["cache_size"],
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
