"""Workloads as TOML, the shipped ones and the user's own; what of a load can be measured.

Flags and benchmarks that Rocktune does not measure with are refused by name before anything runs.
A job that an earlier version stored is not checked again: it ran, or failed, as it did.

Space amplification divides by the bytes of live keys and values. Where keys are written in order
or drawn uniformly their number is known (``distinct_keys``), and a trial pays nothing for it.
Where some are deleted, merged, drawn in another way or of other sizes, db_bench reads the whole
database once more after the trial (``KeyCount``). RocksDB's own figures would not do: its estimate
of the number of keys and the entries of its tables count a key once in each level.
"""

import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import asdict, fields, replace
from functools import partial
from math import isfinite
from pathlib import Path
from typing import Any

from pydantic import TypeAdapter

from sampler.common.documents import (
    find_document,
    names_a_file,
    packaged_rows,
    parse_toml,
    read_document,
)
from sampler.common.errors import InputError, noting, refuse_noted
from sampler.rocksdb.option_facts import option_flags
from sampler.rocksdb.options_file import CF, OptionsFile
from sampler.rocksdb.parameters import Value
from sampler.workload.db_bench_benchmarks import (
    BenchmarkRun,
    fills,
    known_run,
    last_database,
    operations_of,
)
from sampler.workload.workload import MOST_COUNT, Command, Prepare, Trace, Workload

TRANSACTIONS = ("transaction_db", "optimistic_transaction_db")  # flags
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
SHIPPED = (
    "load-quick", "load", "overwrite-quick", "overwrite", "mixed-quick", "mixed-50-50",
    "deletes-quick", "deletes", "read-modify-write-quick", "read-modify-write", "merges-quick",
    "merges", "seeks-quick", "seeks", "prefix-seeks-quick", "prefix-seeks", "timeseries-quick",
    "timeseries", "multiget-quick", "multiget", "bulk-load-quick", "bulk-load", "bursts-quick",
    "bursts", "mixgraph-quick", "mixgraph",
    "kioxia-t2", "kioxia-t5", "samsung-80-20", "samsung-50-50", "rocksjava-fillseq",
    "rocksjava-readrandom", "rocksjava-readwhilewriting", "rocksjava-readseq", "read-quick",
    "readwhilewriting-quick", "sine", "warlo-command", "external",
)  # fmt: skip
# The TOML text of a shipped workload, or of the user's own file: see ``find_document``.
workload_text = partial(find_document, kind="workload", shipped=SHIPPED, package="sampler")
_INTEGERS = ("num", "key_size", "value_size", "threads", "scale", "seed")
_FIFO_BYTES = "fifo_bytes"
_COUNTS = (
    "reads", "duration", "writes", "deletes", "batch_size", "numdistinct", "transaction_sets",
    "mergereadpercent", "deletepercent", "value_size_min", "value_size_max",
)  # fmt: skip
_NUMBERS = (
    "mix_get_ratio", "mix_put_ratio", "mix_seek_ratio", "mix_max_value_size", "value_k",
    "value_sigma", "value_theta", "overwrite_probability",
)  # fmt: skip
# The fields of a trace, by those of ``Trace``.
_TRACE = {
    "path": "trace", "fast_forward": "fast_forward", "begin": "trace_from", "end": "trace_until",
}  # fmt: skip
_REPLAY = "replay"
# A load that db_bench does not run, and the fields that it may have beside its name and help.
_OWN = {"external": (), "command": ("scale",)}
_DOCUMENT, _TRACE_DOCUMENT = TypeAdapter(Workload), TypeAdapter(Trace)


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


def load_workload(given: str) -> Workload:
    """A shipped workload by name, or the user's own from a TOML file.

    A trace is looked for where the user stands, or else beside the file.

    Raises:
        InputError: There is none, or the file is wrong; the message names field and fix.
    """
    document = parse_toml(workload_text(given), field=f"workload {given}")
    workload = workload_from_document(document)
    if workload.trace is None:
        return workload
    path = workload.trace.path
    found = next((p for p in (path, Path(given).parent / path) if names_a_file(p)), None)
    if found is None:
        raise InputError("workload.trace", f"no such file: {path!r:.200}; give its path")
    return replace(workload, trace=replace(workload.trace, path=str(Path(found).absolute())))


def workload_from_document(document: Mapping[str, Any], *, stored: bool = False) -> Workload:
    """Builds a workload from a parsed document.

    One that is ``stored`` is of a job that was taken before, perhaps by an earlier version: what
    that did not refuse stays as it was.

    Raises:
        InputError: A field is unknown, missing, of the wrong type or out of range.
        InputErrors: Several are, or several flags or benchmarks are wrong.
    """
    for name in ("prepare", "command", "trace_until"):
        if name in document and document[name] is None:
            raise InputError(f"workload.{name}", "is null; leave it out")
    trace = _trace(document)
    arranged = {name: value for name, value in document.items() if name not in _TRACE.values()}
    if trace is not None:
        arranged |= {"trace": trace, "benchmarks": document.get("benchmarks", [_REPLAY])}
    for kind, beside in _OWN.items():
        if kind in document:
            if kind == "external" and document[kind] is not True:
                raise InputError("workload.external", "write true, or leave it out")
            for key in document:
                if key not in ("name", "help", *beside, kind):
                    named = "a [command]" if kind == "command" else kind
                    problem = f"has no effect with {named}; leave it out"
                    raise InputError(f"workload.{key}", problem)
            arranged = {"settle": "none", "scale": 1, **arranged}
    if isinstance(prepare := document.get("prepare"), dict):
        num = document.get("num")
        sound = isinstance(num, int) and num is not True and 1 <= num <= MOST_COUNT
        usual = num if sound else Workload.num  # a wrong one is told of the workload alone
        arranged["prepare"] = {"num": usual, **prepare}
    workload = read_document(_DOCUMENT, arranged, "workload", also=_TRACE.values())
    if workload.command:
        return replace(workload, timeout_seconds=workload.command.timeout_seconds)
    if workload.external:
        return workload
    if "measured" not in document:
        workload = replace(workload, measured=workload.benchmarks)
    for benchmark in workload.measured:
        if benchmark not in workload.benchmarks:
            raise InputError("workload.measured", f"{benchmark!r} is not listed in benchmarks")
    _require_sound(workload, "workload", (*_COUNTS, *_NUMBERS), stored=stored)
    if workload.prepare:
        _require_sound(workload.prepare, "workload.prepare", ("reads", "writes"), stored=stored)
        _require_prepared(workload, workload.prepare)
    _require_batches(workload, "workload")
    if not stored:
        refuse_noted(list(load_problems(workload)))
    return workload


def workload_document(workload: Workload) -> dict[str, Any]:
    """The document that defines a workload: the inverse of ``workload_from_document``."""
    if workload.command:
        return _table(workload, "name", "help", "scale", "command")
    if workload.external:
        return _table(workload, "name", "help", "external")
    # What has none keeps the document, and the digest, that it always had.
    also = [name for name in ("prepare", _FIFO_BYTES) if getattr(workload, name)]
    document = _table(
        workload, "name", "help", *_INTEGERS, *also, "benchmarks", "measured",
        "compression_ratio", "settle", "flags", "timeout_seconds",
    )  # fmt: skip
    usual = asdict(Trace(path=""))
    trace = asdict(workload.trace) if workload.trace else usual
    return document | {_TRACE[of]: trace[of] for of in _TRACE if trace[of] != usual[of]}


def _trace(document: Mapping[str, Any]) -> Trace | None:
    given = {name: document[name] for name in _TRACE.values() if name in document}
    if given and "trace" not in given:
        field = f"workload.{next(iter(given))}"
        raise InputError(field, "has no effect without trace; leave it out")
    return read_document(_TRACE_DOCUMENT, given, "workload") if given else None


def _table(of: Workload | Prepare | Command, *names: str) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for name in names or [each.name for each in fields(of)]:
        value = getattr(of, name)
        if isinstance(value, Prepare | Command):
            found[name] = _table(value)
        elif isinstance(value, tuple):
            found[name] = dict(value) if name == "flags" else list(value)
        else:
            found[name] = value
    return found


def _require_sound(
    process: Workload | Prepare, where: str, numbers: Collection[str], *, stored: bool
) -> None:
    """Refuses benchmarks and flags that are wrong, each of them named.

    Those of a stored job, which was taken before, are taken as they are.
    """
    found: list[InputError] = []
    for text in () if stored else process.benchmarks:
        with noting(found):
            known_run(text, f"{where}.benchmarks")
    flags = dict(process.flags)
    for name, value in flags.items():
        field, is_number = f"{where}.flags.{name}", not isinstance(value, bool | str)
        if name in SET_BY_ROCKTUNE:
            found.append(InputError(field, SET_BY_ROCKTUNE[name]))
        elif name in numbers and name in _NUMBERS:
            if not is_number or not isfinite(float(value)):
                found.append(InputError(field, f"{value!r} is not a number"))
        elif name in numbers and not (is_number and isinstance(value, int)):
            found.append(InputError(field, f"{value!r} is not a whole number"))
    percent = flags.get("readwritepercent", 90)
    if isinstance(percent, bool) or not isinstance(percent, int) or not 0 <= percent <= 100:
        found.append(
            InputError(f"{where}.flags.readwritepercent", f"{percent!r} is outside 0 to 100")
        )
    if not stored:
        found += flag_problems(flags, f"{where}.flags")
    refuse_noted(found)


def _require_prepared(workload: Workload, prepare: Prepare) -> None:
    """Refuses a preparation that writes nothing, and benchmarks that would undo it."""
    emptying = [run.benchmark.name for run in workload.runs if run.benchmark.fresh]
    if emptying:
        problem = f"{emptying[0]!r} needs an empty database, so db_bench skips it after [prepare]"
        raise InputError("workload.benchmarks", f"{problem}; move it there")
    _require_batches(prepare, "workload.prepare")
    if not prepare.writes:
        problem = f"none of these is known to write; use {fills()}"
        raise InputError("workload.prepare.benchmarks", problem)


def _require_batches(process: Workload | Prepare, where: str) -> None:
    """Refuses writes in batches that are smaller than one: nothing would be written."""
    flags = dict(process.flags)
    for run in process.runs:
        each = run.benchmark
        if each.loop in ("writes", "deletes") and not operations_of(each, process.num, flags):
            batch = each.batch or flags.get("batch_size")
            problem = f"{each.name} writes whole batches of {batch} keys; raise it"
            raise InputError(f"{where}.num", problem)
