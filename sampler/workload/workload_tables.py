"""The tables of a workload's document: [prepare] and [command]."""

from __future__ import annotations

from typing import Any

from sampler.common.documents import refuse_unknown
from sampler.common.errors import InputError, noting, refuse_noted
from sampler.parameters.parameter import Value
from sampler.workload.db_bench_benchmarks import fills
from sampler.workload.prepare import Prepare
from sampler.workload.workload import Command, Workload
from sampler.workload.workload_fields import (
    flags_of,
    integer_of,
    require_batches,
    require_whole,
    seconds_of,
    texts_of,
)


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
