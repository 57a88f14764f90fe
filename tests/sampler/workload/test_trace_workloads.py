from dataclasses import replace
from pathlib import Path

import pytest

from sampler.workload.metric_table import db_bench_metrics
from sampler.workload.workload import Trace, load_class
from sampler.workload.workload_file import (
    load_workload,
    why_counted,
    why_unread,
    why_untold,
    workload_document,
    workload_from_document,
)
from tests.support import DATA
from tests.support.sampler.traces import MIXED

REPLAYED = DATA / "good_workloads" / "replayed.toml"


def test_a_trace_is_replayed_as_the_file_says():
    workload = load_workload(str(REPLAYED))
    path = REPLAYED.parent / "../traces/mixed.trace"
    assert workload.trace == Trace(path=str(path), fast_forward=20, begin=0.5, end=3600)
    assert workload.benchmarks == workload.measured == ("replay",)
    assert (workload.column_families, workload.threads) == (3, 4)


def test_a_trace_is_looked_for_where_the_user_stands_before_beside_the_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    (tmp_path / "beside").mkdir()
    file = tmp_path / "beside" / "mine.toml"
    file.write_text('name = "mine"\ntrace = "a.trace"\n')
    monkeypatch.chdir(tmp_path)
    for folder in (tmp_path / "beside", tmp_path):
        (folder / "a.trace").write_bytes(MIXED.read_bytes())
        workload = load_workload("beside/mine.toml")
        assert workload.trace == Trace(path=str(folder / "a.trace"))


def test_only_what_differs_from_a_whole_trace_is_written_down():
    document = {"name": "mine", "trace": "/data/a.trace"}
    written = workload_document(workload_from_document(document))
    assert {"fast_forward", "trace_from", "trace_until"}.isdisjoint(written)
    assert written["trace"] == "/data/a.trace"


def test_a_workload_without_a_trace_has_the_document_that_it_always_had():
    assert {"trace", "fast_forward"}.isdisjoint(workload_document(load_workload("load-quick")))


def test_a_trace_is_as_long_at_every_scale():
    workload = load_workload(str(REPLAYED))
    assert workload.at_scale(8) == replace(workload, scale=8)


def test_what_a_trace_leaves_is_counted_and_its_reads_are_not_db_bench_s():
    workload = workload_from_document({"name": "mine", "trace": "/data/a.trace"})
    assert why_counted(workload) == "no formula gives the keys that replay leaves"
    assert not why_untold(workload)
    assert "in 3 column families" in why_untold(load_workload(str(REPLAYED)))
    assert "its own keys" in why_unread(workload)
    assert load_class(workload) == "mixed"
    assert {"waf", "sa", "rate"} <= set(db_bench_metrics(workload))
    assert workload.operations(1) is None
