"""Workloads as TOML: the shipped ones by name, and the user's own."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

from sampler.common.documents import find_document, parse_toml, refuse_unknown
from sampler.common.errors import InputError, noting, refuse_noted
from sampler.parameters.parameter import Value
from sampler.workload.db_bench_benchmarks import BenchmarkRun, fills, known_run
from sampler.workload.filled_keys import operations_of
from sampler.workload.measurable import flag_problems, load_problems, own_flag
from sampler.workload.workload import MOST_SECONDS, Command, Prepare, Settle, Workload

SHIPPED = (
    "load-quick", "load", "overwrite-quick", "overwrite", "mixed-quick", "mixed-50-50",
    "kioxia-t2", "kioxia-t5", "samsung-80-20", "samsung-50-50", "rocksjava-fillseq",
    "rocksjava-readrandom", "rocksjava-readwhilewriting", "rocksjava-readseq", "read-quick",
    "readwhilewriting-quick", "sine", "warlo-command", "external",
)  # fmt: skip
# The TOML text of a shipped workload, or of the user's own file: see ``find_document``.
workload_text = partial(find_document, kind="workload", shipped=SHIPPED, package="sampler")
_INTEGERS = ("num", "key_size", "value_size", "threads", "scale", "seed")
_COUNTS = (
    "reads", "duration", "writes", "deletes", "batch_size", "numdistinct", "transaction_sets",
    "mergereadpercent", "deletepercent", "value_size_min", "value_size_max",
)  # fmt: skip
_NUMBERS = (
    "mix_get_ratio", "mix_put_ratio", "mix_seek_ratio", "mix_max_value_size", "value_k",
    "value_sigma", "value_theta", "overwrite_probability",
)  # fmt: skip
_FIELDS = {
    "name", "help", "benchmarks", "measured", *_INTEGERS, "compression_ratio", "settle",
    "flags", "timeout_seconds", "command", "external", "prepare",
}  # fmt: skip
_MOST = 2**63 - 1  # of db_bench's own numbers


def load_workload(given: str) -> Workload:
    """A shipped workload by name, or the user's own from a TOML file.

    Raises:
        InputError: There is none, or the file is wrong; the message names field and mend.
    """
    document = parse_toml(workload_text(given), field=f"--workload {given}")
    return workload_from_document(document)


def workload_from_document(document: Mapping[str, Any], *, stored: bool = False) -> Workload:
    """Builds a workload from a parsed document.

    Args:
        document: As its TOML file would hold it.
        stored: Whether it is of a job that was taken before, perhaps by an earlier version: what
            that did not refuse stays as it was.

    Raises:
        InputError: A field is unknown, missing, of the wrong type or out of range.
        InputErrors: Several flags or benchmarks are wrong.
    """
    refuse_unknown(document, _FIELDS, "workload")
    name = document.get("name")
    if not isinstance(name, str) or not name:
        raise InputError("workload.name", "give the workload a name")
    help_text = str(document.get("help", ""))
    if "external" in document:
        return _external(document, name, help_text)
    if "command" in document:
        return _own_program(document, name, help_text)
    fields: dict[str, Any] = {
        key: integer_of(document[key], f"workload.{key}") for key in _INTEGERS if key in document
    }
    found: list[InputError] = []
    benchmarks: tuple[str, ...] = ()
    flags: tuple[tuple[str, Value], ...] = ()
    with noting(found):
        listed = document.get("benchmarks", ["fillrandom"])
        benchmarks = texts_of(listed, "workload.benchmarks", stored=stored)
    with noting(found):
        flags = flags_of(document.get("flags", {}), stored=stored)
    refuse_noted(found)
    measured = texts_of(
        document.get("measured", list(benchmarks)), "workload.measured", stored=True
    )
    for benchmark in measured:
        if benchmark not in benchmarks:
            raise InputError("workload.measured", f"{benchmark!r} is not among benchmarks")
    workload = Workload(
        name=name,
        help=help_text,
        benchmarks=benchmarks,
        measured=measured,
        settle=settle_of(document.get("settle", "wait")),
        compression_ratio=compression_ratio_of(document.get("compression_ratio", 0.5)),
        flags=flags,
        timeout_seconds=seconds_of(document.get("timeout_seconds", 600), "workload"),
        **fields,
    )
    require_whole(workload.flags, _COUNTS, "flags")
    require_numbers(workload.flags, _NUMBERS, "flags")
    if "prepare" in document:
        prepare = prepare_of(document["prepare"], workload, stored=stored)
        workload = replace(workload, prepare=prepare)
    require_batches(workload.runs, workload.num, workload.flags, "workload")
    if not stored:
        refuse_noted(list(load_problems(workload)))
    return workload


def workload_document(workload: Workload) -> dict[str, Any]:
    """The document that defines a workload: the inverse of ``workload_from_document``."""
    document: dict[str, Any] = {"name": workload.name, "help": workload.help}
    if workload.command:
        command = {
            "argv": list(workload.command.argv),
            "timeout_seconds": workload.command.timeout_seconds,
        }
        return {**document, "scale": workload.scale, "command": command}
    if workload.external:
        return {**document, "external": True}
    document |= {key: getattr(workload, key) for key in _INTEGERS}
    if workload.prepare:  # what has none keeps the document, and the digest, that it always had
        document["prepare"] = prepare_document(workload.prepare)
    return document | {
        "benchmarks": list(workload.benchmarks),
        "measured": list(workload.measured),
        "compression_ratio": workload.compression_ratio,
        "settle": workload.settle,
        "flags": dict(workload.flags),
        "timeout_seconds": workload.timeout_seconds,
    }


def _own_program(document: Mapping[str, Any], name: str, help_text: str) -> Workload:
    for key in document:
        if key not in ("name", "help", "scale", "command"):
            raise InputError(f"workload.{key}", "means nothing beside a [command]; leave it out")
    command = command_of(document["command"])
    return Workload(
        name=name,
        help=help_text,
        command=command,
        timeout_seconds=command.timeout_seconds,
        settle="none",
        scale=integer_of(document.get("scale", 1), "workload.scale"),
    )


def _external(document: Mapping[str, Any], name: str, help_text: str) -> Workload:
    for key in document:
        if key not in ("name", "help", "external"):
            raise InputError(f"workload.{key}", "means nothing beside external; leave it out")
    if document["external"] is not True:
        raise InputError("workload.external", "write true, or leave it out")
    return Workload(name=name, help=help_text, external=True, settle="none", scale=1)


def prepare_of(given: object, workload: Workload, *, stored: bool = False) -> Prepare:
    """The table ``[prepare]``: what fills the database before the measured process.

    Args:
        given: The table.
        workload: The workload without it.
        stored: Whether it is of a job that an earlier version took.

    Raises:
        InputError: A field is unknown, missing, of the wrong type or out of range.
    """
    if not isinstance(given, dict):
        raise InputError("workload.prepare", "write a table [prepare] with benchmarks")
    refuse_unknown(given, ("benchmarks", "num", "threads", "flags", "share"), "prepare")
    if "benchmarks" not in given:
        raise InputError("prepare.benchmarks", 'name what fills the database: ["fillrandom"]')
    share = given.get("share", True)
    if not isinstance(share, bool):
        raise InputError("prepare.share", "write true or false")
    emptying = [run.benchmark.name for run in workload.runs if run.benchmark.fresh]
    if emptying:
        problem = f"{emptying[0]!r} begins with an empty database, which db_bench skips after"
        raise InputError("workload.benchmarks", f"{problem} [prepare]; put it there")
    found: list[InputError] = []
    benchmarks: tuple[str, ...] = ()
    flags: tuple[tuple[str, Value], ...] = ()
    with noting(found):
        benchmarks = texts_of(given["benchmarks"], "prepare.benchmarks", stored=stored)
    with noting(found):
        table = given.get("flags", {})
        flags = flags_of(table, "prepare.flags", stored=stored)
    refuse_noted(found)
    require_whole(flags, ("reads", "writes"), "prepare.flags")
    prepare = Prepare(
        benchmarks=benchmarks,
        num=integer_of(given.get("num", workload.num), "prepare.num"),
        threads=integer_of(given.get("threads", 1), "prepare.threads"),
        flags=flags,
        share=share,
    )
    require_batches(prepare.runs, prepare.num, prepare.flags, "prepare")
    if not prepare.writes:
        problem = f"none of them is known to write; use {fills()}"
        raise InputError("prepare.benchmarks", problem)
    return prepare


def prepare_document(prepare: Prepare) -> dict[str, Any]:
    """The table that defines it: the inverse of ``prepare_of``."""
    return {
        "benchmarks": list(prepare.benchmarks),
        "num": prepare.num,
        "threads": prepare.threads,
        "flags": dict(prepare.flags),
        "share": prepare.share,
    }


def command_of(given: object) -> Command:
    """The table ``[command]``: a program of the user's own.

    Raises:
        InputError: A field is unknown, missing or of the wrong type.
    """
    if not isinstance(given, dict):
        raise InputError("workload.command", "write a table [command] with argv")
    refuse_unknown(given, ("argv", "timeout_seconds"), "command")
    argv = given.get("argv")
    if not isinstance(argv, list) or not argv or not all(isinstance(a, str) for a in argv):
        raise InputError("command.argv", "write a list of texts: the program and its arguments")
    if any("\0" in argument for argument in argv) or not argv[0]:
        raise InputError("command.argv", "has an empty program or a NUL character")
    return Command(
        argv=tuple(argv), timeout_seconds=seconds_of(given.get("timeout_seconds", 600), "command")
    )


def integer_of(given: object, field: str) -> int:
    """A whole number of at least 1, as db_bench can hold it.

    Raises:
        InputError: It is none.
    """
    if isinstance(given, bool) or not isinstance(given, int) or given < 1:
        raise InputError(field, f"{given!r:.80} is not a whole number of at least 1")
    if given > _MOST:
        raise InputError(field, f"is larger than db_bench can take, {_MOST}")
    return given


def seconds_of(given: object, where: str) -> float:
    """How long a run may take.

    Raises:
        InputError: It is none.
    """
    if (
        isinstance(given, bool)
        or not isinstance(given, int | float)
        or not 0 < given < MOST_SECONDS
    ):
        raise InputError(f"{where}.timeout_seconds", f"{given!r} is not a number of seconds")
    return float(given)


def compression_ratio_of(given: object) -> float:
    """The compression ratio.

    Raises:
        InputError: It is none.
    """
    if isinstance(given, bool) or not isinstance(given, int | float) or not 0 < given <= 1:
        raise InputError("workload.compression_ratio", f"{given!r} is not above 0 and at most 1")
    return float(given)


def texts_of(given: object, field: str, *, stored: bool = False) -> tuple[str, ...]:
    """The names of benchmarks, at least one.

    Args:
        given: The list.
        field: What to call it when it is wrong.
        stored: Whether it is of a job that an earlier version took: names are taken as they are.

    Raises:
        InputError: It is none, or a benchmark is not known or not measured.
        InputErrors: Several are not.
    """
    if not isinstance(given, list) or not given or not all(isinstance(t, str) for t in given):
        raise InputError(field, "write a list of texts, at least one")
    found: list[InputError] = []
    for text in given:
        if not text or "," in text or text != text.strip():
            raise InputError(field, f"{text!r} is not the name of one benchmark")
        if not stored:
            with noting(found):
                known_run(text, field)
    refuse_noted(found)
    return tuple(given)


def settle_of(given: object) -> Settle:
    """What a run waits for before it is counted.

    Raises:
        InputError: It is not known.
    """
    if given not in ("wait", "flush", "none"):
        raise InputError("workload.settle", f"{given!r} is not one of wait, flush, none")
    return given


def flags_of(
    given: object,
    where: str = "flags",
    *,
    stored: bool = False,
) -> tuple[tuple[str, Value], ...]:
    """Flags of db_bench that are not Rocktune's own, sorted by name.

    Args:
        given: The table.
        where: What to call it when it is wrong.
        stored: Whether it is of a job that an earlier version took: flags that do nothing are
            taken as they are.

    Raises:
        InputError: One is no flag, Rocktune's own, an option of RocksDB or out of range.
        InputErrors: Several are.
    """
    if not isinstance(given, dict):
        field = "workload.flags" if where == "flags" else where
        raise InputError(field, f"write a table [{where}] of flag = value")
    found: list[InputError] = []
    for name, value in given.items():
        with noting(found):
            _require_flag(name, value, where)
    percent = given.get("readwritepercent", 90)
    if isinstance(percent, bool) or not isinstance(percent, int) or not 0 <= percent <= 100:
        found.append(InputError(f"{where}.readwritepercent", f"{percent!r} is not from 0 to 100"))
    if not stored:
        found += flag_problems(given, where)
    refuse_noted(found)
    return tuple(sorted(given.items()))


def _require_flag(name: str, value: object, where: str) -> None:
    if not name.isidentifier():
        raise InputError(f"{where}.{name}", "is not the name of a flag; leave out the dashes")
    if own := own_flag(name):
        raise InputError(f"{where}.{name}", own)
    if not isinstance(value, bool | int | float | str):
        raise InputError(f"{where}.{name}", "write a text, a number, true or false")
    if isinstance(value, int) and not -_MOST <= value <= _MOST:
        raise InputError(f"{where}.{name}", f"is larger than db_bench can take, {_MOST}")


def require_whole(flags: tuple[tuple[str, Value], ...], names: Sequence[str], where: str) -> None:
    """Refuses what says how many operations there are, and is no number.

    Raises:
        InputError: It is so.
    """
    for name, value in flags:
        if name in names and (isinstance(value, bool) or not isinstance(value, int)):
            raise InputError(f"{where}.{name}", f"{value!r} is not a whole number")


def require_numbers(
    flags: tuple[tuple[str, Value], ...], names: Sequence[str], where: str
) -> None:
    """Refuses what shapes a load, and is no number.

    Raises:
        InputError: It is so.
    """
    for name, value in flags:
        if name in names and (isinstance(value, bool | str) or not math.isfinite(value)):
            raise InputError(f"{where}.{name}", f"{value!r} is not a number")


def require_batches(
    runs: Sequence[BenchmarkRun], num: int, flags: tuple[tuple[str, Value], ...], where: str
) -> None:
    """Refuses writes in batches that are smaller than one: nothing would be written.

    Raises:
        InputError: It is so.
    """
    for run in runs:
        each = run.benchmark
        if each.loop in ("writes", "deletes") and not operations_of(each, num, dict(flags)):
            batch = each.batch or dict(flags).get("batch_size")
            problem = f"{each.name} writes whole batches of {batch} keys; raise it"
            raise InputError(f"{where}.num", problem)
