"""The fields of a workload's document: each checked alone, and named where it is wrong."""

from __future__ import annotations

import math
from collections.abc import Sequence

from sampler.common.errors import InputError, noting, refuse_noted
from sampler.parameters.parameter import Value
from sampler.workload.db_bench_benchmarks import Run, known_run
from sampler.workload.filled_keys import operations_of
from sampler.workload.measurable import flag_problems, own_flag
from sampler.workload.workload import MOST_SECONDS, Settle

_MOST = 2**63 - 1  # of db_bench's own numbers


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
    runs: Sequence[Run], num: int, flags: tuple[tuple[str, Value], ...], where: str
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
