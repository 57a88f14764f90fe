"""OPTIONS files of RocksDB 4.3 to 10.7.

Memory is worked out by hand: write_buffer_size * max_write_buffer_number plus the block cache of
the file, 8 MiB where it names none. Write amplification has a wide tolerance, for how compactions
fall moves it by a tenth from run to run.
"""

from __future__ import annotations

import json
from dataclasses import replace

from sampler.bench.accepted import accepted_part
from sampler.bench.installed import find_db_bench, probe
from sampler.rocksdb.forms import read_user_options
from sampler.rocksdb.measured_part import measured_part
from sampler.rocksdb.options_file import CF
from tests.support import DATA
from tests.support.cases.case import ARTEFACTS, Case, Figures, Ran

MIB = 2**20
# Write amplification is the same with a quarter of the keys at a quarter of the sizes.
_QUARTER = ("--workload", str(DATA / "quarter-of-load-quick.toml"))
# But not where 16 threads compact such small files beside a busy machine.
_AS_IT_IS: tuple[str, ...] = ()


def _bench(ran: Ran) -> Figures:
    """State, metrics and warnings of a run."""
    document = json.loads(ran.stdout)
    return {"state": document["state"], **document["metrics"], "warnings": document["warnings"]}


def _told(*fragments: str) -> dict[str, object]:
    return dict.fromkeys(fragments, True)


def _reading(*fragments: str, refused: bool = False):  # type: ignore[no-untyped-def]
    """Reads a run, and which fragments its warnings (or what refuses it) hold."""

    def read(ran: Ran) -> Figures:
        text = ran.stderr if refused else "\n".join(_bench(ran)["warnings"])  # type: ignore[arg-type]
        found = {} if refused else _bench(ran)
        return {**found, "one line": ran.stderr.count("\n") == 1} | {
            each: each in text for each in fragments
        }

    return read


def _measured(
    artefact: str,
    memory: int,
    *told: str,
    waf: float | None = None,
    drop: bool = False,
    sooner: tuple[str, ...] = _QUARTER,
    more: tuple[str, ...] = (),
    untold: tuple[str, ...] = (),
) -> Case:
    """A file that is measured as it is, with its warnings: all of ``told``, none of ``untold``."""
    figures = {"state": "done", "memory": float(memory)} | ({} if waf is None else {"waf": waf})
    return Case(
        artefact=artefact,
        command=(
            "bench",
            "--json",
            "--baseline",
            "{file}",
            *more,
            *(["--drop-unknown"] if drop else []),
        ),
        expected={**figures, **_told(*told), **dict.fromkeys(untold, False)},
        read=_reading(*told, *untold),
        within=0.2,
        db_bench=True,
        sooner=sooner,
    )


def _in_effect(case: Case, key: str, value: str) -> Case:
    """The case, and that RocksDB itself has this in effect of what is measured of the file."""
    name = f"{key} in effect"

    def read(ran: Ran) -> Figures:
        build = probe(find_db_bench("db_bench"))
        file = read_user_options((ARTEFACTS / case.artefact).read_text(encoding="utf-8"))
        effect = accepted_part(build, measured_part(file, 1)).effect
        return {**case.read(ran), name: effect.get(CF, key) if effect else None}

    return replace(case, expected={**case.expected, name: value}, read=read)


def _refused(artefact: str, command: str, *told: str, build: str = "") -> Case:
    """A file that is refused in one line, before anything is made.

    Without a ``build`` the installed one that is nearest to the file's version measures.
    """
    return Case(
        artefact=artefact,
        command=(command, "--baseline", "{file}", *(["--db-bench", build] if build else [])),
        expected={"one line": True, **_told(*told)},
        read=_reading(*told, refused=True),
        status=2,
        db_bench=True,
    )


_NEWER = (
    "compaction_verify_record_count (since 8.6)",
    "block_protection_bytes_per_key",
    "memtable_max_range_deletions",
    "bottommost_file_compaction_delay",
    "--drop-unknown leaves them out",
)
_LLM = "08-llm-tuner-inputs/"
_TABLED = "12-ycsb-6.26-load-profile/dbsnappyload.ini"
_EXAMPLE = "09-rocksdb-own-example-4.3/OPTIONS.ini"
_OWN_TESTS = "17-rocksdb-own-tests/"
_MADE = "40-made-from-the-failures/"
_SURREAL = "42-surrealdb-10.6.2-options/"

CASES: tuple[Case, ...] = (
    _measured("01-kafka-streams-6.8-options/OPTIONS", 136 * MIB, waf=2.4),
    _measured(
        "04-ardb-custom-comparator-5.14/OPTIONS",
        136 * MIB,
        "comparator = ardb.comparator: left out",
        "merge_operator = ardb.merger: not known",
        "prefix_extractor = ardb.prefix_extractor: not known",
        "compaction_filter_factory = ardb.compact_filter_factory: left out",
        waf=2.4,
        sooner=_AS_IT_IS,
    ),
    _measured("05-study-5.17-options/OPTIONS", 136 * MIB, waf=2.4),
    *(
        _refused(_LLM + name, "bench", *_NEWER, build="default")
        for name in (
            "NebulaGraph_default_options.ini",
            "rocksdb-tuning-suggestions.ini",
            "kvrocks_default_options.ini",
            "good_options.ini",
        )
    ),
    # Four write buffers of 128 MiB.
    _measured(_LLM + "good_options.ini", 520 * MIB, "write buffers of 512 MiB", drop=True),
    _measured(_LLM + "NebulaGraph_default_options.ini", 264 * MIB, drop=True),
    _measured(
        _LLM + "bad_options.ini",
        40 * MIB,
        "soft_pending_compaction_bytes_limit = 68719476736: RocksDB changes it to 21474836480",
        "max_background_compactions = 1, max_background_flushes = 1",
        drop=True,
    ),
    _measured(_LLM + "dbbench_default_options-7.10.2.ini", 136 * MIB, waf=2.4),
    _measured(
        _EXAMPLE, 1032 * MIB, "write buffers of 1 GiB", "use `workload` load", sooner=_AS_IT_IS
    ),
    _refused(
        _EXAMPLE,
        "tune",
        "filter_policy (line 133) = rocksdb.BuiltinBloomFilter does not say the bits per key",
        "filter_policy=bloomfilter:10:false",
    ),
    # 64 MiB * 4 + 8 MiB; LZ4 nowhere, ZSTD at the bottom only, a Bloom filter of 10 bits.
    _measured(_TABLED, 264 * MIB, "amount to 12 threads"),
    *(
        _measured(f"15-block-cache-in-file/{name}.ini", 384 * MIB, waf=2.4)
        for name in ("plain", "structure")
    ),
    # A file of 9.1.1: where 9.10 is installed it measures, with the dynamic level sizes that are
    # its default (2.63 to 2.97 in nine runs); 7.8.3 has none (2.13 to 2.34 in three).
    _measured(
        "15-block-cache-in-file/secondary.ini",
        384 * MIB,
        "secondary_cache of block_cache (CacheLibSecondaryCache)",
        waf=2.6,
    ),
    _measured(_OWN_TESTS + "options_test.ini", 136 * MIB, "amount to 302 threads"),
    _refused(
        _OWN_TESTS + "db_bench_tool_test.ini",
        "bench",
        '[CFOptions "default"] prepopulate_blob_cache (line 100) = kDisable;',
        "No mapping for enum",
    ),
    # Of a list only the field that this RocksDB does not know is refused, or left out.
    _refused(
        _SURREAL + "smallest.ini",
        "bench",
        "does not know table_properties_collectors.min_file_size (since 10.4 or earlier). ",
    ),
    _in_effect(
        _measured(
            _SURREAL + "smallest.ini",
            136 * MIB,
            "table_properties_collectors.min_file_size: RocksDB",
            drop=True,
        ),
        "table_properties_collectors",
        "{{id=CompactOnDeletionCollector;deletion_ratio=0.500000;deletion_trigger=50;"
        "window_size=1000;}}",
    ),
    _refused(
        _SURREAL + "OPTIONS",
        "bench",
        "track_and_verify_wals (since 9.11)",
        "memtable_op_scan_flush_trigger (since 10.2)",
        "memtable_avg_op_scan_flush_trigger",
        "cf_allow_ingest_behind (since 10.6)",
        "compaction_options_universal.reduce_file_locking (since 10.4)",
        "table_properties_collectors.min_file_size",
    ),
    _measured(
        "47-oxigraph-10.7.5-twelve-families/OPTIONS",
        776 * MIB,
        "column families default, id2str, posg, ospg, gspo, gpos, gosp, dspo, dpos, dosp, graphs: "
        "not measured; only spog is",
        "rocksdb.FixedPrefix.17",
        drop=True,
        more=("--column-family", "spog"),
    ),
    # By hand from Ceph's string and from my.cnf: 32 * 64 MiB, 4 * 128 MiB; a cache of 8 MiB each.
    _measured(
        "54-ceph-option-string/ceph-by-hand.ini",
        2056 * MIB,
        "max_background_compactions = 31",
        "amount to 32 threads",
        "write buffers of 2 GiB",
    ),
    # Its prefixes of 20 bytes are all of a key of the load, so that the filter holds something.
    _measured(
        "55-myrocks-cf-options/my-by-hand.ini",
        520 * MIB,
        "the filter holds only prefixes (whole_key_filtering = false)",
        "in what is measured it holds every key of the load",
    ),
    # A filter that the file names without its bits.
    _measured(
        "68-builtin-bloom-filter/smallest.ini",
        136 * MIB,
        "filter_policy = rocksdb.BuiltinBloomFilter: RocksDB makes no filter from this text",
        "nothing is filtered while measuring",
        "filter_policy=bloomfilter:10:false",
    ),
    _measured("68-builtin-bloom-filter/with-bits.ini", 136 * MIB, untold=("filter_policy",)),
    _measured(
        _MADE + "vector-memtable.ini",
        16 * MIB,
        "allow_concurrent_memtable_write is not in the file: measured with false",
        "memtable_factory = VectorRepFactory",
    ),
    _measured(_MADE + "collectors.ini", 136 * MIB, untold=("collectors",)),
    _measured(_MADE + "ardb-without-arena.ini", 136 * MIB, waf=2.4, sooner=_AS_IT_IS),
    # 16 MiB for all memtables and 8 MiB of cache; 5.0 was measured at scale 1.
    _measured(_MADE + "db_write_buffer_size.ini", 24 * MIB, waf=4.75),
)
