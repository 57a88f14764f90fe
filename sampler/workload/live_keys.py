"""Whether a formula tells which keys a load leaves, a scan must count them, or neither can.

Space amplification divides by the bytes of live keys and values. Where keys are written in order
or drawn uniformly their number is known (``filled_keys``), and an ordinary trial pays nothing for
it. Where some are deleted, merged, drawn in another way or of other sizes, db_bench reads the
whole database once more after the trial (``Counting``). RocksDB's own figures would not do:
``rocksdb.estimate-num-keys`` and the entries of its tables count a key once in each level.
"""

from collections.abc import Iterator, Mapping

from sampler.options.options_file import CF, OptionsFile
from sampler.parameters.parameter import Value
from sampler.workload.db_bench_benchmarks import last_database
from sampler.workload.workload import Workload

# Flags that change which keys are left, or how large values are, whatever the benchmark.
_SHAPING = (
    "overwrite_probability", "disposable_entries_batch_size", "persistent_entries_batch_size",
    "writes_per_range_tombstone", "max_num_range_tombstones", "use_existing_keys",
    "num_hot_column_families",
)  # fmt: skip
_KEY_BYTES = 8  # of a key's number (db_bench_tool.cc, GenerateKeyFromInt)
_FIFO = "kCompactionStyleFIFO"


def why_counted(workload: Workload, options: OptionsFile | None = None) -> str:
    """Why no formula tells which keys a load of db_bench leaves; empty where one does.

    The OPTIONS file of a trial counts, if it is known by now: FIFO compaction drops keys.
    """
    return next(_reasons(workload, options), "")


def why_untold(workload: Workload) -> str:
    """Why not even a scan can tell which keys a load leaves; empty where that is known.

    db_bench's ``readseq`` reads the default column family alone.
    """
    if not workload.by_db_bench or workload.column_families == 1:
        return ""
    reason = why_counted(workload)
    if not reason:
        return ""
    return (
        f"{reason}, and db_bench cannot count the keys left in {workload.column_families} column "
        "families"
    )


def _reasons(workload: Workload, options: OptionsFile | None) -> Iterator[str]:
    prepared = workload.prepare
    before = last_database(prepared.runs) if prepared else []
    for run in (*last_database(workload.runs), *before):
        if run.benchmark.keys == "counted":
            yield f"no formula gives the keys that {run.benchmark.name} leaves"
    for given in (workload.flags, prepared.flags if prepared else ()):
        yield from _of_flags(dict(given), workload.key_size, workload.num)
    if options is not None and options.get(CF, "compaction_style") in (_FIFO, "2"):
        yield "FIFO compaction drops the oldest tables"


def _of_flags(flags: Mapping[str, Value], key_size: int, num: int) -> Iterator[str]:
    for name in _SHAPING:
        if flags.get(name):
            yield f"no formula gives the keys left with the flag {name}"
    if flags.get("value_size_distribution_type", "fixed") != "fixed":
        yield "values have different sizes with the flag value_size_distribution_type"
    prefix = int(flags.get("prefix_size", 0)) if flags.get("keys_per_prefix") else 0
    if 256 ** max(0, min(key_size - prefix, _KEY_BYTES)) < num:
        yield "the keys are too short for num different keys"
