import math
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from sampler.bench.db_bench import DbBench
from sampler.bench.installed import InstalledDbBench
from sampler.bench.output import DbBenchOutput, complaint, latencies_of, parse_output
from tests.support.sampler.real_runs import OUTPUTS, ended, tiny_plan

REAL = {file.stem: file.read_text() for file in sorted(OUTPUTS.glob("*.txt"))}
LOADS = sorted(name for name in REAL if not name.startswith("fails"))
FAILURES = sorted(REAL.keys() - set(LOADS))
# Operations and seconds of each benchmark; flushed, compacted and user bytes; bytes of live files
# as the rounded table says; percent of stalls.
FIGURES = {
    "load_blob_files": (
        [("fillrandom", 0.951, 50_000), ("overwrite", 0.970, 50_000)],
        (107_784_326, 105_106_151, 105_600_000), int(708.87 * 2**10 + 0.1 * 2**30), 33.3,
    ),
    "load_default_settle_none": (
        [("fillrandom", 1.355, 100_000)],
        (60_143_660, 116_672_453, 105_600_000), int(45.95 * 2**20), 38.2,
    ),
    "load_default_settle_wait": (
        [("fillrandom", 1.525, 100_000)],
        (61_068_865, 185_062_903, 105_600_000), int(38.53 * 2**20), 8.3,
    ),
    "load_settle_flush_compacting": (
        [("fillrandom", 7.230, 30_000)],
        (18_496_292, 108_979_774, 31_680_000), 13_282_205, 80.5,  # of every file, as asked
    ),
    "load_universal_zstd": (
        [("fillrandom", 2.549, 100_000)],
        (50_526_680, 74_856_623, 105_600_000), int(42.45 * 2**20), 58.1,
    ),
    "mixed_50_50_2_threads": (
        [("fillrandom", 1.542, 100_000), ("readrandomwriterandom", 2.230, 100_000)],
        (90_557_701, 243_121_960, 158_396_064), int(35.49 * 2**20), 20.4,
    ),
    "read_while_writing_4_threads": (
        [("fillseq", 2.563, 200_000), ("readwhilewriting", 8.496, 200_000)],
        (234_804_804, 448_158_595, 418_441_920), int(53.26 * 2**20), 53.1,
    ),
    "sine_wave_intervals": (
        [("fillrandom", 20.184, 44_999)],
        (451_506_097, 2_262_108_439, 451_429_968), int(427.10 * 2**20), 41.5,
    ),
}  # fmt: skip
LATENCIES = {
    "load_blob_files": {"write_p50": 3.82, "write_p99": 15.81, "write_p999": 3650.0},
    "load_default_settle_wait": {"write_p50": 3.75, "write_p99": 19.75, "write_p999": 2592.31},
    "mixed_50_50_2_threads": {
        "write_p50": 3.92, "write_p99": 29.39, "write_p999": 5866.67,
        "read_p50": 18.74, "read_p99": 232.35, "read_p999": 9274.14,
    },
    "sine_wave_intervals": {},
}  # fmt: skip


def printed(name: str) -> str:
    """Standard output alone."""
    return REAL[name].partition("\n--- stderr\n")[0]


def said(name: str) -> str:
    return REAL[name].partition("--- stderr\n")[2]


def figures(output: DbBenchOutput) -> list[tuple[str, float, int]]:
    """Of each benchmark its name, seconds and operations."""
    return [(line.name, line.seconds, line.operations) for line in output.lines]


def nonsense(output: DbBenchOutput) -> list[str]:
    """Figures that cannot be."""
    numbers = {
        **{f"seconds of {line.name}": line.seconds for line in output.lines},
        **{f"operations of {line.name}": line.operations for line in output.lines},
        **{f"{line.name} {n}": us for line in output.lines for n, us in line.latencies.items()},
        **output.tickers,
        "live bytes": output.live_bytes or 0,
        "stall percent": output.stall_percent or 0.0,
    }
    return [name for name, number in numbers.items() if not 0 <= number < math.inf]


def test_every_real_output_has_its_figures_here():
    assert set(LOADS) == FIGURES.keys()


@pytest.mark.parametrize("name", LOADS)
def test_figures_of_real_outputs_are_read_exactly(name: str):
    lines, (flushed, compacted, user), live, stalled = FIGURES[name]
    output = parse_output(printed(name))
    assert figures(output) == lines
    assert output.tickers["flush.write.bytes"] == flushed
    assert output.tickers["compact.write.bytes"] == compacted
    assert output.tickers["bytes.written"] == output.tickers["wal.bytes"] == user
    assert output.live_bytes == live
    assert output.stall_percent == stalled
    assert len(output.tickers) == 193


@pytest.mark.parametrize("name", LATENCIES)
def test_latencies_are_those_of_the_last_benchmark_that_has_them(name: str):
    output = parse_output(printed(name))
    assert latencies_of(output.lines) == LATENCIES[name]


def test_latencies_are_those_of_the_benchmarks_that_are_asked_for():
    output = parse_output(printed("mixed_50_50_2_threads"))
    fill, mixture = (line.latencies for line in output.lines)
    assert fill.keys() < mixture.keys() and fill["write_p99"] != mixture["write_p99"]
    assert latencies_of(output.lines[:1]) == fill
    assert latencies_of(output.lines[1:]) == mixture
    assert latencies_of(()) == {}


@pytest.mark.parametrize("name", LOADS)
def test_version_and_warning_are_read_from_either_stream(name: str):
    output = parse_output(REAL[name])
    assert output.version == "7.8.3"
    assert output.warnings == ("Assertions are enabled; benchmarks unnecessarily slow",)


@pytest.mark.db_bench
def test_statistics_of_intervals_among_the_errors_do_not_hide_the_final_ones(
    installed: InstalledDbBench, bench_folder: Path
):
    name = "sine_wave_intervals"
    (bench_folder / "stdout").write_text(printed(name))
    (bench_folder / "stderr").write_text(said(name))
    installed = replace(installed, version="7.8.3")  # which printed it
    outcome = DbBench(installed, tiny_plan(installed)).harvest({}, bench_folder, ended())
    assert outcome.metrics["stall_percent"] == pytest.approx(41.504, abs=1e-3)
    assert outcome.metrics["lsm_bytes"] == int(427.10 * 2**20)


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("fails_assertion_min_level_to_compress",
         "Assertion `FLAGS_min_level_to_compress <= FLAGS_num_levels' failed."),
        ("fails_illegal_flag_value",
         "ERROR: illegal value '1.5' specified for int32 flag 'bloom_bits'"),
        ("fails_open_conflict",
         "open error: Not implemented: If memory mapped writes (allow_mmap_writes) are enabled "
         "then direct I/O writes (use_direct_io_for_flush_and_compaction) must be disabled."),
        ("fails_unknown_flag", "ERROR: unknown command line flag 'max_background_compactors'"),
    ],
)  # fmt: skip
def test_a_refusal_is_told_in_db_bench_s_own_words(name: str, words: str):
    assert complaint(said(name)).endswith(words)
    assert "\n" not in complaint(said(name))


@pytest.mark.parametrize("name", FAILURES)
def test_a_refusal_has_no_figures(name: str):
    output = parse_output(REAL[name])
    assert (output.lines, output.tickers, output.live_bytes) == ((), {}, None)


def test_a_complaint_is_the_last_five_lines_and_never_long():
    assert complaint("\n".join(f"line {i}" for i in range(99))).split("\n") == [
        f"line {i}" for i in range(94, 99)
    ]
    assert len(complaint("x" * 10_000)) == 2000
    assert complaint(" \n\n") == ""


HEADERS = """Set seed to 1764084669 because --seed was 0
Initializing RocksDB Options from the specified file
Integrated BlobDB: blob cache disabled
RocksDB:    version 7.8.3
Date:       Wed Nov 25 15:31:09 2026
CPU:        2 * AMD EPYC
CPUCache:   1024 KB
Keys:       16 bytes each (+ 0 bytes user-defined timestamp)
Values:     100 bytes each (50 bytes after compression)
Memtablerep: SkipListFactory
WARNING: Assertions are enabled; benchmarks unnecessarily slow
------------------------------------------------
entries_per_batch = 1
num reads to do 5
"""


@pytest.mark.parametrize(
    "words",
    ["", "open error: IO error: while open a file", "unknown benchmark 'fillrandon'",
     "Please set --trace_file to be replayed from"],
)  # fmt: skip
def test_db_bench_s_header_is_no_complaint(words: str):
    assert complaint(f"{HEADERS}{words}\n") == words
    assert complaint(f"{words}\n{HEADERS}") == words


def test_of_two_dumps_the_last_counts():
    first, second = printed("load_default_settle_none"), printed("load_default_settle_wait")
    output = parse_output(first + "\n" + second)
    assert output.tickers["compact.write.bytes"] == 185_062_903
    assert output.stall_percent == 8.3


def test_tables_and_blob_files_are_counted_once_however_often_they_are_listed():
    listed = (
        "--- level 0 --- version# 7 ---\n 12:1000[1 .. 9]['a' seq:1 .. 'b' seq:2] temp\n"
        "--- level 1 --- version# 7 ---\n 13:500[1 .. 9]['a' seq:1 .. 'b' seq:2]\n"
        "--- blob files --- version# 7 ---\n"
        "blob_file_number: 14 total_blob_count: 3 total_blob_bytes: 300 garbage\n"
    )
    table = " Sum      1/0    9.00 GB   0.0\n"
    assert parse_output(table + listed).live_bytes == 1000 + 500 + 300 + 30 + 32
    assert parse_output(listed + listed).live_bytes == parse_output(listed).live_bytes


@pytest.mark.slow
@pytest.mark.parametrize("name", sorted(REAL))
def test_output_cut_off_anywhere_gives_figures_of_the_whole_or_none(name: str):
    whole = parse_output(REAL[name])
    for end in range(0, len(REAL[name]), 50 if len(REAL[name]) < 50_000 else 250):
        part = parse_output(REAL[name][:end])
        assert nonsense(part) == [], end
        assert figures(part) == figures(whole)[: len(part.lines)], end
        assert part.tickers.items() <= whole.tickers.items(), end


@st.composite
def mutated(draw: st.DrawFn) -> str:
    """Real output in which pieces were replaced, moved or lost."""
    text = REAL[draw(st.sampled_from(sorted(REAL)))]
    for _ in range(draw(st.integers(1, 6))):
        begin = draw(st.integers(0, len(text)))
        end = min(len(text), begin + draw(st.integers(0, 60)))
        put = draw(
            st.one_of(
                st.text(max_size=20),
                st.from_regex(r"[-+]?\d{1,400}(\.\d{1,9})?", fullmatch=True),
                st.sampled_from(["nan", "inf", "-1", "-0.0", "1e999", "\n", "\r", "\0", " "]),
            )
        )
        text = text[:begin] + put + text[end:]
    return text


HUGE = "9" * 400


@given(st.one_of(mutated(), st.text(), st.binary().map(lambda b: b.decode("utf-8", "replace"))))
@example(f" Sum     45/0   {HUGE} KB   0.0      0.2\n")
@example(f"Cumulative stall: 00:00:0.543 H:M:S, {HUGE} percent\n")
@example(f"Microseconds per write:\nCount: 1\nPercentiles: P50: {HUGE} P75: 4.92\n")
@example(f"Blob file count: 0, total size: {HUGE} GB\n Sum     45/0   1.0 KB   0.0\n")
@example(f"fillrandom : {HUGE} micros/op {HUGE} ops/sec {HUGE} seconds {HUGE} operations\n")
@example(f"rocksdb.bytes.written COUNT : {HUGE}\n")
def test_no_output_breaks_the_parser_or_makes_it_tell_nonsense(text: str):
    assert nonsense(parse_output(text)) == []
