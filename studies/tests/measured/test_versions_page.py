"""docs/results/versions.md: what stands in the rows stands in the page."""

from pathlib import Path
from typing import Any

from studies.study import append_line
from studies.versions.page import PageSettings, write_page, wrong_rows
from studies.versions.trial import Rows

SETTLED = PageSettings(draws=200, trials=40, long=150)
DAY = "2026-11-26T20:00:00+00:00"


def written(tmp_path: Path, *rows: dict[str, Any]) -> str:
    raw, out = tmp_path / "versions.jsonl", tmp_path / "versions.md"
    for row in rows:
        append_line(raw, {**row, "ended": DAY})
    write_page(out, "make prove-versions", Rows(raw), SETTLED)
    return out.read_text(encoding="utf-8")


def build(version: str, *, assertions: bool, lacks: list[str]) -> dict[str, Any]:
    machine = {"cpu": "a CPU", "cores": 2, "system": "Debian"}
    return {
        "key": ["build", version],
        "assertions": assertions,
        "lacks": lacks,
        "machine": machine,
    }


def draws(version: str, first: int, *, refused: int = 0, **repaired: int) -> dict[str, Any]:
    why = [{"why": "Invalid argument: no"}] * refused
    return {
        "key": ["draws", version, 200, "all", first], "space": "all", "draws": 100,
        "refused": why, "repaired": repaired, "torn": 0, "died": [],
    }  # fmt: skip


def job(version: str, runs: int, low: float, changes: dict[str, Any]) -> dict[str, Any]:
    made = [
        {"name": name, "baseline": old, "value": new, "rule": rule}
        for name, (old, new, rule) in changes.items()
    ]
    waf = {"percent": -30.4, "low": -35.0, "high": -25.0}
    return {
        "key": ["tune", version, runs], "best": True, "changes": made,
        "verdict": {"low": low, "high": low + 200, "change": {"waf": waf}},
        "baseline": {"metrics": {"time": 1.5}}, "time": {"wall_seconds": 180.0},
        "starting_point": {"ahead": {"fitness": -62.0, "low": -134.5, "high": 10.0}},
    }  # fmt: skip


def test_each_build_has_a_row_of_what_was_tried(tmp_path: Path):
    text = written(
        tmp_path,
        build("11.8.1", assertions=False, lacks=[]),
        build("7.8.3", assertions=True, lacks=["universal_max_read_amp"]),
        draws("7.8.3", 0, bloom_bits=2), draws("7.8.3", 100, refused=1),
        {"key": ["readers", "7.8.3"], "counted": {"passed": 90, "failed": 1}, "failed": ["x"]},
        job("7.8.3", 40, 500, {}),
    )  # fmt: skip
    row = "| 7.8.3 | on | `universal_max_read_amp` | 90 | 1 | 200 | 1 | `bloom_bits` 2 | 0 | 0 "
    assert row + "| better, fitness 600 [500, 700] | -62 [-134, +10] | 3.0 |" in text
    assert "| 11.8.1 | off | none | - | - | 0 | - | 0 | 0 | 0 | - | - | - |" in text
    assert "- 7.8.3, refused 1: `all: Invalid argument: no`" in text
    assert wrong_rows(Rows(tmp_path / "versions.jsonl"), SETTLED) == [
        "RocksDB 7.8.3: x", "RocksDB 7.8.3: 3 draws not accepted as asked",
    ]  # fmt: skip
    assert "side by side" not in text


def test_two_long_jobs_stand_side_by_side(tmp_path: Path):
    old = {"compression_type": ("snappy", "zstd", False), "bloom_bits": (0, 10, False)}
    new = {"compression_type": ("lz4", "zstd", False), "num_levels": (7, 6, True)}
    text = written(
        tmp_path,
        build("7.8.3", assertions=True, lacks=[]),
        build("11.8.1", assertions=False, lacks=[]),
        job("11.8.1", 150, 300, new), job("7.8.3", 150, 900, old), job("7.8.3", 40, 1, {}),
    )  # fmt: skip
    head, _, sides = text.partition("## Jobs of 150 runs, side by side")
    assert head and "|  | 7.8.3 | 11.8.1 |" in sides
    assert (
        "| fitness | better, fitness 1,000 [900, 1,100] | better, fitness 400 [300, 500] |"
        in sides
    )
    assert "| waf | -30% [-35, -25] | -30% [-35, -25] |" in sides
    assert "| `compression_type` | snappy -> zstd | lz4 -> zstd |" in sides
    assert "| `bloom_bits` | 0 -> 10 | - |" in sides
    assert "num_levels" not in sides
    assert "Changed in both: `compression_type`." in sides
