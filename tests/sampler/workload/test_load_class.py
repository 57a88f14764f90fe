"""What a load does most, by the operations that are measured."""

from dataclasses import replace

import pytest

from sampler.workload.workload import Workload, load_class
from sampler.workload.workload_file import load_workload


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("load-quick", "writing"),
        ("overwrite-quick", "writing"),
        ("sine", "writing"),
        ("mixed-quick", "mixed"),
        ("samsung-80-20", "mixed"),
        ("readwhilewriting-quick", "mixed"),
        ("read-quick", "reading"),
        ("rocksjava-readrandom", "reading"),
        ("rocksjava-readseq", "scans"),
        ("external", "mixed"),
        ("warlo-command", "mixed"),
    ],
)
def test_the_shipped_loads(name: str, expected: str):
    assert load_class(load_workload(name)) == expected


@pytest.mark.parametrize(
    ("benchmarks", "flags", "expected"),
    [
        (("seekrandom",), {}, "scans"),
        (("seekrandomwhilewriting",), {}, "scans"),
        (("fillrandom", "readrandom"), {"reads": 1_000}, "writing"),
        (("fillrandom", "readrandom"), {}, "mixed"),
        (("readrandom", "seekrandom"), {}, "scans"),
        (("readrandomwriterandom",), {"readwritepercent": 95}, "reading"),
        (("readrandomwriterandom",), {"readwritepercent": 20}, "writing"),
        (("mixgraph",), {}, "reading"),
        (("mixgraph",), {"mix_get_ratio": 0.0, "mix_put_ratio": 1.0}, "writing"),
        (("mixgraph",), {"mix_get_ratio": 0.1, "mix_seek_ratio": 0.9}, "scans"),
        (("updaterandom",), {}, "mixed"),
        (("deleterandom",), {}, "writing"),
        (("compact",), {}, "reading"),
    ],
)
def test_own_loads(benchmarks: tuple[str, ...], flags: dict[str, float], expected: str):
    load = Workload(name="own", benchmarks=benchmarks, measured=benchmarks)
    assert load_class(replace(load, flags=tuple(flags.items()))) == expected
