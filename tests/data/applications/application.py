"""An application in Python (rocksdict): the databases of application.c, as far as it can.

python application.py FOLDER BITS [prefix|partitioned|families]; 0 bits: no filter
"""

import sys

from rocksdict import (
    BlockBasedIndexType,
    BlockBasedOptions,
    Cache,
    Options,
    Rdict,
    SliceTransform,
)


def options_of(cache, bits, how):
    options, table = Options(raw_mode=True), BlockBasedOptions()
    options.create_if_missing(True)
    options.create_missing_column_families(True)
    options.set_write_buffer_size(1 << 20)
    options.set_target_file_size_base(1 << 20)
    options.set_max_bytes_for_level_base(2 << 20)
    table.set_block_cache(cache)
    if bits:
        table.set_bloom_filter(bits, False)
    if how == "prefix":  # beside whole keys: rocksdict cannot leave those out
        options.set_prefix_extractor(SliceTransform.create_fixed_prefix(8))
    if how == "partitioned":
        table.set_index_type(BlockBasedIndexType.two_level_index_search())
        table.set_partition_filters(True)
    options.set_block_based_table_factory(table)
    return options


def main(folder, bits, how=""):
    cache = Cache(64 << 20)
    own = {"default": options_of(cache, bits, how)}
    if how == "families":
        own |= {"users": options_of(cache, bits // 2, how), "events": options_of(cache, 0, how)}
    db = Rdict(folder, own["default"], own)
    handles = [db if name == "default" else db.get_column_family(name) for name in own]
    seed = 1
    for i in range(30000 * len(handles)):
        seed = (seed * 6364136223846793005 + 1442695040888963407) % 2**64
        value = bytes(33 + (seed >> (j % 50)) % 90 for j in range(100))
        handles[i % len(handles)][f"{(seed >> 33) % 50000:08x}{0:08d}".encode()] = value
    for handle in handles:
        handle.flush()
        handle.compact_range(None, None)
    for handle in handles[1:]:
        handle.close()
    db.close()


main(sys.argv[1], int(sys.argv[2]), *sys.argv[3:])
