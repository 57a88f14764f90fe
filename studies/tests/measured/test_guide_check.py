"""The guide's own check: which variants there are, in which order, and what the page says."""

from pathlib import Path

import pytest

from sampler.common.errors import InputError
from sampler.runner.settings import Settings
from sampler.workload.workload_file import load_workload
from studies.guide_check.__main__ import WORKLOADS, order_of, run_missing
from studies.guide_check.page import SAID, write_page
from studies.guide_check.variants import AS_THERE, CALCULATED, DEFAULT, variants
from studies.json_lines import append_line

T2 = load_workload("kioxia-t2")


def row(variant: str, number: int, time: float, *, setting: str = "", value: int = 1):
    return {
        "workload": "kioxia-t2", "variant": variant, "setting": setting, "round": number,
        "configuration": {setting: value} if setting else {}, "state": "done", "failure": None,
        "metrics": {"time": time, "rate": 1 / time}, "seconds": time,
        "ended": f"2026-11-2{number}T10:00:00+00:00",
        "host": {"cpu": "c", "cores": 2, "memory_bytes": 2**30, "file_system": "ext4",
                 "system": "Debian", "rocksdb": "7.8.3"},
    }  # fmt: skip


def test_each_setting_is_halved_and_doubled_and_level_1_keeps_its_eight_files():
    by_name = {each.name: each.configuration for each in variants(T2, cpu_threads=48)}
    calculated = by_name[CALCULATED]
    assert by_name[DEFAULT] == {} and AS_THERE not in by_name
    assert by_name["half max_background_jobs"] == {**calculated, "max_background_jobs": 24}
    assert by_name["double max_write_buffer_number"]["max_write_buffer_number"] == 26
    for each in by_name.values():
        if each:
            assert each["max_bytes_for_level_base"] == pytest.approx(
                8 * int(each["target_file_size_base"]), abs=8
            )
    assert {name for _, name in SAID} <= by_name.keys()


def test_what_rocksdb_would_not_take_is_left_out():
    names = {each.name for each in variants(T2, cpu_threads=2)}
    assert "half max_write_buffer_number" not in names
    assert {"half max_background_jobs", AS_THERE} <= names


def test_a_round_is_whole_before_the_next_and_has_an_order_of_its_own():
    runs = order_of(WORKLOADS, 2, threads=2)
    count = len(runs) // 2
    first, second = runs[:count], runs[count:]
    assert {each.round for each in first} == {1}
    assert {each.key[:2] for each in first} == {each.key[:2] for each in second}
    assert [each.key[:2] for each in first] != [each.key[:2] for each in second]
    assert runs == order_of(WORKLOADS, 2, threads=2)


def test_what_is_kept_is_not_run_again_and_nothing_else_is_taken_for_it(
    tmp_path: Path, settings: Settings
):
    raw = tmp_path / "guide.jsonl"
    runs = [each for each in order_of(["kioxia-t2"], 1, threads=2) if each.variant.name == DEFAULT]
    append_line(raw, row(DEFAULT, 1, 2.0))
    before = raw.read_bytes()
    run_missing(runs, raw, settings)
    assert raw.read_bytes() == before
    append_line(raw, row(CALCULATED, 1, 2.0))
    with pytest.raises(InputError, match="of other configurations"):
        run_missing(order_of(["kioxia-t2"], 1, threads=2), raw, settings)


def test_the_page_tells_changes_against_the_calculated_settings_of_the_same_round(tmp_path: Path):
    rows = []
    for number, level in ((1, 1.0), (2, 10.0)):
        rows.append(row(CALCULATED, number, level))
        half = row("half max_background_jobs", number, 2 * level, setting="max_background_jobs")
        rows.append(half)
        rows.append(row(DEFAULT, number, level))
    failed = {**row(DEFAULT, 3, 9.0), "state": "failed"}
    page = write_page(tmp_path / "guide.md", "make prove-guide", [*rows, failed])
    lines = {line.split(" | ")[0]: line for line in page.splitlines() if line.startswith("| ")}
    half = lines["| half max_background_jobs (1)"]
    assert "| 2 | +100.0%* [+100.0, +100.0] | -50.0%*" in half
    assert half.endswith("| run time -4.6% (3,565 s for 3,737 s) |")
    assert "| 2 | 5.5 |" in lines["| calculated"]
    assert "+0.0% [+0.0, +0.0]" in lines["| default"]
    assert "2026-11-21 to 2026-11-23; 7 runs, of which 1 did not end well" in page
