"""The guide for a workload: settings to begin a search at."""

from dataclasses import replace

from sampler.common.errors import InputError
from sampler.kioxia_guide.document import rocksdb_values
from sampler.kioxia_guide.guide import (
    EXAMPLE_FILE,
    LEAST_BUFFERS,
    OPEN_FILES,
    Planned,
    compute_guide,
    files_of,
)
from sampler.rocksdb.parameters import Value
from sampler.workload.workload import Workload

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
