"""Workloads as TOML: the shipped ones by name, and the user's own."""

from collections.abc import Collection, Mapping
from dataclasses import asdict, fields, replace
from functools import partial
from math import isfinite
from pathlib import Path
from typing import Any

from pydantic import TypeAdapter

from sampler.common.documents import find_document, names_a_file, parse_toml, read_document
from sampler.common.errors import InputError, noting, refuse_noted
from sampler.workload.db_bench_benchmarks import fills, known_run, operations_of
from sampler.workload.measurable import SET_BY_ROCKTUNE, flag_problems, load_problems
from sampler.workload.workload import MOST_COUNT, Command, Prepare, Trace, Workload

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
# A load that db_bench does not run, and the fields that it may have beside its name and help.
_OWN = {"external": (), "command": ("scale",)}
_DOCUMENT, _TRACE_DOCUMENT = TypeAdapter(Workload), TypeAdapter(Trace)


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
    also = [name for name in ("prepare", _FIFO) if getattr(workload, name)]
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
