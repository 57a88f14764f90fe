"""docs/reference/metrics.md lists the metrics of the code, each in its unit."""

import ast
import re

from optimizer.objective.objective_file import SHIPPED, load_objective
from sampler.workload import metric_table
from sampler.workload.db_bench_benchmarks import ALL_LATENCIES
from sampler.workload.metric_table import MACHINE, METRICS, db_bench_metrics, measured_of
from sampler.workload.workload_file import SHIPPED as WORKLOADS
from sampler.workload.workload_file import load_workload
from tests.support import ROOT

TEXT = (ROOT / "docs/reference/metrics.md").read_text()
LATENCIES = {f"{kind}_{each}" for kind in ALL_LATENCIES for each in metric_table._PERCENTILES}
# | `metric` | definition | unit | better |
ROWS = {
    name: (unit, better)
    for name, unit, better in re.findall(
        r"^\| `(\w+)` \|[^|\n]*\| ([^|\n]*) \| ([^|\n]*) \|$", TEXT, re.MULTILINE
    )
}
UNITS = {"s": "s", "B": "bytes", "%": "%", "ops/s": "ops/s", None: "ratio"}
BETTER = {"min": "less", "max": "more", None: "-"}


def written_in_the_code() -> set[str]:
    """Keys of the documents of metrics that ``sampler/bench/metrics.py`` makes."""
    tree = ast.parse((ROOT / "sampler/bench/metrics.py").read_text())
    keys = [key for node in ast.walk(tree) if isinstance(node, ast.Dict) for key in node.keys]
    keys += [
        node.slice
        for node in ast.walk(tree)
        if isinstance(node, ast.Subscript) and isinstance(node.ctx, ast.Store)
    ]
    return {key.value for key in keys if isinstance(key, ast.Constant)}


def test_every_metric_is_there_in_its_unit_and_direction() -> None:
    """Latencies have a table of their own."""
    assert {
        name: (UNITS[metric.unit], BETTER[metric.better])
        for name, metric in METRICS.items()
        if metric.measured != "latency"
    } == ROWS


def test_every_metric_that_a_run_computes_is_in_the_table() -> None:
    given = {name for load in WORKLOADS if load_workload(load).command is None
             for name in db_bench_metrics(load_workload(load))}  # fmt: skip
    assert {*given, *MACHINE, *written_in_the_code()} - METRICS.keys() <= LATENCIES
    assert {*measured_of("latency")} <= LATENCIES


def test_every_kind_of_latency_is_there() -> None:
    section = TEXT.partition("\n## Latencies\n")[2].partition("\n## ")[0]
    rows = [line.split("|")[1] for line in section.splitlines() if line.startswith("| `")]
    assert {kind for row in rows for kind in re.findall(r"`(\w+)`", row)} == set(ALL_LATENCIES)
    shown = set(re.findall(r"`KIND_(p\d+)`", section))
    assert shown == set(metric_table._PERCENTILES)


def test_every_objective_is_there_with_its_metrics() -> None:
    section = TEXT.partition("\n## Objectives that ship\n")[2]
    rows = [line.split("|")[1:3] for line in section.splitlines() if line.startswith("| `")]
    names = {name: what for first, what in rows for name in re.findall(r"`(\w+)`", first)}
    assert set(names) == set(SHIPPED)
    for name, what in names.items():
        metrics = [term.metric for term in load_objective(name).terms]
        assert re.findall(r"`(\w+)`", what) == metrics or metrics == [name]
