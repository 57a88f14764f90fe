"""The fields of a workload's document: each checked alone, and named where it is wrong."""

from __future__ import annotations

from collections.abc import Sequence

from sampler.catalogue import catalogue
from sampler.errors import InputError
from sampler.filled_keys import operations_of
from sampler.parameter import Value
from sampler.workload import MOST_SECONDS, Settle

# Set by Rocktune itself for every trial.
_OWN_FLAGS = {
    "db", "wal_dir", "options_file", "benchmarks", "statistics", "histogram", "cache_size",
    "progress_reports", "use_existing_db", "num", "key_size", "value_size", "threads",
    "compression_ratio", "seed",
}  # fmt: skip
_MOST = 2**63 - 1  # of db_bench's own numbers
# Write a thousandth of num (db_bench_tool.cc, 7.8.3, Run()), one of them other values: how many
# keys a load leaves would be told wrongly.
_THOUSANDTHS = {
    "fillsync": 'use "fillrandom" with the flag sync = true',
    "fill100K": 'use "fillrandom" with value_size = 100000',
}


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


def texts_of(given: object, field: str) -> tuple[str, ...]:
    """The names of benchmarks, at least one.

    Raises:
        InputError: It is none.
    """
    if not isinstance(given, list) or not given or not all(isinstance(t, str) for t in given):
        raise InputError(field, "write a list of texts, at least one")
    for text in given:
        if not text or "," in text or text != text.strip():
            raise InputError(field, f"{text!r} is not the name of one benchmark")
        if text in _THOUSANDTHS:
            raise InputError(field, f"{text!r} writes num / 1000 keys; {_THOUSANDTHS[text]}")
    return tuple(given)


def settle_of(given: object) -> Settle:
    """What a run waits for before it is counted.

    Raises:
        InputError: It is not known.
    """
    if given not in ("wait", "flush", "none"):
        raise InputError("workload.settle", f"{given!r} is not one of wait, flush, none")
    return given


def flags_of(given: object, where: str = "flags") -> tuple[tuple[str, Value], ...]:
    """Flags of db_bench that are not Rocktune's own, sorted by name.

    Raises:
        InputError: One is no flag, Rocktune's own, an option of RocksDB or out of range.
    """
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
        if isinstance(value, int) and not -_MOST <= value <= _MOST:
            raise InputError(f"{where}.{name}", f"is larger than db_bench can take, {_MOST}")
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


def require_whole(flags: tuple[tuple[str, Value], ...], names: Sequence[str], where: str) -> None:
    """Refuses what says how many operations there are, and is no number.

    Raises:
        InputError: It is so.
    """
    for name, value in flags:
        if name in names and (isinstance(value, bool) or not isinstance(value, int)):
            raise InputError(f"{where}.{name}", f"{value!r} is not a whole number")


def require_batches(
    benchmarks: Sequence[str], num: int, flags: tuple[tuple[str, Value], ...], where: str
) -> None:
    """Refuses a fill in batches that is smaller than one: nothing would be written.

    Raises:
        InputError: It is so.
    """
    if "fillbatch" in benchmarks and not operations_of("fillbatch", num, dict(flags)):
        raise InputError(f"{where}.num", "fillbatch writes whole batches of 1000 keys; raise it")
