"""What each metric is measured in, against what db_bench really printed."""

from dataclasses import replace

import pytest

from sampler.bench.output import parse_output
from sampler.workload.metric_table import (
    db_bench_metrics,
    format_change,
    format_metric,
    metric_unit,
)
from sampler.workload.workload import Workload
from sampler.workload.workload_file import load_workload
from tests.support import DATA


def with_benchmarks(*names: str) -> Workload:
    return replace(load_workload("load"), benchmarks=names, measured=names)


@pytest.mark.parametrize(
    ("metric", "unit"),
    [
        ("waf", None), ("sa", None), ("rate", "ops/s"), ("time", "s"), ("load_time", "s"),
        ("wall_seconds", "s"), ("memory", "B"), ("lsm_bytes", "B"), ("stall_percent", "%"),
        ("write_p50", "us"), ("read_p999", "us"), ("get_p99", None), ("p99", None),
        ("get_us", "us"),
    ],
)  # fmt: skip
def test_units(metric: str, unit: str | None):
    assert metric_unit(metric) == unit


@pytest.mark.parametrize(
    ("metric", "value", "shown"),
    [
        ("write_p99", 200.0, "200 us"), ("waf", 2.5, "2.5"), ("memory", 2.0**29, "512 MiB"),
        ("memory", 1025.0, "1025 B"), ("memory", 0.0, "0 B"), ("rate", 123456.0, "123456 ops/s"),
    ],
)  # fmt: skip
def test_figures_are_shown_with_their_unit(metric: str, value: float, shown: str):
    assert format_metric(metric, value) == shown


@pytest.mark.parametrize(
    ("metric", "percent", "level", "told"),
    [
        ("waf", -42.34, 2.0, "-42.3%"), ("waf", 1239.0, 2.0, "+1,239%"), ("waf", None, 2.0, "n/a"),
        ("stall_percent", 1239.0, 0.149, "+1.8 points"),
        ("stall_percent", -50.0, 3.0, "-1.5 points"),
        ("stall_percent", 600.0, 21.58, "+78.4 points"),
        ("stall_percent", 320.0, 0.0, "n/a"),  # of 0 no share can be told
    ],
)  # fmt: skip
def test_a_change_of_a_percentage_is_told_in_points(metric, percent, level, told):
    assert format_change(metric, percent, level) == told


def test_latencies_that_db_bench_printed_are_known():
    """Of every real output in the tests' data."""
    seen = set()
    for path in DATA.rglob("*"):
        if path.is_file():
            for line in parse_output(path.read_text(errors="replace")).lines:
                seen |= line.latencies.keys()
    assert seen >= {"write_p99", "read_p99"}
    assert seen <= set(db_bench_metrics(with_benchmarks("a benchmark that nobody knows")))


def test_those_of_a_workload_are_of_the_operations_that_it_does():
    assert "write_p99" in db_bench_metrics(load_workload("load"))
    assert "read_p99" not in db_bench_metrics(load_workload("load"))
    assert {"read_p99", "write_p999"} <= set(db_bench_metrics(load_workload("mixed-50-50")))
    assert {"write_p50", "seek_p99"} <= set(
        db_bench_metrics(with_benchmarks("fillseq", "seekrandom"))
    )
