"""Flags and benchmarks that Rocktune does not measure with, each refused by name with a way out.

What is wrong is found before anything runs. A job that an earlier version stored is not asked
again: it ran, or failed, as it did.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from sampler.common.errors import InputError, refuse_noted
from sampler.options.option_facts import option_flags
from sampler.parameters.parameter import Value
from sampler.workload.db_bench_benchmarks import BenchmarkRun
from sampler.workload.filled_keys import operations_of
from sampler.workload.workload import Prepare, Workload

_OWN_DATABASE = (
    "is set by Rocktune, which never opens a database of yours: it measures in a folder of its "
    "own. Let [prepare] fill one like it (num, key_size and value_size as yours has them), or "
    "write a [command] workload that copies yours and runs db_bench on the copy"
)
_FIELDS = ("benchmarks", "num", "key_size", "value_size", "threads", "compression_ratio", "seed")
# Flags that cannot be given, and why.
SET_BY_ROCKTUNE = {
    "db": _OWN_DATABASE,
    "wal_dir": "is set by Rocktune, which keeps all that a run writes in one folder; leave it out",
    "use_existing_db": (
        "is set by Rocktune, which never opens a database of yours; [prepare] fills one that the "
        "benchmarks then use"
    ),
    **{name: f"is set by Rocktune; use the workload's own field {name}" for name in _FIELDS},
    "options_file": "is set by Rocktune; give your OPTIONS file as --baseline",
    "cache_size": "is set by Rocktune; it is a parameter of its own, of every space that names it",
    **dict.fromkeys(
        ("statistics", "histogram", "progress_reports"),
        "is set by Rocktune for every trial; leave it out",
    ),
}
_OUTSIDE = "names files outside of the trial's own folder; leave it out"
_TRACED = "is set by Rocktune; use the workload's own field {}"
_REFUSED = {
    **dict.fromkeys(
        ("block_cache_trace_file", "report_file", "backup_dir", "restore_dir",
         "truth_db", "secondary_path", "env_uri", "fs_uri", "hdfs"),
        _OUTSIDE,
    ),
    "trace_file": f"{_OUTSIDE}, or replay a trace: write trace = \"path\" in the workload",
    "trace_replay_fast_forward": _TRACED.format("fast_forward"),
    "trace_replay_threads": _TRACED.format("threads"),
    "num_multi_db": "Rocktune measures one database; leave it out, or use num_column_families",
    "use_blob_db": (
        "is the old BlobDB, whose files Rocktune does not count; write enable_blob_files=true in "
        '[CFOptions "default"] of an OPTIONS file for --baseline'
    ),
    "use_secondary_db": "reads a second database beside the one that is measured; leave it out",
    "readonly": "lets nothing be written, and RocksDB does not compact then; leave it out",
    "statistics_string": "takes the place of the statistics that are read; leave it out",
    "stats_level": "may leave out what is read; leave it out",
}  # fmt: skip
# What a load that comes over the network may hold; of its flags, those whose value is a word.
_SENT = (
    "name", "help", *_FIELDS, "benchmarks", "measured", "settle", "scale", "flags",
    "timeout_seconds", "prepare", "fifo_bytes",
)  # fmt: skip
_SENT_WORDS = (
    "column_family_distribution", "expire_style", "merge_operator", "value_size_distribution_type",
)  # fmt: skip
_WORD = re.compile(r"[A-Za-z0-9_,.:-]{1,200}")
_PLACE = re.compile(r"(file|path|dir|uri|env)$")
# A value at which the flag means nothing.
_OFF = (False, 0, 1, "")


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
            problem = "is an option of RocksDB, which db_bench ignores beside an OPTIONS file"
            if name == "bloom_bits":
                problem = "is an option of RocksDB, which every trial has in its OPTIONS file"
            yield InputError(f"{where}.{name}", f"{problem}; {options[name].instead(value)}")


def require_no_place(document: Mapping[str, Any]) -> None:
    """Refuses a document of a workload in which anything may name a program, a file or a place.

    Raises:
        InputErrors: Fields are such, or unknown; each is named.
    """
    instead = "the operator of the service puts such a workload into ROCKTUNE_WORKLOADS_DIR"
    found = [
        InputError(
            f"workload.{name:.80}",
            f"names a program or a file, or is unknown, and is not taken over HTTP; {instead}",
        )
        for name in document
        if name not in _SENT
    ]
    prepare = document.get("prepare")
    for where, table in (("workload", document), ("prepare", prepare)):
        flags = table.get("flags") if isinstance(table, Mapping) else None
        for name, value in flags.items() if isinstance(flags, Mapping) else ():
            word = name in _SENT_WORDS and _WORD.fullmatch(str(value))
            if _PLACE.search(name) or (isinstance(value, str) and not word):
                at = "flags" if where == "workload" else f"{where}.flags"
                problem = f"may name a file, and is not taken over HTTP; {instead}"
                found.append(InputError(f"{at}.{name:.80}", problem))
    refuse_noted(found)


def load_problems(workload: Workload) -> Iterator[InputError]:
    """What a load of db_bench, whose fields are right by themselves, asks for and cannot have."""
    flags = dict(workload.flags)
    prepare = workload.prepare
    yield from _replays(workload)
    yield from _needs(workload.runs, flags, "workload.benchmarks", "flags")
    if prepare:
        yield from _needs(prepare.runs, dict(prepare.flags), "prepare.benchmarks", "prepare.flags")
    for benchmark in (run.benchmark for run in workload.runs):
        operations = operations_of(benchmark, workload.num, flags)
        if benchmark.keys == "unique" and operations > workload.num:
            problem = f"{benchmark.name} has no more than num = {workload.num} keys"
            yield InputError("flags.writes", problem)
    if flags.get("use_existing_keys") and prepare is None:
        yield InputError("flags.use_existing_keys", "needs [prepare]: without it there are none")
    if flags.get("expire_style") == "compaction_filter":
        yield InputError(
            "flags.expire_style",
            "'compaction_filter' does nothing beside an OPTIONS file; write delete or none",
        )
    yield from _families(flags, prepare)
    if prepare is None and workload.writes_nothing:
        names = ", ".join(workload.benchmarks)
        yield InputError(
            "workload.benchmarks",
            f"{names} would read an empty database, for nothing writes before; add [prepare] "
            'with benchmarks = ["fillrandom"]',
        )


def _replays(workload: Workload) -> Iterator[InputError]:
    """A trace is all that is measured: its operations are told by the counters of the process."""
    prepared = workload.prepare.runs if workload.prepare else ()
    if any(run.benchmark.name == "replay" for run in prepared):
        yield InputError("prepare.benchmarks", "'replay' is measured; name what fills before it")
    asked = [run.benchmark.name for run in workload.runs]
    if workload.trace and workload.benchmarks != ("replay",):
        problem = "beside trace nothing else is measured; leave it out"
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
        yield InputError("flags.num_column_families", f"{asked!r} is not a whole number from 1 on")
        return
    given = dict(prepare.flags).get("num_column_families", asked) if prepare else asked
    if given != asked:
        yield InputError(
            "prepare.flags.num_column_families",
            f"is {given}, and that of [flags] is {asked}; RocksDB opens a database with all of "
            "its column families",
        )
