"""LOGs and db_bench outputs of RocksDB 2.x to 11.x."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from typing import Any

from tests.support.cases.case import Case, Figures, Ran

_JSON = ("stats", "{file}", "--json")


def _opening(number: int, *names: str) -> Callable[[Ran], Figures]:
    """Reads figures of one opening; ``a/b/0`` goes into objects and lists."""

    def read(ran: Ran) -> Figures:
        document = json.loads(ran.stdout)
        opening = document["openings"][number]
        figures = {name: _at(opening, name) for name in names}
        return {"openings": len(document["openings"]), **figures}

    return read


def _at(document: Any, path: str) -> Any:
    for step in path.split("/"):
        document = document[int(step) if isinstance(document, list) else step]
    return document


def _case(artefact: str, number: int = 0, /, **expected: object) -> Case:
    """A case of ``stats --json``; ``__`` in a name stands for ``/``."""
    told = {name.replace("__", "/"): value for name, value in expected.items()}
    names = [name for name in told if name != "openings"]
    return Case(
        artefact=artefact,
        command=_JSON,
        expected=told,
        read=_opening(number, *names),
        within=1e-6,
    )


def _said(*sentences: str) -> Callable[[Ran], Figures]:
    def read(ran: Ran) -> Figures:
        shown = " ".join((ran.stdout + ran.stderr).split())
        return {each: each in shown for each in sentences}

    return read


def _screen(artefact: str, *sentences: str, status: int = 0) -> Case:
    """A case of what the terminal shows, wherever its lines break."""
    return Case(
        artefact=artefact,
        command=("stats", "{file}"),
        expected=dict.fromkeys(sentences, True),
        read=_said(*sentences),
        status=status,
    )


_SAMPLES = "20-log-parser-samples"
_BASALT = "22-basalt-two-families-5.x"
_OXIGRAPH = "47-oxigraph-10.7.5-twelve-families"
_QUEUE = "49-event-queue-pasted-dumps"
_MYROCKS = "51-myrocks-show-engine-status"
_CEPH = "52-ceph-osd-journal"
_FIVE = "69-five-families-with-blobs"
_MADE = "40-made-from-the-failures"
_BENCH = "25-db_bench-two-runs-8.9/db_bench.log"

CASES: tuple[Case, ...] = (
    # One dump, its family written twice: one opening of which nothing was written.
    _case(
        "01-kafka-streams-6.8-options/LOG",
        openings=1, rocksdb="6.8.1", intervals=1, seconds=0.0, writes_gib=0.0, compaction_gib=0.0,
        write_amplification=None, options__default__level0_slowdown_writes_trigger="20",
    ),
    # No dump at all.
    _screen("05-study-5.17-options/LOG", "has no interval statistics", status=2),
    _screen(f"{_SAMPLES}/LOG-rocksdb-6.26.0", "has no interval statistics", status=2),
    _screen(f"{_SAMPLES}/LOG_sample-bad.txt", "has no interval statistics", status=2),
    _case(f"{_SAMPLES}/LOG-rocksdb-6.0.1", openings=1, rocksdb="6.0.1", intervals=1, seconds=0.0),
    _case(f"{_SAMPLES}/LOG-rocksdb-7.8.3", openings=1, rocksdb="7.8.3", intervals=1, seconds=0.0),
    _case(
        f"{_SAMPLES}/LOG-rocksdb-8.8.1",
        openings=1, rocksdb="8.8.1", intervals=1, stalls__write_buffer_manager__stops=0,
        stalls__l0_files__delays_with_compaction=0, stalls__pending_compaction_bytes__stops=0,
    ),
    # A LOG that was edited: 12:10:56.123 of 4.8 s stalled, no reason but a line.
    _case(
        f"{_SAMPLES}/LOG_sample",
        openings=1, intervals=1, seconds=4.8, compaction_gib=0.15, compaction_mib_s=31.56,
        stall_percent=98.7, highest_stall_percent=12.3, stall_seconds=43856.123,
        families__0__total_flush_gib=0.146, families__0__levels__4__size="54.33 GB",
        families__0__levels__4__files=1022, families__0__levels__3__compacting=6,
    ),
    _screen(
        f"{_SAMPLES}/LOG_sample",
        "Writes waited for 98.7% of the time",
        "too many files in level 0 (1 slowdown)",
    ),
    _case(
        f"{_SAMPLES}/LOG_sample_stats.txt",
        openings=1, intervals=1, seconds=4.8, compaction_gib=0.15, stall_percent=0.0,
    ),
    # Two families, each written twice: 6.25 + 39.41 of 16.19 GiB.
    _case(
        f"{_BASALT}/LOG",
        openings=1, intervals=1, seconds=2088.1, begin_s=1306.1, writes_gib=16.19,
        compaction_gib=45.66, compaction_mib_s=22.39, write_amplification=45.66 / 16.19,
        stall_percent=40.9, stall_seconds=853.151, highest_stall_percent=65.0,
        highest_writes_mib_s=4.71, highest_compaction_mib_s=20.78,
        stalls__l0_files__delays=61, stalls__l0_files__delays_with_compaction=60,
        stalls__l0_files__stops=0, stalls__pending_compaction_bytes__delays=0,
        families__0__name="default", families__0__total_compaction_write_gib=6.25,
        families__1__name="connections", families__1__total_compaction_write_gib=39.41,
        families__1__interval_compaction_write_gib=13.55,
        families__1__levels__1__write_amplification=5.4,
        database__total_keys_count="704M",
        database__interval_ingest_mib=3686.18,
    ),
    _screen(
        f"{_BASALT}/LOG",
        "files arrived in level 0 faster than compactions removed them in connections",
        "61 slowdowns, 60 of them during a compaction of level 0",
        "Look at level0_slowdown_writes_trigger",
    ),
    # RocksDB 3.x: the database's 0.01 GiB are of the default family, the other flushed 0.012.
    _case(
        f"{_BASALT}/LOG-3.x",
        openings=1, intervals=1, seconds=12.2, writes_gib=0.0, compaction_gib=0.022,
        stall_percent=0.0, families__0__total_flush_gib=0.012, families__1__name="connections",
        families__1__levels__0__size_mib=495.55, stalls__level_score__stops=0,
    ),
    # Twelve families, and a LOG cut to its header, which WARN_LEVEL leaves alone in it.
    _screen(
        f"{_OXIGRAPH}/LOG",
        "info_log_level = WARN_LEVEL in the OPTIONS file beside it is above INFO_LEVEL",
        "open the database with info_log_level=INFO_LEVEL",
        status=2,
    ),
    Case(
        artefact=f"{_OXIGRAPH}",
        command=("profile", "{file}"),
        expected=dict.fromkeys(("info_log_level = WARN_LEVEL", "or a trace"), True),
        read=_said("info_log_level = WARN_LEVEL", "or a trace"),
        status=2,
    ),
    # Pasted into issues: the first without a table, the second with its only family at 1,621 s.
    _case(
        f"{_QUEUE}/queue-dbstats.txt",
        openings=1, intervals=1, seconds=4233.0, writes_gib=4.10, writes_mib_s=0.99,
        stall_seconds=308.74, stall_percent=7.3, highest_stall_percent=15.2,
        write_amplification=None, compaction_gib=None,
    ),
    _screen(
        f"{_QUEUE}/queue-dbstats.txt",
        "Writes waited for 7.3% of the time (308.74 s)", "The file counts no reason",
    ),
    _case(
        f"{_QUEUE}/queue-tail.txt",
        openings=1, seconds=2094.8, writes_gib=7.58, stall_percent=0.0, compaction_gib=0.33,
        database__total_writes_count="200M", write_amplification=0.33 / 7.58,
    ),
    _screen(
        f"{_QUEUE}/queue-tail.txt",
        "Writes did not stall.",
        "their last known totals are used, as of 1,621 s: the least that was written",
        "the other 7.25 GiB (96%) were still in memtables or were saved by",
    ),
    # SHOW ENGINE ROCKSDB STATUS: all of it, and the table alone, of which the end is missing.
    _case(
        f"{_MYROCKS}/myrocks-full.txt",
        openings=1, seconds=57886.6, writes_gib=27.78, compaction_gib=474.6,
        write_amplification=474.6 / 27.78, families__0__name="default",
        families__0__levels__5__write_amplification=25.6, families__0__levels__1__files=7,
        families__0__levels__3__size_mib=14167.48, families__0__levels__2__write_gib=247.9,
        stalls__l0_files__delays=3, stalls__pending_compaction_bytes__delays=12,
    ),
    _case(
        f"{_MYROCKS}/myrocks-status.txt",
        openings=1, seconds=57886.6, compaction_gib=474.6, writes_gib=None,
        write_amplification=None, families__0__total_flush_gib=18.273,
        families__0__write_amplification=474.6 / 18.273, stall_percent=None,
    ),
    _screen(
        f"{_MYROCKS}/myrocks-status.txt",
        "write amplification per flushed byte", "25.973",
        "what was written is read from its table by level, which rounds to 0.1 GiB",
        "The file does not show whether writes stalled",
    ),
    _case(
        f"{_MYROCKS}/myrocks-dbstats.txt",
        openings=1, seconds=79985.6, writes_gib=27.78, stall_percent=0.0, compaction_gib=None,
    ),
    # From the journal of Ceph's OSD, each line with a prefix and one cut off by a pager.
    _case(
        f"{_CEPH}/osd-journal.txt",
        openings=1, intervals=1, seconds=600.2, compaction_gib=0.0, stall_percent=None,
        stall_seconds=None,
    ),
    _screen(f"{_CEPH}/osd-journal.txt", "The file does not show whether writes stalled"),
    _screen(f"{_CEPH}/osd-log.txt", "has no interval statistics", status=2),
    # Two runs pasted one after the other.
    _case(
        _BENCH, 0,
        openings=2, rocksdb="8.9.2", seconds=41.5, writes_gib=1.55, compaction_gib=1.34,
        write_amplification=1.34 / 1.55, stall_percent=0.0, stalls__memtables__delays=0,
        families__0__levels__1__moved_gib=1.1,
    ),
    _case(
        _BENCH, 1,
        openings=2, seconds=80.2, writes_gib=3.1, compaction_gib=2.92, stall_seconds=0.005,
        write_amplification=2.92 / 3.1, stalls__memtables__delays=1,
    ),
    _screen(
        _BENCH,
        "of 1.55 GiB of user writes, flushes had written 1.337 GiB by the last dump",
        "2.1 GiB moved to a lower level unchanged (trivial moves)",
        "Look at max_write_buffer_number",
    ),
    _screen(
        f"{_MADE}/uptime-alone.LOG",
        "has no interval statistics but the uptime", "give the LOG", status=2,
    ),
    # The second dump leaves the family of 39.41 GiB out.
    _case(
        f"{_MADE}/partial-families.LOG",
        openings=1, intervals=2, seconds=1200.0, writes_gib=16.2, compaction_gib=45.67,
        write_amplification=45.67 / 16.2, highest_compaction_mib_s=0.04,
        families__1__name="connections", families__1__at_s=600.0,
    ),
    _case(
        f"{_MADE}/two-runs-appended.log", 0,
        openings=2, rocksdb="7.8.3", seconds=4.2, writes_gib=0.15, compaction_gib=0.27,
        stall_percent=0.5, stall_seconds=0.021, stalls__memtables__stops=1,
        families__0__levels__2__compactions=45,
    ),
    _case(
        f"{_MADE}/two-runs-appended.log", 1,
        openings=2, seconds=4.0, compaction_gib=0.27, compaction_mib_s=69.39, stall_percent=0.0,
        stalls__memtables__stops=0,
    ),
    # expected.txt: 0.765 to 0.783 of the whole database.
    replace(
        _case(_FIVE, openings=1, rocksdb="9.8.4", intervals=24, write_amplification=0.7719001918),
        command=("stats", "{file}/LOG", "--json"),
    ),
)  # fmt: skip
