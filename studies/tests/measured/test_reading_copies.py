"""The page of prepared and copied runs: its figures are those of the runs."""

import dataclasses
import json
from pathlib import Path

from studies.reading_copies.__main__ import main
from studies.reading_copies.page import page
from studies.reading_copies.rows import METRICS, Row

MACHINE = {"cpu": "a CPU", "cores": 2, "memory_bytes": 2**34, "file_system": "ext4",
           "system": "Debian", "rocksdb": "7.8.3"}  # fmt: skip


def row(kind: str, number: int, rate: float, *, state: str = "done") -> Row:
    metrics = {**dict.fromkeys(METRICS, 2.0), "rate": rate}
    seconds = 9.0 if kind == "prepared" else 3.0
    return Row("read-quick", "default", kind, number, state, seconds, metrics, "2026-11-22",
               MACHINE)  # fmt: skip


ROWS = [row("prepared", n, 100.0 + n) for n in (1, 2, 3)]
ROWS += [row("copied", n, 2 * (100.0 + n)) for n in (1, 2, 3)]


def test_it_tells_medians_scatter_and_the_change_of_pairs():
    text = page(ROWS, "make prove-reading")
    assert "| rate | 102 | 1.0% | 204 | 1.0% | +100.0% [+100.0, +100.0] |" in text
    assert "3 pairs. Seconds of the benchmark in a run: 9.0 prepared, 3.0 copied." in text
    assert "6 runs, 0 of them failed; a CPU, 2 cores, 16 GiB, ext4, Debian, RocksDB 7.8.3" in text


def test_a_run_that_failed_and_one_without_its_pair_are_left_out():
    more = [
        row("prepared", 4, 9e9),
        row("copied", 5, 9e9, state="failed"),
        row("prepared", 5, 1.0),
    ]
    text = page([*ROWS, *more], "make prove-reading")
    assert "| rate | 102 | 1.0% | 204 |" in text
    assert "9 runs, 1 of them failed" in text


def test_the_page_is_written_again_from_what_is_kept(tmp_path: Path):
    (tmp_path / "results").mkdir()
    lines = [json.dumps(dataclasses.asdict(each)) for each in ROWS]
    (tmp_path / "results" / "reading.jsonl").write_text("\n".join(lines) + "\n")
    assert main(["--page", "--docs", str(tmp_path)]) == 0
    written = (tmp_path / "results" / "reading.md").read_text()
    assert "## read-quick" in written and "### default" in written
