"""The values of the parameters that a user's OPTIONS file names, and what it says of memory."""

from __future__ import annotations

from sampler.options.caches import caches_of
from sampler.options.option_values import read_number, read_values
from sampler.options.options_file import CF, DB, OptionsFile
from sampler.parameters.catalogue import catalogue
from sampler.parameters.parameter import Value

# Facts of the file that are no parameters; see ``sampler.space.space.memory_bytes``.
MEMTABLE_LIMIT, OTHER_CACHES = "db_write_buffer_size", "other_caches"


def file_values(file: OptionsFile) -> dict[str, Value]:
    """The values of the parameters that a file in its normal form names, full scale."""
    values = read_values(file, catalogue().values(), scale=1)
    caches = caches_of(file)
    if caches.block is not None:
        values["cache_size"] = caches.block
    if caches.others:
        values[OTHER_CACHES] = caches.others
    limit = read_number(file.get(DB, MEMTABLE_LIMIT) or "", whole=True)
    if limit is not None and int(limit) > 0:
        values[MEMTABLE_LIMIT] = int(limit)
    return values


def file_limit(file: OptionsFile) -> int:
    """Bytes that all memtables together may hold where that is less than the buffers; else 0."""
    limit = int(read_number(file.get(DB, MEMTABLE_LIMIT) or "", whole=True) or 0)
    buffer = int(read_number(file.get(CF, "write_buffer_size") or "", whole=True) or 64 * 2**20)
    return limit if 0 < limit < buffer else 0
