"""Workloads as TOML: the shipped ones by name, and the user's own."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from sampler.common.documents import find_document, read_document, refuse_unknown
from sampler.common.errors import InputError, noting, refuse_noted
from sampler.parameters.parameter import Value
from sampler.workload.measurable import load_problems
from sampler.workload.workload import Workload
from sampler.workload.workload_fields import (
    compression_ratio_of,
    flags_of,
    integer_of,
    require_batches,
    require_numbers,
    require_whole,
    seconds_of,
    settle_of,
    texts_of,
)
from sampler.workload.workload_tables import command_of, prepare_document, prepare_of

SHIPPED = (
    "load-quick", "load", "overwrite-quick", "overwrite", "mixed-quick", "mixed-50-50",
    "kioxia-t2", "kioxia-t5", "samsung-80-20", "samsung-50-50", "rocksjava-fillseq",
    "rocksjava-readrandom", "rocksjava-readwhilewriting", "rocksjava-readseq", "read-quick",
    "readwhilewriting-quick", "sine", "warlo-command", "external",
)  # fmt: skip
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


def workload_text(given: str) -> str:
    """The TOML text of a shipped workload, or of the user's own file.

    Raises:
        InputError: There is none.
    """
    return find_document(given, kind="workload", shipped=SHIPPED, package="sampler")


def load_workload(given: str) -> Workload:
    """A shipped workload by name, or the user's own from a TOML file.

    Raises:
        InputError: There is none, or the file is wrong; the message names field and mend.
    """
    text = workload_text(given)
    return workload_from_document(read_document(text, field=f"--workload {given}"))


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
