"""Workloads as TOML: the shipped ones by name, and the user's own."""

import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import asdict, fields, replace
from functools import partial
from pathlib import Path
from typing import Any

from sampler.common.documents import (
    find_document,
    finite_number,
    name_in,
    names_a_file,
    parse_toml,
    refuse_unknown,
    switch_in,
)
from sampler.common.errors import InputError, noting, refuse_noted
from sampler.parameters.parameter import Value
from sampler.workload.db_bench_benchmarks import BenchmarkRun, fills, known_run, operations_of
from sampler.workload.measurable import SET_BY_ROCKTUNE, flag_problems, load_problems
from sampler.workload.workload import MOST_SECONDS, Command, Prepare, Trace, Workload

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
_FIFO = "fifo_bytes"
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
_FIELDS = {
    "name", "help", "benchmarks", "measured", *_INTEGERS, _FIFO, "compression_ratio", "settle",
    "flags", "timeout_seconds", "command", "external", "prepare", *_TRACE.values(),
}  # fmt: skip
_MOST = 2**63 - 1  # of db_bench's own numbers
_MOST_PACE = 1e9  # of fast_forward, and of a trace's seconds


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
        InputErrors: Several flags or benchmarks are wrong.
    """
    refuse_unknown(document, _FIELDS, "workload")
    name = name_in(document, "workload")
    known: dict[str, Any] = {"name": name, "help": str(document.get("help", ""))}
    if "external" in document:
        _refuse_beside(document, ("name", "help", "external"), "external")
        if document["external"] is not True:
            raise InputError("workload.external", "write true, or leave it out")
        return Workload(**known, external=True, settle="none", scale=1)
    if "command" in document:
        return _own_program(document, known)
    known |= {
        key: _integer(document, key, "workload") for key in (*_INTEGERS, _FIFO) if key in document
    }
    trace = _trace(document)
    whole = {"benchmarks": [_REPLAY if trace else "fillrandom"], **document}
    benchmarks, flags = _benchmarks_and_flags(whole, "workload", stored=stored)
    measured = _names(document.get("measured", list(benchmarks)), "workload.measured")
    for benchmark in measured:
        if benchmark not in benchmarks:
            raise InputError("workload.measured", f"{benchmark!r} is not listed in benchmarks")
    settle = document.get("settle", "wait")
    if settle not in ("wait", "flush", "none"):
        raise InputError("workload.settle", f"{settle!r} is not one of wait, flush, none")
    ratio = finite_number(given := document.get("compression_ratio", 0.5))
    if ratio is None or not 0 < ratio <= 1:
        problem = f"{given!r} is out of range; write a number above 0, up to 1"
        raise InputError("workload.compression_ratio", problem)
    workload = Workload(
        **known,
        benchmarks=benchmarks,
        measured=measured,
        settle=settle,
        compression_ratio=ratio,
        flags=flags,
        timeout_seconds=_seconds(document, "workload"),
        trace=trace,
    )
    _require_whole(flags, _COUNTS, "workload.flags")
    for name, value in flags:
        if name in _NUMBERS and (isinstance(value, bool | str) or not math.isfinite(value)):
            raise InputError(f"workload.flags.{name}", f"{value!r} is not a number")
    if "prepare" in document:
        prepare = _prepare(document["prepare"], workload, stored=stored)
        workload = replace(workload, prepare=prepare)
    _require_batches(workload.runs, workload.num, flags, "workload")
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
    also = [name for name in ("prepare", _FIFO) if getattr(workload, name)]
    document = _table(
        workload, "name", "help", *_INTEGERS, *also, "benchmarks", "measured",
        "compression_ratio", "settle", "flags", "timeout_seconds",
    )  # fmt: skip
    usual = asdict(Trace(path=""))
    trace = asdict(workload.trace) if workload.trace else usual
    return document | {_TRACE[of]: trace[of] for of in _TRACE if trace[of] != usual[of]}


def _trace(document: Mapping[str, Any]) -> Trace | None:
    path = document.get("trace")
    given = {of: document[name] for of, name in _TRACE.items() if name in document}
    if path is None:
        if given:
            field = _TRACE[next(iter(given))]
            raise InputError(f"workload.{field}", "has no effect without trace; leave it out")
        return None
    if not isinstance(path, str) or not path or "\0" in path:
        raise InputError("workload.trace", "write the path of a file written by DB::StartTrace")
    for of in ("fast_forward", "begin", "end"):
        number = finite_number(given.get(of, 1.0))
        if number is None or number < 0 or (number == 0 and of != "begin") or number > _MOST_PACE:
            least = "from 0" if of == "begin" else "above 0,"
            problem = f"{given[of]!r:.40} is not a number {least} up to {_MOST_PACE:,.0f}"
            raise InputError(f"workload.{_TRACE[of]}", problem)
    trace = Trace(**given)
    if trace.end is not None and trace.end <= trace.begin:
        raise InputError("workload.trace_until", f"{trace.end:g} is not after trace_from")
    return trace


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


def _own_program(document: Mapping[str, Any], known: Mapping[str, Any]) -> Workload:
    _refuse_beside(document, ("name", "help", "scale", "command"), "a [command]")
    table = document["command"]
    if not isinstance(table, dict):
        raise InputError("workload.command", "write a table [command] with argv")
    refuse_unknown(table, ("argv", "timeout_seconds"), "workload.command")
    argv = table.get("argv")
    if not isinstance(argv, list) or not argv or not all(isinstance(a, str) for a in argv):
        problem = "write a list of strings: the program and its arguments"
        raise InputError("workload.command.argv", problem)
    if any("\0" in argument for argument in argv) or not argv[0]:
        raise InputError("workload.command.argv", "has an empty program or a NUL character")
    command = Command(argv=tuple(argv), timeout_seconds=_seconds(table, "workload.command"))
    return Workload(
        **known,
        command=command,
        timeout_seconds=command.timeout_seconds,
        settle="none",
        scale=_integer({"scale": 1, **document}, "scale", "workload"),
    )


def _refuse_beside(document: Mapping[str, Any], known: Collection[str], beside: str) -> None:
    for key in document:
        if key not in known:
            raise InputError(f"workload.{key}", f"has no effect with {beside}; leave it out")


def _prepare(given: object, workload: Workload, *, stored: bool) -> Prepare:
    """The table ``[prepare]`` of a workload, which is given without it."""
    if not isinstance(given, dict):
        raise InputError("workload.prepare", "write a table [prepare] with benchmarks")
    refuse_unknown(given, ("benchmarks", "num", "threads", "flags", "share"), "workload.prepare")
    if "benchmarks" not in given:
        problem = 'name one that writes, such as ["fillrandom"]'
        raise InputError("workload.prepare.benchmarks", problem)
    share = switch_in(given, "share", "workload.prepare", default=True)
    emptying = [run.benchmark.name for run in workload.runs if run.benchmark.fresh]
    if emptying:
        problem = f"{emptying[0]!r} needs an empty database, so db_bench skips it after [prepare]"
        raise InputError("workload.benchmarks", f"{problem}; move it there")
    benchmarks, flags = _benchmarks_and_flags(given, "workload.prepare", stored=stored)
    _require_whole(flags, ("reads", "writes"), "workload.prepare.flags")
    sizes = {"num": workload.num, "threads": 1, **given}
    prepare = Prepare(
        benchmarks=benchmarks,
        num=_integer(sizes, "num", "workload.prepare"),
        threads=_integer(sizes, "threads", "workload.prepare"),
        flags=flags,
        share=share,
    )
    _require_batches(prepare.runs, prepare.num, prepare.flags, "workload.prepare")
    if not prepare.writes:
        problem = f"none of these is known to write; use {fills()}"
        raise InputError("workload.prepare.benchmarks", problem)
    return prepare


def _integer(table: Mapping[str, Any], key: str, where: str) -> int:
    """A whole number of at least 1, as db_bench can hold it."""
    given, field = table[key], f"{where}.{key}"
    if isinstance(given, bool) or not isinstance(given, int) or given < 1:
        raise InputError(field, f"{given!r:.80} is not a whole number of at least 1")
    if given > _MOST:
        raise InputError(field, f"is above db_bench's maximum, {_MOST}")
    return given


def _seconds(table: Mapping[str, Any], where: str) -> float:
    given = table.get("timeout_seconds", 600)
    number = finite_number(given)
    if number is None or not 0 < number < MOST_SECONDS:
        problem = f"{given!r} is out of range; write seconds above 0, below {MOST_SECONDS:,.0f}"
        raise InputError(f"{where}.timeout_seconds", problem)
    return number


def _benchmarks_and_flags(
    table: Mapping[str, Any], where: str, *, stored: bool
) -> tuple[tuple[str, ...], tuple[tuple[str, Value], ...]]:
    """Both of a process; of a stored job, which was taken before, names are taken as they are."""
    found: list[InputError] = []
    benchmarks: tuple[str, ...] = ()
    flags: tuple[tuple[str, Value], ...] = ()
    with noting(found):
        benchmarks = _names(table["benchmarks"], f"{where}.benchmarks")
        for text in () if stored else benchmarks:
            with noting(found):
                known_run(text, f"{where}.benchmarks")
    with noting(found):
        flags = _flags(table.get("flags", {}), f"{where}.flags", stored=stored)
    refuse_noted(found)
    return benchmarks, flags


def _names(given: object, field: str) -> tuple[str, ...]:
    if not isinstance(given, list) or not given or not all(isinstance(t, str) for t in given):
        raise InputError(field, "write a list of at least one string")
    for text in given:
        if not text or "," in text or text != text.strip():
            raise InputError(field, f"{text!r} is not the name of one benchmark")
    return tuple(given)


def _flags(given: object, where: str, *, stored: bool) -> tuple[tuple[str, Value], ...]:
    """Flags of db_bench that are not Rocktune's own, sorted by name.

    Those of a stored job that do nothing are taken as they are.
    """
    if not isinstance(given, dict):
        table = where.removeprefix("workload.")
        raise InputError(where, f"write a table [{table}] of flag = value")
    found: list[InputError] = []
    for name, value in given.items():
        with noting(found):
            _require_flag(name, value, where)
    percent = given.get("readwritepercent", 90)
    if isinstance(percent, bool) or not isinstance(percent, int) or not 0 <= percent <= 100:
        found.append(InputError(f"{where}.readwritepercent", f"{percent!r} is outside 0 to 100"))
    if not stored:
        found += flag_problems(given, where)
    refuse_noted(found)
    return tuple(sorted(given.items()))


def _require_flag(name: str, value: object, where: str) -> None:
    if not name.isidentifier():
        raise InputError(f"{where}.{name}", "is not a flag name; leave out the dashes")
    if name in SET_BY_ROCKTUNE:
        raise InputError(f"{where}.{name}", SET_BY_ROCKTUNE[name])
    if not isinstance(value, bool | int | float | str):
        raise InputError(f"{where}.{name}", "write a string, a number, true or false")
    if isinstance(value, int) and not -_MOST <= value <= _MOST:
        raise InputError(f"{where}.{name}", f"is outside db_bench's range, {-_MOST} to {_MOST}")


def _require_whole(flags: tuple[tuple[str, Value], ...], names: Sequence[str], where: str) -> None:
    for name, value in flags:
        if name in names and (isinstance(value, bool) or not isinstance(value, int)):
            raise InputError(f"{where}.{name}", f"{value!r} is not a whole number")


def _require_batches(
    runs: Sequence[BenchmarkRun], num: int, flags: tuple[tuple[str, Value], ...], where: str
) -> None:
    """Refuses writes in batches that are smaller than one: nothing would be written."""
    for run in runs:
        each = run.benchmark
        if each.loop in ("writes", "deletes") and not operations_of(each, num, dict(flags)):
            batch = each.batch or dict(flags).get("batch_size")
            problem = f"{each.name} writes whole batches of {batch} keys; raise it"
            raise InputError(f"{where}.num", problem)
