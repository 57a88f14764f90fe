"""Where the guide itself says that it should not be followed blindly: warnings with a fix."""

from dataclasses import dataclass

from sampler.common.byte_size import format_decimal as said
from sampler.kioxia_guide.guide import COMPACTION_TRIGGER, LEAST_STOP, MULTIPLIER, Guide

MB = 10**6
MOST_LEVEL_BASE = 100 * MB
MOST_FILE = 12 * MB
MOST_VALUE = 10 * MB
EXAMPLE_FILE = 8 * MB  # of the guide's worked example
MOST_OPEN_FILES = 100_000  # RocksDB opens some more; 150,000 and more are slower
# column_family.cc, SanitizeOptions: larger and smaller write buffers are cut to these.
MOST_BUFFER, LEAST_BUFFER = 64 * 2**30, 64 * 2**10
_SMALL_FILE = MB  # ours: below it, files are mostly index and footer, and far too many


@dataclass(frozen=True)
class Caution:
    """A warning."""

    setting: str  # the setting that it is about, as the guide names it
    text: str  # what is wrong with it, and the fix


def guide_cautions(guide: Guide) -> tuple[Caution, ...]:
    """All that is to be said against these settings, the guide's own limits first."""
    planned, more, fewer = guide.planned, _more_files(guide), _fewer_files(guide)
    file, base = guide.target_file_size_base, guide.max_bytes_for_level_base
    buffer, all_buffers = said(guide.write_buffer_size), said(guide.memtables)
    cautions = (
        (base > MOST_LEVEL_BASE, "max_bytes_for_level_base",
         f"{said(base)} is over 100 MB: compactions get slow; {more}"),
        (file > MOST_FILE, "target_file_size_base",
         f"{said(file)} is over 12 MB, an eighth of what level 1 should hold at most; {more}"),
        (guide.memtables > planned.memory, "write_buffer_size",
         f"{guide.max_write_buffer_number} write buffers of {buffer} are {all_buffers}, beyond "
         f"the memory of {said(planned.memory)}: take fewer or smaller ones, each at least a file "
         "large"),
        (planned.value_size > MOST_VALUE, "write_buffer_size",
         f"values of {said(planned.value_size)} are over 10 MB: the guide is not for them; "
         "size the write buffers by the memory that there is"),
        (guide.write_buffer_size > MOST_BUFFER, "write_buffer_size",
         f"{buffer} is more than RocksDB takes: it cuts it to 64 GiB"),
        (planned.open_files > MOST_OPEN_FILES, "open_files",
         f"{planned.open_files:,} are over 100,000: many open files make everything slower"),
        (guide.write_buffer_size < LEAST_BUFFER, "write_buffer_size",
         f"{buffer} is less than RocksDB takes: it makes it 64 KiB; {fewer}"),
        (file < _SMALL_FILE, "target_file_size_base",
         f"{said(file)} is small: the database needs fewer files; {fewer}"),
        (planned.cpu_threads < LEAST_STOP, "level0_slowdown_writes_trigger",
         f"{planned.cpu_threads} CPU threads would slow or stop writes at hardly more files than "
         f"the compaction trigger, {COMPACTION_TRIGGER}: taken are "
         f"{guide.level0_slowdown_writes_trigger} and {guide.level0_stop_writes_trigger}"),
    )  # fmt: skip
    return tuple(Caution(setting, text) for told, setting, text in cautions if told)


def _more_files(guide: Guide) -> str:
    """The fix for large files: so many open files as make them small enough."""
    planned = guide.planned
    most = MOST_LEVEL_BASE // MULTIPLIER // planned.key_bytes
    needed = files_of(planned.keys, max(1, min(most, MOST_FILE // planned.key_bytes)))
    if needed > MOST_OPEN_FILES:
        return f"it would take {needed:,} open files, more than one database should have"
    return f"--open-files {needed} would do"


def _fewer_files(guide: Guide) -> str:
    """The fix for small files: so few open files as make them as large as in its example."""
    planned = guide.planned
    enough = files_of(planned.keys, max(1, EXAMPLE_FILE // planned.key_bytes))
    if enough >= planned.open_files:
        return "so small a database needs no guide"
    size = -(-planned.keys // (enough // 2)) * planned.key_bytes
    return f"--open-files {enough} makes them {said(size)}"


def files_of(keys: int, keys_per_file: int) -> int:
    """The open files, of keys and values together, with so many keys in each."""
    return 2 * -(-keys // keys_per_file)
