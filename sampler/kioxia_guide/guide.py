"""The guide's arithmetic: threads, files and buffers."""

from __future__ import annotations

from dataclasses import dataclass

from sampler.kioxia_guide.levels import MULTIPLIER, Level, levels_for
from sampler.kioxia_guide.planned import Planned

COMPACTION_TRIGGER = 4  # files in level 0; never another
# RocksDB lifts what is below the trigger up to it, and then every compaction begins with a stall.
LEAST_SLOWDOWN, LEAST_STOP = 2 * COMPACTION_TRIGGER, 3 * COMPACTION_TRIGGER
LEAST_BUFFERS = 2  # one is written while the other is flushed
# Of the memory that the memtables leave. The guide takes "about 100 GB" of 126 GB; the rest is
# for indexes, filters and the system.
_CACHE_SHARE = (4, 5)


@dataclass(frozen=True, kw_only=True)
class Guide:
    """What the guide recommends. Sizes are bytes.

    Attributes:
        planned: What it was asked for.
        key_files, value_files: The most files that hold keys (SSTs), and values (VLogs).
        keys_per_file: Keys in an SST, and values in a VLog.
        threads: Client threads that keep the machine busy: db_bench's ``--threads``.
        levels: The tree, down to the first level that holds what is planned.
    """

    planned: Planned
    key_files: int
    value_files: int
    keys_per_file: int
    max_background_jobs: int
    max_write_buffer_number: int
    level0_slowdown_writes_trigger: int
    level0_stop_writes_trigger: int
    write_buffer_size: int
    target_file_size_base: int
    max_bytes_for_level_base: int
    vlogfile_max_size: int
    cache_size: int
    threads: int
    levels: tuple[Level, ...]

    @property
    def memtables(self) -> int:
        """Bytes of all memtables together."""
        return self.write_buffer_size * self.max_write_buffer_number

    @property
    def num_levels(self) -> int:
        """RocksDB's option: level 0 counts, and more than are used cost nothing."""
        return max(7, len(self.levels) + 1)


def guide(planned: Planned) -> Guide:
    """Works it out: KIOXIA's guide, "Test Results and Analysis".

    With n hardware threads: n background jobs, n/4 + 1 write buffers, writes slowed at 3n/4 files
    in level 0 and stopped at n. With f open files: f/2 files of keys and f/2 of values, so
    keys / (f/2) keys in each. A file of keys has these times the key and its pointer; eight such
    files are level 1, and each level is eight times the one above. A write buffer holds one file
    of keys and one of values.

    Args:
        planned: The database and its machine.
    """
    threads = planned.cpu_threads
    files = planned.open_files // 2
    keys_per_file = -(-planned.keys // files)
    buffers = max(LEAST_BUFFERS, threads // 4 + 1)
    file_size = keys_per_file * planned.key_bytes
    buffer_size = keys_per_file * (planned.key_bytes + planned.value_size)
    left = max(0, planned.memory - buffer_size * buffers)
    return Guide(
        planned=planned,
        key_files=files,
        value_files=files,
        keys_per_file=keys_per_file,
        max_background_jobs=threads,
        max_write_buffer_number=buffers,
        level0_slowdown_writes_trigger=max(LEAST_SLOWDOWN, threads * 3 // 4),
        level0_stop_writes_trigger=max(LEAST_STOP, threads),
        write_buffer_size=buffer_size,
        target_file_size_base=file_size,
        max_bytes_for_level_base=MULTIPLIER * file_size,
        vlogfile_max_size=keys_per_file * planned.value_size,
        cache_size=left * _CACHE_SHARE[0] // _CACHE_SHARE[1],
        threads=threads,
        levels=levels_for(-(-planned.keys // keys_per_file), file_size),
    )
