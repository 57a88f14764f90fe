"""Flags and benchmarks that Rocktune does not measure with, each refused by name with a way out.

What is wrong is found before anything runs. A job that an earlier version stored is not asked
again: it ran, or failed, as it did.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from sampler.common.documents import packaged_rows
from sampler.common.errors import InputError, refuse_noted
from sampler.options.option_facts import option_flags
from sampler.parameters.parameter import Value
from sampler.workload.db_bench_benchmarks import BenchmarkRun
from sampler.workload.filled_keys import operations_of
from sampler.workload.workload import Prepare, Workload

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
