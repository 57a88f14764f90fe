"""What of a load can be measured, and why the rest cannot, each reason in words.

Flags and benchmarks that Rocktune does not measure with are refused by name before anything runs.
A job that an earlier version stored is not checked again: it ran, or failed, as it did.

Space amplification divides by the bytes of live keys and values. Where keys are written in order
or drawn uniformly their number is known (``distinct_keys``), and a trial pays nothing for it.
Where some are deleted, merged, drawn in another way or of other sizes, db_bench reads the whole
database once more after the trial (``KeyCount``). RocksDB's own figures would not do: its estimate
of the number of keys and the entries of its tables count a key once in each level.

Reads of the tree are measured after a load that writes: what is tuned for writes alone may pay
with reads, as universal compaction, many files in level 0 and large blocks do.
"""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from sampler.common.documents import packaged_rows
from sampler.common.errors import InputError, refuse_noted
from sampler.rocksdb.option_facts import option_flags
from sampler.rocksdb.options_file import CF, OptionsFile
from sampler.rocksdb.parameters import Value
from sampler.workload.db_bench_benchmarks import BenchmarkRun, last_database, operations_of
from sampler.workload.workload import Prepare, Workload

# The metric of each kind of read, in operations a second, and db_bench's benchmark of it.
KINDS = {"read_present": "readrandom", "read_absent": "readmissing", "scan_short": "seekrandom"}
COLD = "_cold"  # the same from the device: nothing of the tree is in the page cache
UNTOLD = "{} is not measured: "  # begins a trial's warning on the metric
TRANSACTIONS = ("transaction_db", "optimistic_transaction_db")  # flags
READS = (*KINDS, *(kind + COLD for kind in KINDS))
MOST_THREADS = 1024  # of clients; the shipped loads have at most 32
# Flags that change which keys are left, or how large values are, whatever the benchmark.
_SHAPING = (
    "overwrite_probability", "disposable_entries_batch_size", "persistent_entries_batch_size",
    "writes_per_range_tombstone", "max_num_range_tombstones", "use_existing_keys",
    "num_hot_column_families",
)  # fmt: skip
_KEY_BYTES = 8  # of a key's number (db_bench_tool.cc, GenerateKeyFromInt)
_FIFO = "kCompactionStyleFIFO"
# Flags that cannot be given, and why: those that Rocktune sets itself, and others.
_ROWS = list(packaged_rows("sampler.workload", "refused_flags.csv"))
SET_BY_ROCKTUNE = {row["flag"]: row["problem"] for row in _ROWS if row["by_rocktune"]}
_REFUSED = {row["flag"]: row["problem"] for row in _ROWS if not row["by_rocktune"]}
# What a load that comes over the network may hold; of its flags, those whose value is a word.
_SENT = (
    "name", "help", "benchmarks", "num", "key_size", "value_size", "threads", "compression_ratio",
    "seed", "measured", "settle", "scale", "flags", "timeout_seconds", "prepare", "fifo_bytes",
)  # fmt: skip
_SENT_WORDS = (
    "column_family_distribution", "expire_style", "merge_operator", "value_size_distribution_type",
)  # fmt: skip
_WORD = re.compile(r"[A-Za-z0-9_,.:-]{1,200}")
_PLACE = re.compile(r"(file|path|dir|uri|env)$")
# A value at which the flag means nothing.
_OFF = (False, 0, 1, "")


def why_unread(workload: Workload) -> str:
    """Why reads of the tree that a load leaves are not measured; empty where they are."""
    if workload.command is not None:
        return "your own command measures, and only it knows the data that it leaves"
    if workload.external:
        return "your own runner measures, outside Rocktune"
    if workload.trace is not None:
        return "db_bench reads its own keys, and a trace has others"
    if workload.writes_nothing:
        return "the load only reads, so its own metrics measure reads"
    if workload.column_families > 1:
        return "db_bench reads only one column family of a database opened read-only"
    if any(dict(workload.flags).get(name) for name in TRANSACTIONS):
        return "db_bench's reads fail on a transaction database"  # ReadRandom, 7.8.3
    return ""


def why_read_untold(metric: str, warnings: Iterable[str]) -> str:
    """Why a read was not told, of the warnings of trials; empty where none says so."""
    begins = UNTOLD.format(metric), f"{metric} is not told: "  # the latter in older results
    return next((line.partition(": ")[2] for line in warnings if line.startswith(begins)), "")


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


def flag_problems(flags: Mapping[str, Value], where: str) -> Iterator[InputError]:
    """Flags that do nothing beside an OPTIONS file, or lead outside."""
    options = option_flags()
    for name, value in flags.items():
        if name in SET_BY_ROCKTUNE:
            continue  # refused when it is read
        if name in _REFUSED and not (name == "num_multi_db" and value in _OFF):
            yield InputError(f"{where}.{name}", _REFUSED[name])
        # They are looked at all the same: one shapes keys (GenerateKeyFromInt), the other Rocktune
        # writes into the OPTIONS file of a trial.
        shaping = name == "prefix_size" and flags.get("keys_per_prefix")
        if name in options and not shaping and name != "merge_operator":
            problem = "is a RocksDB option, which db_bench ignores when it reads an OPTIONS file"
            if name == "bloom_bits":
                problem = "is a RocksDB option, which every trial sets in its OPTIONS file"
            yield InputError(f"{where}.{name}", f"{problem}; {options[name].instead(value)}")


def require_no_place(document: Mapping[str, Any]) -> None:
    """Refuses a document of a workload in which anything may name a program, a file or a place.

    Raises:
        InputErrors: Fields are such, or unknown; each is named.
    """
    instead = "ask the operator to put such a workload into ROCKTUNE_WORKLOADS_DIR"
    problem = f"names a program or a file, or is unknown: not accepted over HTTP; {instead}"
    unknown = (name for name in document if name not in _SENT)
    found = [InputError(f"workload.{name:.80}", problem) for name in unknown]
    problem = f"may name a file: not accepted over HTTP; {instead}"
    found += [InputError(f"{field:.99}", problem) for field, _ in flags_with_places(document)]
    refuse_noted(found)


def flags_with_places(document: Mapping[str, Any]) -> Iterator[tuple[str, object]]:
    """The flags of a workload's document that may name a file, with their values.

    Each as the field of the document, ``workload.flags.report_file``.
    """
    for at, table in (("workload", document), ("workload.prepare", document.get("prepare"))):
        flags = table.get("flags") if isinstance(table, Mapping) else None
        for name, value in flags.items() if isinstance(flags, Mapping) else ():
            word = name in _SENT_WORDS and _WORD.fullmatch(str(value))
            if _PLACE.search(name) or (isinstance(value, str) and not word):
                yield f"{at}.flags.{name}", value


def load_problems(workload: Workload) -> Iterator[InputError]:
    """What a load of db_bench, whose fields are right by themselves, asks for and cannot have."""
    flags = dict(workload.flags)
    prepare = workload.prepare
    for field, asked in (("threads", workload), ("prepare.threads", prepare)):
        if asked and asked.threads > MOST_THREADS:
            fix = f"each is a thread of the operating system; write at most {MOST_THREADS:,}"
            yield InputError(f"workload.{field}", f"{asked.threads:,}: {fix}")
    yield from _replays(workload)
    yield from _needs(workload.runs, flags, "workload.benchmarks", "flags")
    if prepare:
        yield from _needs(
            prepare.runs, dict(prepare.flags), "workload.prepare.benchmarks", "prepare.flags"
        )
    for benchmark in (run.benchmark for run in workload.runs):
        operations = operations_of(benchmark, workload.num, flags)
        if benchmark.keys == "unique" and operations > workload.num:
            problem = f"{benchmark.name} writes at most num = {workload.num} keys"
            yield InputError("workload.flags.writes", problem)
    if flags.get("use_existing_keys") and prepare is None:
        yield InputError(
            "workload.flags.use_existing_keys", "needs [prepare]: without it no keys exist"
        )
    if flags.get("expire_style") == "compaction_filter":
        problem = "'compaction_filter' has no effect with an OPTIONS file; write delete or none"
        yield InputError("workload.flags.expire_style", problem)
    yield from _families(flags, prepare)
    if prepare is None and workload.writes_nothing:
        names = ", ".join(workload.benchmarks)
        yield InputError(
            "workload.benchmarks",
            f"{names} would read an empty database; add [prepare] with benchmarks = "
            '["fillrandom"]',
        )


def _replays(workload: Workload) -> Iterator[InputError]:
    prepared = workload.prepare.runs if workload.prepare else ()
    if any(run.benchmark.name == "replay" for run in prepared):
        yield InputError(
            "workload.prepare.benchmarks", "'replay' is measured; name one that writes"
        )
    asked = [run.benchmark.name for run in workload.runs]
    if workload.trace and workload.benchmarks != ("replay",):
        problem = "no other benchmark is measured with trace; leave it out"
        yield InputError("workload.benchmarks", problem)
    if not workload.trace and "replay" in asked:
        problem = "'replay' needs a trace; write trace = \"path\" in the workload"
        yield InputError("workload.benchmarks", problem)


def _needs(
    runs: Sequence[BenchmarkRun], flags: Mapping[str, Value], field: str, where: str
) -> Iterator[InputError]:
    for run in runs:
        missing = [name for name in run.benchmark.needs if not flags.get(name)]
        if missing:
            example = {"merge_operator": '"put"', "row_cache_size": "8388608"}
            given = " and ".join(f"{name} = {example.get(name, 'true')}" for name in missing)
            yield InputError(field, f"{run.benchmark.name} needs {given} in [{where}]")


def _families(flags: Mapping[str, Value], prepare: Prepare | None) -> Iterator[InputError]:
    """Column families must be the same in both processes: RocksDB opens a database with all."""
    asked = flags.get("num_column_families", 1)
    if isinstance(asked, bool) or not isinstance(asked, int) or asked < 1:
        yield InputError(
            "workload.flags.num_column_families", f"{asked!r} is not a whole number above 0"
        )
        return
    given = dict(prepare.flags).get("num_column_families", asked) if prepare else asked
    if given != asked:
        problem = f"is {given}, but {asked} in [flags]; write one number in both, as RocksDB opens"
        yield InputError(
            "workload.prepare.flags.num_column_families", f"{problem} all column families"
        )
