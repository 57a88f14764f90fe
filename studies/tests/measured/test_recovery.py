"""What is true of a known load, and what the page says of profiles that are off."""

import tomllib
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from sampler.bench.settings import Settings
from sampler.workload.workload_file import workload_from_document
from studies.recovery.known_load import KnownLoad, taking_half, trace_truth_of, truth_of
from studies.recovery.loads import LOADS, TRANSFERRED
from studies.recovery.making import STATISTICS, build_of, make_database, recovered
from studies.recovery.page import Figure, figures_of, write_page
from studies.recovery.transfer import agreement, full_size

BY_NAME = {load.name: load for load in LOADS}
SNAPPY = {"compression_type": "snappy"}
HOST = {"cpu": "c", "cores": 2, "memory_bytes": 2**30, "file_system": "ext4", "system": "Debian"}
ABOUT = {"load": "fill", "rocksdb": "7.8.3", "ended": "2026-11-26T10:00:00+00:00", "host": HOST}


def load(*benchmarks: str, **flags: float) -> KnownLoad:
    return KnownLoad("a", benchmarks, {"num": 1000, "writes": 1000, "value_size": 100, **flags},
                     SNAPPY)  # fmt: skip


@pytest.mark.parametrize(
    ("known", "first", "draws"),
    [
        (load("fillrandom", writes=3000), 0, 3000),
        (load("filluniquerandom", "overwrite", writes=600), 600, 600),
        (load("fillrandom", "updaterandom", reads=2500), 0, 3500),
    ],
)
def test_overwrites_are_what_drawing_the_keys_gives(known, first, draws):
    rng, shares = np.random.default_rng(3), []
    for _ in range(200):
        distinct = len(set(range(first)) | set(rng.integers(0, 1000, draws)))
        shares.append(1 - distinct / (first + draws))
    assert known.overwrite_share == pytest.approx(np.mean(shares), abs=0.003)


def test_operations_are_those_of_the_flags():
    both = load("filluniquerandom", "readrandomwriterandom", reads=4000, readwritepercent=70)
    assert truth_of(both)["mix"] == {"put": 2200 / 5000, "get": 2800 / 5000}
    batched = load("seekrandom", "multireadrandom", reads=500, batch_size=10)
    assert batched.operations == {"seek": 500, "multiget": 50}
    assert load("fillrandom", "deleterandom", deletes=250).operations["delete"] == 250
    merged = load("readrandommergerandom", mergereadpercent=60).operations
    assert merged == {"merge": 600, "get": 400}


def test_values_and_what_a_log_cannot_tell():
    spread = KnownLoad("a", ("fillrandom",), {"num": 9, "writes": 9, "value_size_min": 32,
                       "value_size_max": 1024}, {"compression_type": "none"})  # fmt: skip
    assert truth_of(spread)["value_size"] == 528
    assert truth_of(spread)["compression_ratio"] is None
    assert truth_of(BY_NAME["small-values"])["compression_ratio"] is None
    assert load("fillrandom", "mixgraph", reads=10).overwrite_share is None


def test_half_of_the_operations_take_half_of_even_keys_and_fewer_of_skewed_ones():
    assert taking_half(np.full(2000, 1e6)) == pytest.approx(0.5, abs=0.01)
    assert taking_half(np.array([1e6, *[1e5] * 9])) == 0.1
    exponent, num, reads = 6.0, 50_000, 200_000
    skewed = load("fillrandom", "readrandom", num=num, reads=reads, read_random_exp_range=exponent)
    drawn = num * np.exp(-exponent * np.random.default_rng(5).random(reads))
    _, counts = np.unique(drawn.astype(int), return_counts=True)
    counts = np.sort(counts)[::-1]
    share = (np.searchsorted(np.cumsum(counts), reads / 2) + 1) / len(counts)
    assert trace_truth_of(skewed)["read_skew"] == pytest.approx(share, rel=0.03)
    assert trace_truth_of(skewed)["write_skew"] is None


def test_the_loads_are_of_all_kinds():
    assert len(BY_NAME) == 22 and set(TRANSFERRED) <= set(BY_NAME)
    codecs = {each.options["compression_type"] for each in LOADS}
    assert codecs == {"none", "snappy", "lz4", "zstd"}
    assert {len(each.families) for each in LOADS} == {1, 2, 4}
    done = {name for each in LOADS for name in each.operations}
    assert done == {"put", "delete", "merge", "get", "seek", "multiget"}
    shares = [each.overwrite_share for each in LOADS if each.overwrite_share is not None]
    assert min(shares) == pytest.approx(0, abs=1e-9) and max(shares) > 0.8
    assert sum(each.traced for each in LOADS) == 5
    assert {each.build for each in LOADS} == {"default", "9.10.0"}
    mixed = trace_truth_of(BY_NAME["graph"])
    assert 0 < mixed["write_skew"] < 0.4 and 0 < mixed["read_skew"] < 0.4


@pytest.mark.parametrize("name", TRANSFERRED)
def test_the_full_size_load_is_a_workload_of_what_made_the_database(name):
    known = BY_NAME[name]
    workload = workload_from_document(tomllib.loads(full_size(known)))
    assert (workload.num, workload.scale) == (known.flags["num"], 1)
    flags = dict(workload.flags)
    assert all(flags[each] == known.flags[each] for each in {"writes", "reads"} & set(known.flags))


@pytest.mark.parametrize(
    ("name", "true", "found", "error", "verdict"),
    [
        ("waf", 2.0, 2.05, 0.025, "within"),
        ("waf", 2.0, 1.9, 0.05, "off"),
        ("key_size", 50, 51, 0.02, "within"),
        ("value_size", 100, 97.9, -0.021, "off"),
        ("mix", {"put": 0.8, "get": 0.2}, {"put": 0.75, "get": 0.2, "seek": 0.05}, 0.05, "off"),
        ("mix", {"put": 1.0}, {"put": 0.98, "get": 0.02}, 0.02, "within"),
        ("mix", {"put": 0.9, "get": 0.1}, {"put": 1.0}, None, "not told"),
        ("compression_ratio", 0.5, 0.53, 0.06, "off"),
        ("overwrite_share", 0.3, 0.34, 0.04, "within"),
        ("read_skew", 0.1, 0.109, 0.09, "within"),
        ("read_skew", 0.1, None, None, "not told"),
        ("compression_ratio", None, 0.5, None, "-"),
    ],
)
def test_a_figure_is_off_by_its_own_limit(name, true, found, error, verdict):
    figure = Figure(name, true, found)
    assert figure.verdict == verdict
    got = None if figure.error is None else abs(figure.error)
    assert got == (None if error is None else pytest.approx(abs(error)))


SCALED, FULL = "-9.0% [-10.0, -8.0]", "-7.0% [-12.0, -2.0]"


def log_row(families: list[str], **found: Any) -> dict[str, Any]:
    told = {"key_size": 16.0, "value_size": 100.0, "compression_ratio": 0.5,
            "overwrite_share": 0.4, "read_skew": None, "write_skew": None, **found}  # fmt: skip
    return {"kind": "log", **ABOUT, "families": families,
            "true": {**truth_of(BY_NAME["fill"]), "waf": 2.0},
            "found": {"mix": {"put": 1.0}, "waf": 2.05,
                      "families": dict.fromkeys(families, told)}}  # fmt: skip


def test_the_page_tells_hits_misses_and_what_is_not_told(tmp_path: Path):
    fidelity = {"rows": [
        {"what": "write amplification", "database": 4.0, "load": 5.0, "verdict": "differs"},
        {"what": "levels used", "database": 2.0, "load": 2.0, "verdict": "fits"},
        {"what": "level where most bytes lie", "database": 1.5, "load": None,
         "verdict": "unknown"},
    ], "fits": False}  # fmt: skip
    check = {"kind": "fidelity", **ABOUT, "rocksdb_version": "7.8.3", "column_family": "default",
             "fidelity": fidelity}  # fmt: skip
    waf = [{"percent": -9.0, "low": -10.0, "high": -8.0},
           {"percent": -7.0, "low": -12.0, "high": -2.0}]  # fmt: skip
    moved = {"kind": "transfer", **ABOUT, "confirmed": True, "proven": {"waf": waf[0]},
             "full": {"waf": waf[1]}}  # fmt: skip
    rows = [log_row(["default"], value_size=1.0), check, moved,
            log_row(["default", "b"], value_size=104.0, compression_ratio=None,
                    overwrite_share=None, doubted={"overwrite_share": 0.9})]  # fmt: skip
    write_page(tmp_path / "recovery.md", rows)
    text = (tmp_path / "recovery.md").read_text()
    assert "| log | value bytes | 2% | 0 | 2 | 0 | 0 | 0 | 4.0%, fill |" in text
    assert "| log | compressibility | 5% | 0 | 0 | 0 | 0 | 2 | 0.0%, - |" in text
    assert "| log | overwrites | 5 points | 0 | 0 | 2 | 0 | 0 | 0.0 points, - |" in text
    assert "| log | mix | 3 points | 1 | 0 | 0 | 0 | 0 |" in text
    assert "Of 10 figures of LOGs 4 are not told (40.0%): 2 were doubted rightly" in text
    cells = "100; 104: **+4.0%** | put 100%; put 100%: +0.0 points | 0.5: **not told** |"
    assert f"| fill | 7.8.3 | default | 16; 16: +0.0% | {cells}" in text
    assert "36.8%; 90.0%: **rightly doubted** | 2; 2.05: +2.5% |" in text
    fits = "| **4, 5** | 2, 2 | not told | **does not fit**, one run | write amplification |"
    assert f"| fill | 7.8.3 | default {fits}" in text
    assert f"| fill | 7.8.3 | yes | WAF | {SCALED} | {FULL} | agrees |" in text
    assert "| fill | 7.8.3 | yes | RATE | - | - | - |" in text
    assert "\n\n## Why some are off\n" in text


def test_a_doubt_is_right_where_the_figure_would_have_been_off():
    assert Figure("overwrite_share", 0.0, None, 0.94).verdict == "rightly doubted"
    assert Figure("overwrite_share", 0.9, None, 0.94).verdict == "wrongly doubted"
    assert Figure("overwrite_share", 0.9, None).verdict == "not told"


def test_changes_agree_where_their_intervals_meet():
    small, large, worse = (
        {"percent": middle, "low": middle - 2, "high": middle + 2} for middle in (-10, -30, 8)
    )
    assert agreement(small, {**large, "high": -12}) == "agrees"
    assert agreement(small, large) == "same way"
    assert agreement(small, worse) == "**other way**"
    assert agreement(small, None) == "-"


def tiny(known: KnownLoad) -> KnownLoad:
    """The same load with a twentieth of the keys and operations, and memtables to match."""
    counts = {"num", "writes", "reads", "deletes"} & known.flags.keys()
    fewer = {name: int(known.flags[name]) // 20 for name in counts}
    sizes = {name: value for name, value in known.options.items() if name != "compression_type"}
    smaller = {name: max(64 << 10, int(size) // 20) for name, size in sizes.items()}
    flags, options = {**known.flags, **fewer}, {**known.options, **smaller}
    return replace(known, flags=flags, options=options, build="default")


@pytest.mark.slow
@pytest.mark.db_bench
@pytest.mark.parametrize("name", ["updates", "reads-writes"])
def test_a_tiny_database_is_made_and_told(name, tmp_path: Path, settings: Settings):
    known = tiny(BY_NAME[name])
    assert build_of(known, settings) == "default"
    kept = make_database(known, tmp_path, settings)
    kinds = {path.name.split("-")[0] for path in kept.iterdir()}
    assert kinds == {"LOG", "OPTIONS", STATISTICS, *(["trace"] if known.traced else [])}
    assert make_database(known, tmp_path, settings) == kept
    rows = recovered(known, kept, settings)
    assert [row["kind"] for row in rows] == ["log", "trace"][: len(rows)]
    assert len(rows) == 1 + known.traced
    for row in rows:
        ((family, figures),) = figures_of(row)
        assert family == "default"
        told = {each.name: each.verdict for each in figures}
        # Overwrites are estimated by what compactions drop, of which so few keys tell little.
        assert {told[each] for each in ("key_size", "value_size", "mix")} == {"within"}


def test_a_build_that_is_not_here_gives_way_to_the_one_on_path(settings: Settings, capsys):
    assert build_of(BY_NAME["deletes"], settings) is None
    assert "the build on PATH takes its place" in capsys.readouterr().out
