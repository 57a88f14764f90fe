import math
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from sampler.common.errors import InputError
from sampler.workload.workload import Prepare, Workload, least_user_bytes
from sampler.workload.workload_file import (
    SHIPPED,
    load_workload,
    workload_document,
    workload_from_document,
)
from tests.support import DATA

SINE = ("sine", "warlo-command")
BAD = sorted((DATA / "bad_workloads").glob("*.toml"))
GOOD = sorted((DATA / "good_workloads").glob("*.toml"))


@pytest.mark.parametrize("name", [name for name in SHIPPED if name not in ("external", *SINE)])
def test_a_shipped_workload_settles_fully_at_its_scale_and_says_what_it_is(name: str):
    workload = load_workload(name)
    scale = 128 if name.startswith("samsung-") else 64
    assert (workload.name, workload.settle, workload.scale) == (name, "wait", scale)
    assert len(workload.help) > 20


def test_load_quick_is_100_000_random_writes_of_1040_bytes():
    workload = load_workload("load-quick")
    assert workload.benchmarks == ("fillrandom",)
    assert workload.user_bytes() == 100_000 * 1040


def test_sine_is_the_wave_of_the_thesis_with_time_and_sizes_divided_by_its_scale():
    sine = load_workload("sine")
    full = sine.at_scale(1)
    for load, period in ((sine, 17.5), (full, 350.0)):
        flags = dict(load.flags)
        assert flags["sine_write_rate"] is True
        assert flags["sine_b"] * period == pytest.approx(2 * math.pi, rel=1e-6)
        written = load.num * (load.key_size + load.value_size)
        assert written / flags["sine_d"] == pytest.approx(period, rel=1e-3)  # one wave exactly
    assert dict(full.flags)["sine_write_rate_interval_milliseconds"] == 10_000
    lowest = flags["sine_d"] + flags["sine_a"] * math.sin(flags["sine_c"])
    assert (lowest, flags["sine_a"] + flags["sine_d"]) == pytest.approx((50e6, 200e6))


def test_mixed_measures_the_mixture_alone():
    workload = load_workload("mixed-50-50")
    assert workload.measured == ("readrandomwriterandom",)
    assert dict(workload.flags) == {"readwritepercent": 50}
    assert workload.user_bytes() == 450_000 * 1040


@pytest.mark.parametrize(("name", "writes"), [("samsung-80-20", 0.2), ("samsung-50-50", 0.5)])
def test_samsungs_loads_write_each_key_once_and_then_their_share(name: str, writes: float):
    workload = load_workload(name)
    assert (workload.threads, workload.key_size, workload.value_size) == (16, 16, 800)
    assert workload.threads * dict(workload.flags)["writes"] == workload.num
    assert workload.user_bytes() == pytest.approx(17_200 * 816 * (1 + writes))
    # Random writes of n keys, n and the share of n: 1 - exp(-1.2) and 1 - exp(-1.5) of them.
    left = {0.2: 0.6988, 0.5: 0.7769}[writes]
    assert workload.distinct_keys(16) == pytest.approx(left * workload.num, rel=1e-3)


@pytest.mark.parametrize("file", BAD, ids=lambda file: file.stem)
def test_a_wrong_workload_is_refused_in_one_line_that_names_field_and_mend(file: Path):
    expected = file.read_text().splitlines()[0].removeprefix("# error: ")
    with pytest.raises(InputError) as refused:
        load_workload(str(file))
    assert expected in str(refused.value)
    assert "\n" not in str(refused.value)


@pytest.mark.parametrize("given", [*SHIPPED, *map(str, GOOD)], ids=lambda given: Path(given).stem)
def test_a_workload_survives_being_written_and_read(given: str):
    workload = load_workload(given)
    assert workload_from_document(workload_document(workload)) == workload


def test_there_are_files_of_both_kinds():
    assert len(BAD) >= 30 and len(GOOD) >= 5


def test_a_command_takes_the_place_of_db_bench():
    workload = load_workload(str(DATA / "good_workloads" / "command.toml"))
    assert workload.command.argv == ("./bench.sh", "{configuration}")
    assert workload.timeout_seconds == workload.command.timeout_seconds == 600
    assert workload.scale == 1


@pytest.mark.parametrize(
    ("document", "field"),
    [
        ({"num": 5, "command": {"argv": ["a"]}}, "num"),
        # db_bench would ignore an option of RocksDB among the flags.
        ({"flags": {"write_buffer_size": 8388608}}, "flags.write_buffer_size"),
        ({"benchmarks": ["readrandomwriterandom"], "flags": {"readwritepercent": "half"}},
         "flags.readwritepercent"),
        ({"prepare": None}, "prepare"),
        ({"command": None}, "command"),
        ({"trace": "t", "trace_until": None}, "trace_until"),
    ],
)  # fmt: skip
def test_a_document_that_is_wrong_is_refused_by_its_field(document: dict[str, Any], field: str):
    with pytest.raises(InputError) as refused:
        workload_from_document({"name": "w", **document})
    assert refused.value.field == f"workload.{field}"


def test_what_a_preparation_does_not_say_is_the_workload_s():
    workload = load_workload(str(DATA / "good_workloads" / "prepared_simply.toml"))
    assert workload.prepare == Prepare(benchmarks=("fillrandom",), num=100_000)
    assert workload.only_reads and workload.owes == "none"
    assert (workload.user_bytes(), workload.loaded_bytes()) == (0, 100_000 * 1040)


def test_a_workload_without_a_preparation_has_the_document_that_it_always_had():
    assert "prepare" not in workload_document(load_workload("mixed-quick"))
    assert load_workload("mixed-quick").prepare is None


def test_a_prepared_load_at_another_scale_is_prepared_as_many_times_larger():
    larger = load_workload("read-quick").at_scale(16)
    assert (larger.num, larger.prepare.num) == (240_000, 240_000)


@pytest.mark.parametrize("name", ["read-quick", "readwhilewriting-quick"])
def test_a_shipped_reading_load_fills_more_than_the_write_buffers(name: str):
    workload = load_workload(name)
    assert workload.loaded_bytes() >= least_user_bytes(128 * 2**20, 64)


def test_a_bound_of_operations_counts_those_that_are_asked_for():
    reads = load_workload("read-quick")
    assert reads.operations(2) == 200_000
    timed = replace(reads, flags=(("duration", 3), ("reads", 5)))
    assert timed.operations(1) is None
    assert replace(reads, flags=()).operations(1) == 60_000


def test_threads_come_from_the_configuration_where_it_has_them():
    workload = Workload(name="w", threads=2)
    assert workload.threads_of({}) == 2
    assert workload.threads_of({"threads": 4}) == 4


def left(*benchmarks: str, threads: int = 1, written: float | None = None, **fields: Any) -> float:
    """The keys that a load of 1,000 keys leaves."""
    load = Workload(name="w", benchmarks=benchmarks, **{"num": 1000, **fields})
    return load.distinct_keys(threads, written)


def test_expected_numbers_of_distinct_keys():
    # Random writes leave 63 percent of the keys, and overwrites add to them.
    once, twice = left("fillrandom"), left("fillrandom", threads=2)
    assert once == pytest.approx(632.3, abs=0.1) and twice == pytest.approx(864.8, abs=0.1)
    assert left("fillrandom", "overwrite") == twice
    assert left("fillrandom", num=1) == 1.0
    # A sequential fill leaves every key that it writes, whatever follows.
    assert left("fillseq", "overwrite", threads=4) == 1000
    part = 100 + 900 * (1 - (1 - 1 / 1000) ** 100)
    assert left("fillseq", "overwrite", flags=(("writes", 100),)) == pytest.approx(part)
    # Deletes are not counted, reads leave nothing, and batches are whole.
    assert left("fillrandom", "deleterandom", written=2000) == once
    assert left("readrandom") == 0.0
    assert left("fillbatch", num=2500) == 2000


def test_what_was_counted_says_how_much_a_load_wrote_that_is_not_known_before():
    counted = pytest.approx(1000 * -math.expm1(-3), rel=1e-3)
    assert left("fillrandom", "overwrite", written=3000, flags=(("duration", 3),)) == counted
    assert left("fillrandom", "readwhilewriting", written=3000) == counted
    assert left("fillrandom", "overwrite", written=3000) == left("fillrandom", "overwrite")
    # A sequential fill is not counted twice beside writes of unknown number.
    assert left("fillseq", "readwhilewriting", threads=2, written=2500) == 1000
    found = left("fillseq", "readwhilewriting", threads=2, written=700, flags=(("writes", 100),))
    assert found == pytest.approx(100 + 900 * (1 - (1 - 1 / 1000) ** 500))


def test_bytes_that_a_load_writes():
    def user_bytes(*benchmarks: str, num: int = 1000, **flags: int) -> int:
        given = tuple(flags.items())
        return Workload(name="w", num=num, benchmarks=benchmarks, flags=given).user_bytes()

    assert user_bytes("readrandomwriterandom", readwritepercent=75) == 250 * 1040
    assert user_bytes("fillrandom", reads=10, writes=300) == 300 * 1040
    assert user_bytes("fillseq", "overwrite", writes=100) == 2 * 100 * 1040
    assert user_bytes("fillbatch", num=2500) == 2000 * 1040


@pytest.mark.parametrize("benchmark", ["readrandomwriterandom", "updaterandom"])
@pytest.mark.parametrize(
    ("flags", "operations"),
    [
        ({"reads": 400}, 400),
        ({"writes": 600}, 600),
        ({"reads": 400, "writes": 600}, 600),
        ({"reads": 600, "writes": 400}, 600),
        ({"reads": -1, "writes": -1}, 1000),
    ],
)
def test_what_reads_and_writes_in_turn_does_the_larger_number_of_both(
    benchmark: str, flags: dict[str, int], operations: int
):
    given = tuple({"readwritepercent": 75, **flags}.items())
    load = Workload(name="w", num=1000, benchmarks=(benchmark,), flags=given)
    share = 0.25 if benchmark == "readrandomwriterandom" else 1
    assert load.user_bytes() == operations * share * 1040
    assert load.operations(2) == 2 * operations


def test_mixed_quick_writes_12_500_of_its_25_000_operations_in_each_thread():
    mixed = load_workload("mixed-quick")
    assert mixed.user_bytes() == (50_000 + 12_500) * 1040
    assert mixed.distinct_keys(2) == pytest.approx(50_000 * -math.expm1(-2.5), rel=1e-4)


def test_the_least_load_is_16_times_the_write_buffers_at_their_scale():
    assert least_user_bytes(128 * 2**20, 64) == 16 * 2 * 2**20


def test_a_runner_of_ones_own_takes_the_place_of_db_bench_and_of_a_command():
    workload = load_workload(str(DATA / "good_workloads" / "external.toml"))
    assert (workload.name, workload.help) == ("our cluster", "Measured on the staging cluster.")
    assert workload.external and not workload.by_db_bench and workload.command is None
    assert (workload.scale, workload.settle) == (1, "none")
    assert load_workload("external").external


def test_what_a_time_series_keeps_grows_with_it_and_no_other_load_keeps_less_than_all():
    series = load_workload("timeseries-quick")
    assert series.at_scale(16).fifo_bytes == 4 * 16 * 2**20
    assert workload_document(series)["fifo_bytes"] == 16 * 2**20
    assert "fifo_bytes" not in workload_document(load_workload("load-quick"))


QUICK = [name.removesuffix("-quick") for name in SHIPPED if name.endswith("-quick")]


@pytest.mark.parametrize("name", sorted({*QUICK} & {*SHIPPED} - {"load", "overwrite"}))
def test_a_quick_load_and_its_full_one_differ_in_size_alone(name: str):
    quick, full = load_workload(f"{name}-quick"), load_workload(name)
    assert full.benchmarks == quick.benchmarks and full.measured == quick.measured
    assert (full.key_size, full.value_size) == (quick.key_size, quick.value_size)
    counts = {"reads", "writes", "deletes"}
    alike = [
        {flag: value for flag, value in load.flags if flag not in counts} for load in (quick, full)
    ]
    assert alike[0] == alike[1]
    assert quick.loaded_bytes() >= least_user_bytes(128 * 2**20, 64)
    assert full.loaded_bytes() > 1.9 * quick.loaded_bytes()
    assert quick.timeout_seconds < full.timeout_seconds


def test_counts_of_operations_grow_with_the_load():
    mixed = load_workload("mixed-quick")
    larger = mixed.at_scale(8)
    assert (larger.num, dict(larger.flags)["reads"]) == (8 * mixed.num, 8 * 25_000)
    assert dict(larger.flags)["readwritepercent"] == 50
    whole = replace(mixed, flags=(("reads", -1),))
    assert whole.at_scale(8).flags == (("reads", -1),)
