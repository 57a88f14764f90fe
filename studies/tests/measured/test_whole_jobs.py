"""What the page of whole jobs makes of kept rows, and which jobs there are."""

from pathlib import Path
from typing import Any

import pytest

from studies.whole_jobs.__main__ import _parser, cells_of
from studies.whole_jobs.job import BASELINE, FULL, PROVEN, Cell
from studies.whole_jobs.page import is_shown, own_changes, side_by_side, write_page

LEVEL = {"waf": 2.0, "sa": 1.0, "time": 1.0, "rate": 100.0}


def change(name: str, low: float, *, rule: bool = False) -> dict[str, Any]:
    gain = None if rule else {"expected": low + 50, "low": low, "high": low + 100}
    return {"name": name, "baseline": 1, "value": 2, "reason": "", "rule": rule, "gain": gain}


def job(seed: int, ahead: float, changes: list[dict[str, Any]]) -> dict[str, Any]:
    return {
        "kind": "job", "key": ["load-quick", 90, seed, ""], "objective": "paper",
        "ended": "2026-11-26T10:00:00+00:00", "time": {"wall_seconds": 300.0},
        "best": {"changes": changes, "confirmed": True, "fullest": {"changes": 9}},
        "verdict": {"fitness": 1000.0, "low": 900.0, "high": 1100.0, "confirmed": True, "change": {
            "scan_short": {"percent": -34.0, "low": -50.0, "high": -14.0},
        }},
        "starting_point": {"name": "first-guess", "is_best": False, "fitness": 1000.0 - ahead,
                           "ahead": {"fitness": ahead, "low": ahead - 9, "high": ahead + 9}},
        "host": {"cpu": "c", "cores": 2, "memory_bytes": 2**30, "file_system": "ext4",
                 "system": "Debian", "rocksdb": "7.8.3"},
    }  # fmt: skip


def side(seed: int, number: int, which: str, **metrics: float) -> dict[str, Any]:
    key = ["load-quick", 90, seed, ""]
    return {"kind": "side", "key": key, "round": number, "side": which, "done": True,
            "metrics": {**LEVEL, **metrics}}  # fmt: skip


def test_a_change_counts_by_itself_and_one_that_follows_does_not():
    found = job(1, 0.0, [change("a", 10.0), change("b", -10.0), change("c", 0.0, rule=True)])
    assert [each["name"] for each in own_changes(found)] == ["a", "b"]
    assert [is_shown(each) for each in own_changes(found)] == [True, False]
    assert own_changes({"best": None}) == []


def test_the_proven_and_the_full_one_are_compared_block_by_block():
    rows = [
        side(1, number, which, waf=waf)
        for number in (1, 2, 3)
        for which, waf in ((BASELINE, 2.0), (FULL, 1.0), (PROVEN, 1.1))
    ]
    compared = side_by_side(job(1, 0.0, []), [*rows, side(2, 1, FULL), side(1, 4, FULL)])
    assert compared == pytest.approx((450.0, 500.0, -50.0, 0.0))
    assert side_by_side(job(2, 0.0, []), rows) is None


def test_the_page_says_who_is_behind_and_what_reads_pay(tmp_path: Path):
    rows = [job(1, 200.0, [change("a", 1.0)]), job(2, -30.0, [change("a", 1.0), change("b", -1)])]
    page = tmp_path / "jobs.md"
    write_page(page, "make prove-jobs", rows)
    text = page.read_text()
    assert "| load-quick | 90 | 7.8.3 | 2 | 2 | 1,000 | 915 | 85 | -30 | 1 |" in text
    assert "| load-quick and mixed-quick, 60 to 90 runs | 2 | 1.5 | 2 | 2 of 3 |" in text
    assert "-34%* [-50, -14]" in text


def test_seeds_are_whole_before_the_next_begins_and_a_build_is_named():
    given = _parser().parse_args(["--builds", "9.10.0", "--seeds", "1,2", "--trials", "40"])
    cells = cells_of(given)
    assert [cell.seed for cell in cells] == [1] * 4 + [2] * 4
    assert cells[0].arguments(Path("out"))[-2:] == ["--db-bench", "9.10.0"]
    assert "--db-bench" not in Cell("load-quick", 40, 1, "").arguments(Path("out"))
