"""db_bench command lines that people posted, as workload files."""

from __future__ import annotations

import json
import re
from dataclasses import replace

from tests.support.cases.case import Case, Figures, Ran

_FOLDER = "30-db_bench-command-lines"
_BENCH = ("bench", "--json", "--workload", "{file}")
_DEFAULT_MEMORY = 2 * 64 * 2**20 + 8 * 2**20  # two write buffers and the block cache
_WRONG = re.compile(r"--workload ((?:prepare\.)?(?:flags\.\w+|benchmarks)): ")


def _measured(ran: Ran) -> Figures:
    """The metrics, and the keys and values that ``sa`` says are live."""
    document = json.loads(ran.stdout)
    metrics = dict(document["metrics"])
    if "sa" in metrics:
        metrics["live_bytes"] = metrics["lsm_bytes"] / metrics["sa"]
    return {**metrics, "state": document["state"], "kinds": _kinds(metrics)}


def _kinds(metrics: Figures) -> set[str]:
    return {name.removesuffix("_p99") for name in metrics if name.endswith("_p99")}


def _refused(ran: Ran) -> Figures:
    """What is named as wrong, flags by the alphabet, and the keys to write instead."""
    wrong = _WRONG.findall(ran.stderr)
    instead = re.findall(r"write (\S+)(?: in \[(\w+)[^]]*\])? of an OPTIONS file", ran.stderr)
    return {"wrong": wrong, "instead": instead, "said": ran.stderr, "printed": ran.stdout}


class _Holding(str):
    """A text that another text must hold."""

    __slots__ = ()

    def __eq__(self, other: object) -> bool:
        return isinstance(other, str) and str(self) in other

    __hash__ = str.__hash__


def _runs(name: str, *, keys: float | None = None, pair: int = 816, **expected: object) -> Case:
    """A load that is measured.

    Args:
        name: Of the file.
        keys: Live keys that are left, within 1%.
        pair: Bytes of a key and its value.
        **expected: Further figures.
    """
    live = {} if keys is None else {"live_bytes": keys * pair}
    memory = {"memory": float(_DEFAULT_MEMORY)}
    return Case(
        artefact=f"{_FOLDER}/{name}.toml",
        command=_BENCH,
        expected={"state": "done", **memory, **live, **expected},
        read=_measured,
        within=0.01,
        db_bench=True,
        sooner=("--scale", "8"),  # larger memtables: less is compacted, and as much is left
    )


def _is_refused(
    name: str, wrong: list[str], *said: str, instead: list[tuple[str, str]] | None = None
) -> Case:
    """A load that cannot be measured as it is: all that is wrong is named at once."""
    expected: dict[str, object] = {"wrong": wrong, "printed": ""}
    if instead is not None:
        expected["instead"] = instead
    if said:
        expected["said"] = _Holding(said[0])
    return Case(
        artefact=f"{_FOLDER}/{name}.toml",
        command=_BENCH,
        expected=expected,
        read=_refused,
        status=2,
        db_bench=True,
    )


_TABLE = "TableOptions"
# Of n keys drawn n times with replacement 1 - 1/e are there, of w draws 1 - (1 - 1/n)^w.
_DRAWN = 120_000 * 0.632122
CASES: tuple[Case, ...] = (
    _runs("11356-readrandom-X", keys=_DRAWN, kinds={"read"}),
    _is_refused(
        "12099-own-database", ["flags.db", "flags.use_existing_db"],
        "Let [prepare] fill a similar one",
    ),
    _is_refused(
        "12544-readwhilewriting", ["flags.use_direct_reads"],
        instead=[("use_direct_reads=true", "DBOptions")],
    ),
    _is_refused(
        "1734-fifo-deterministic",
        ["benchmarks", "flags.fifo_compaction_max_table_files_size_mb"],
        "'fillseqdeterministic' builds the tree by hand",
        instead=[("compaction_options_fifo={max_table_files_size=10485760;}", "CFOptions")],
    ),
    # Four families of two write buffers, one cache.
    _runs("2677-four-families", keys=_DRAWN, memory=float(4 * 2 * 64 * 2**20 + 8 * 2**20)),
    # Keys of 10 bytes, values of a few digits: value_size is not looked at.
    replace(
        _is_refused("3016-randomtransaction", [], "writes 2.975 MiB, less than"),
        command=("tune", "--workload", "{file}", "--json"),
    ),
    _runs("3229-timeseries", keys=120_000.0, kinds={"write"}),
    _runs("3672-seekrandomwhilewriting", kinds={"seek"}),
    _runs("3757-seekrandom-prefix", keys=_DRAWN, kinds={"seek"}),
    _is_refused("3837-replay", ["flags.trace_file"], "or replay a trace: write trace ="),
    # Each of 60,000 deletes of 120,000 keys spares a key with 1 - 1/120,000.
    _runs("4107-deleterandom", keys=120_000 * 0.60653, kinds={"delete"}),
    _runs("5953-mixgraph", kinds={"read", "write", "seek"}),
    _runs("7817-multireadrandom", keys=_DRAWN, kinds={"read"}),
    # Half of the writes are overwrites of the last thousand keys.
    _runs("8569-filluniquerandom", keys=60_000.0),
    _is_refused(
        "9536-benchmark-sh-flags",
        [f"flags.{name}" for name in (
            "block_size", "bloom_bits", "compression_type", "open_files",
            "pin_l0_filter_and_index_blocks_in_cache",
        )],
        instead=[
            ("block_size=8192", _TABLE), ("filter_policy=bloomfilter:10:false", _TABLE),
            ("compression=kZSTD", "CFOptions"), ("max_open_files=-1", "DBOptions"),
            ("pin_l0_filter_and_index_blocks_in_cache=true", _TABLE),
        ],
    ),
    _is_refused(
        "9536-other-option-flags",
        [f"flags.{name}" for name in (
            "disable_auto_compactions", "max_background_compactions", "memtablerep",
            "open_files", "pin_l0_filter_and_index_blocks_in_cache", "prefix_size",
        )],
        instead=[
            ("disable_auto_compactions=true", "CFOptions"),
            ("max_background_compactions=16", "DBOptions"),
            ("memtable_factory=VectorRepFactory", "CFOptions"),
            ("max_open_files=10", "DBOptions"),
            ("pin_l0_filter_and_index_blocks_in_cache=true", _TABLE),
            ("prefix_extractor=rocksdb.FixedPrefix.4", "CFOptions"),
        ],
    ),
    _is_refused(
        "9628-two-databases", ["flags.num_multi_db"], "Rocktune measures one database"
    ),
    _runs("9785-mergerandom", keys=_DRAWN, kinds={"merge"}),
)  # fmt: skip
