"""Workloads as TOML: the shipped ones by name, and the user's own."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from sampler.catalogue import catalogue
from sampler.documents import find_document, read_document, refuse_unknown
from sampler.errors import InputError
from sampler.filled_keys import RANDOM_WRITES, SEQUENTIAL_FILLS
from sampler.parameter import Value
from sampler.prepare import FRESH, Prepare
from sampler.workload import MOST_SECONDS, Command, Settle, Workload

SHIPPED = (
    "load-quick", "load", "overwrite-quick", "overwrite", "mixed-quick", "mixed-50-50",
    "kioxia-t2", "kioxia-t5", "samsung-80-20", "samsung-50-50", "rocksjava-fillseq",
    "rocksjava-readrandom", "rocksjava-readwhilewriting", "rocksjava-readseq", "read-quick",
    "readwhilewriting-quick", "sine", "warlo-command", "external",
)  # fmt: skip
_INTEGERS = ("num", "key_size", "value_size", "threads", "scale", "seed")
_FIELDS = {
    "name", "help", "benchmarks", "measured", *_INTEGERS, "compression_ratio", "settle",
    "flags", "timeout_seconds", "command", "external", "prepare",
}  # fmt: skip
# Set by Rocktune itself for every trial.
_OWN_FLAGS = {
    "db", "wal_dir", "options_file", "benchmarks", "statistics", "histogram", "cache_size",
    "progress_reports", "use_existing_db", "num", "key_size", "value_size", "threads",
    "compression_ratio", "seed",
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


def workload_from_document(document: Mapping[str, Any]) -> Workload:
    """Builds a workload from a parsed document.

    Raises:
        InputError: A field is unknown, missing, of the wrong type or out of range.
    """
    refuse_unknown(document, _FIELDS, "workload")
    name = document.get("name")
    if not isinstance(name, str) or not name:
        raise InputError("workload.name", "give the workload a name")
    help_text = str(document.get("help", ""))
    if "external" in document:
        return _external(document, name, help_text)
    if "command" in document:
        for key in document:
            if key not in ("name", "help", "scale", "command"):
                raise InputError(
                    f"workload.{key}", "means nothing beside a [command]; leave it out"
                )
        command = _command(document["command"])
        return Workload(
            name=name,
            help=help_text,
            command=command,
            timeout_seconds=command.timeout_seconds,
            settle="none",
            scale=_integer(document.get("scale", 1), "workload.scale"),
        )
    fields: dict[str, Any] = {
        key: _integer(document[key], f"workload.{key}") for key in _INTEGERS if key in document
    }
    benchmarks = _texts(document.get("benchmarks", ["fillrandom"]), "workload.benchmarks")
    measured = _texts(document.get("measured", list(benchmarks)), "workload.measured")
    for benchmark in measured:
        if benchmark not in benchmarks:
            raise InputError("workload.measured", f"{benchmark!r} is not among benchmarks")
    workload = Workload(
        name=name,
        help=help_text,
        benchmarks=benchmarks,
        measured=measured,
        settle=_settle(document.get("settle", "wait")),
        compression_ratio=_share(document.get("compression_ratio", 0.5)),
        flags=_flags(document.get("flags", {})),
        timeout_seconds=_seconds(document.get("timeout_seconds", 600), "workload"),
        **fields,
    )
    _require_whole(workload.flags, ("reads", "duration", "writes", "deletes"), "flags")
    if "prepare" not in document:
        return workload
    return replace(workload, prepare=_prepare(document["prepare"], workload))


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
        document["prepare"] = _prepare_document(workload.prepare)
    return document | {
        "benchmarks": list(workload.benchmarks),
        "measured": list(workload.measured),
        "compression_ratio": workload.compression_ratio,
        "settle": workload.settle,
        "flags": dict(workload.flags),
        "timeout_seconds": workload.timeout_seconds,
    }


def _prepare(given: object, workload: Workload) -> Prepare:
    if not isinstance(given, dict):
        raise InputError("workload.prepare", "write a table [prepare] with benchmarks")
    refuse_unknown(given, ("benchmarks", "num", "threads", "flags", "share"), "prepare")
    if "benchmarks" not in given:
        raise InputError("prepare.benchmarks", 'name what fills the database: ["fillrandom"]')
    share = given.get("share", True)
    if not isinstance(share, bool):
        raise InputError("prepare.share", "write true or false")
    emptying = [benchmark for benchmark in workload.benchmarks if benchmark in FRESH]
    if emptying:
        problem = f"{emptying[0]!r} begins with an empty database, which db_bench skips after"
        raise InputError("workload.benchmarks", f"{problem} [prepare]; put it there")
    flags = _flags(given.get("flags", {}), "prepare.flags")
    _require_whole(flags, ("writes",), "prepare.flags")
    prepare = Prepare(
        benchmarks=_texts(given["benchmarks"], "prepare.benchmarks"),
        num=_integer(given.get("num", workload.num), "prepare.num"),
        threads=_integer(given.get("threads", 1), "prepare.threads"),
        flags=flags,
        share=share,
    )
    if not prepare.writes:
        known = ", ".join(sorted(RANDOM_WRITES | SEQUENTIAL_FILLS))
        raise InputError("prepare.benchmarks", f"none of them is known to write; use {known}")
    return prepare


def _require_whole(flags: tuple[tuple[str, Value], ...], names: Sequence[str], where: str) -> None:
    """Refuses what says how many operations there are, and is no number."""
    for name, value in flags:
        if name in names and (isinstance(value, bool) or not isinstance(value, int)):
            raise InputError(f"{where}.{name}", f"{value!r} is not a whole number")


def _prepare_document(prepare: Prepare) -> dict[str, Any]:
    return {
        "benchmarks": list(prepare.benchmarks),
        "num": prepare.num,
        "threads": prepare.threads,
        "flags": dict(prepare.flags),
        "share": prepare.share,
    }


def _external(document: Mapping[str, Any], name: str, help_text: str) -> Workload:
    for key in document:
        if key not in ("name", "help", "external"):
            raise InputError(f"workload.{key}", "means nothing beside external; leave it out")
    if document["external"] is not True:
        raise InputError("workload.external", "write true, or leave it out")
    return Workload(name=name, help=help_text, external=True, settle="none", scale=1)


def _integer(given: object, field: str) -> int:
    if isinstance(given, bool) or not isinstance(given, int) or given < 1:
        raise InputError(field, f"{given!r} is not a whole number of at least 1")
    return given


def _seconds(given: object, where: str) -> float:
    if (
        isinstance(given, bool)
        or not isinstance(given, int | float)
        or not 0 < given < MOST_SECONDS
    ):
        raise InputError(f"{where}.timeout_seconds", f"{given!r} is not a number of seconds")
    return float(given)


def _share(given: object) -> float:
    if isinstance(given, bool) or not isinstance(given, int | float) or not 0 < given <= 1:
        raise InputError("workload.compression_ratio", f"{given!r} is not above 0 and at most 1")
    return float(given)


def _texts(given: object, field: str) -> tuple[str, ...]:
    if not isinstance(given, list) or not given or not all(isinstance(t, str) for t in given):
        raise InputError(field, "write a list of texts, at least one")
    for text in given:
        if not text or "," in text or text != text.strip():
            raise InputError(field, f"{text!r} is not the name of one benchmark")
    return tuple(given)


def _settle(given: object) -> Settle:
    if given not in ("wait", "flush", "none"):
        raise InputError("workload.settle", f"{given!r} is not one of wait, flush, none")
    return given


def _flags(given: object, where: str = "flags") -> tuple[tuple[str, Value], ...]:
    if not isinstance(given, dict):
        field = "workload.flags" if where == "flags" else where
        raise InputError(field, f"write a table [{where}] of flag = value")
    for name, value in given.items():
        if not name.isidentifier():
            raise InputError(f"{where}.{name}", "is not the name of a flag; leave out the dashes")
        if name in _OWN_FLAGS:
            raise InputError(
                f"{where}.{name}", "is set by Rocktune; use the workload's own fields"
            )
        if not isinstance(value, bool | int | float | str):
            raise InputError(f"{where}.{name}", "write a text, a number, true or false")
        if name in _option_flags():
            raise InputError(
                f"{where}.{name}",
                "is an option of RocksDB, which db_bench ignores beside an OPTIONS file; "
                "put it into an OPTIONS file for --baseline",
            )
    percent = given.get("readwritepercent", 90)
    if isinstance(percent, bool) or not isinstance(percent, int) or not 0 <= percent <= 100:
        raise InputError(f"{where}.readwritepercent", f"{percent!r} is not from 0 to 100")
    return tuple(sorted(given.items()))


def _option_flags() -> set[str]:
    return {parameter.flag for parameter in catalogue().values() if parameter.is_option}


def _command(given: object) -> Command:
    if not isinstance(given, dict):
        raise InputError("workload.command", "write a table [command] with argv")
    refuse_unknown(given, ("argv", "timeout_seconds"), "command")
    argv = given.get("argv")
    if not isinstance(argv, list) or not argv or not all(isinstance(a, str) for a in argv):
        raise InputError("command.argv", "write a list of texts: the program and its arguments")
    if any("\0" in argument for argument in argv) or not argv[0]:
        raise InputError("command.argv", "has an empty program or a NUL character")
    return Command(
        argv=tuple(argv), timeout_seconds=_seconds(given.get("timeout_seconds", 600), "command")
    )
