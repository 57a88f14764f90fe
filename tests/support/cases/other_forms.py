"""What people have in place of an OPTIONS file or a LOG: refused in one line, with a way."""

from __future__ import annotations

from collections.abc import Callable

from tests.support.cases.case import Case, Figures, Ran

_COMMANDS = (
    ("bench", "--baseline", "{file}"),
    ("compare", "{file}", "default"),
    ("stats", "{file}"),
    ("profile", "{file}"),
    ("batch", "{file}"),
)
_BY_HAND = "write an OPTIONS file by hand"
_CEPH = (
    _BY_HAND,
    "recycle_log_file_num, max_background_compactions, compaction_readahead_size below the first",
    "the others below the second",
    "leave out flusher_threads, compaction_threads, which RocksDB does not have",
    "`rocktune options ID --format ceph`",
)
_EXTERNAL = (
    "job of the workload external",
    'POST /v1/jobs/ID/trials {"trials": [{"baseline": true, "metrics": {"rate": 1}}]}',
)


def _said(*fragments: str) -> Callable[[Ran], Figures]:
    def read(ran: Ran) -> Figures:
        lines = ran.stderr.count("\n")
        return {"one line": lines == 1} | {each: each in ran.stderr for each in fragments}

    return read


def _refused(artefact: str, *fragments: str) -> list[Case]:
    """The artefact given to each command that could be meant."""
    return [
        Case(
            artefact=artefact,
            command=command,
            expected=dict.fromkeys(("one line", *fragments), True),
            read=_said(*fragments),
            status=2,
        )
        for command in _COMMANDS
    ]


CASES: tuple[Case, ...] = (
    *_refused("54-ceph-option-string/ceph-string.txt", "is an option string of Ceph", *_CEPH),
    *_refused(
        "54-ceph-option-string/ceph.conf",
        "is a configuration of Ceph (bluestore_rocksdb_options)", "inside BlueFS", *_CEPH,
    ),
    *_refused(
        "55-myrocks-cf-options/my.cnf",
        "is a configuration of MyRocks", "the newest OPTIONS-NUMBER of rocksdb_datadir", _BY_HAND,
        "max_total_wal_size below the first",
        "block_size, block_cache inside block_based_table_factory={...} of the second",
        "`rocktune options ID --format string`",
    ),
    *_refused(
        "55-myrocks-cf-options/myrocks-string.txt",
        "is an option string (rocksdb_default_cf_options of MyRocks", _BY_HAND,
        "all below the second",
    ),
    *_refused(
        "67-benchmark-sh-history/report.tsv",
        "is a report of RocksDB's tools/benchmark.sh", *_EXTERNAL,
    ),
)  # fmt: skip
