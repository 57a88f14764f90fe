"""The page of RocksJava against C++, from runs that are made up."""

import json
from pathlib import Path

import pytest

from studies.json_lines import read_lines
from studies.rocksjava import PAGE, kept_text, main, page_text

BUILD = {
    "name": "x", "program": "/secret/db_bench", "problem": None, "version": "7.8.3",
    "digest": "d", "source": None, "compiled": "2023-01-01", "assertions": True,
    "optimised": True, "codecs": ["Snappy"], "jemalloc": None,
}  # fmt: skip


@pytest.fixture
def work(tmp_path: Path) -> Path:
    """What `rocktune compare` leaves: Java a quarter slower, in every round."""
    folder = tmp_path / "work"
    folder.mkdir()
    side = {"build": BUILD, "values": {"block_size": 65536}}
    result = {
        "machine": {"host": "secret", "cpu": "Xeon", "cores": 2, "memory_bytes": 2**33,
                    "system": "Debian"},
        "rounds": 3, "seed": 1, "workloads": [], "cautions": ["A: Assertions are enabled"],
        "subjects": {"A": side, "B": side},
    }  # fmt: skip
    (folder / "result.json").write_text(json.dumps(result))
    rows: list[object] = [{"comparison": 1, "A": "/secret/db_bench"}]
    for number in (1, 2, 3):
        for load in PAGE:
            for name, rate in (("A", 4000.0), ("B", 3000.0)):
                metrics = {"rate": rate * number, "waf": 1.0}
                if load != "rocksjava-fillseq":
                    metrics["whole_waf"] = 0.5 if name == "A" else 0.75
                ended = {"started_at": "", "state": "done", "failure": None, "seconds": 1.0}
                rows.append(
                    {"round": number, "case": load, "side": name, "metrics": metrics, **ended}
                )
    (folder / "runs.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    return folder


def test_both_figures_stand_beside_each_other(work: Path, tmp_path: Path):
    kept = tmp_path / "kept.jsonl"
    kept.write_text(kept_text(work))
    assert "secret" not in kept.read_text()
    page = page_text(read_lines(kept))
    assert (
        "| 32 sequential readers | 2,120,000 | 6,840,000 | -69.0% | 6,000 | 8,000 | -25.0%" in page
    )
    assert "| rocksjava-fillseq | waf | 1 | 1 | +0.0% (+0.0% to +0.0%) | 1 |" in page
    whole = [line for line in page.splitlines() if "| whole_waf |" in line]
    assert [line.split(" | ")[0] for line in whole] == [f"| {load}" for load in list(PAGE)[1:]]
    assert all(" | 0.5 | 0.75 | +50.0% (+50.0% to +50.0%) | " in line for line in whole)
    assert "- A: Assertions are enabled" in page
    assert "assertions on" in page


def test_the_page_needs_runs(tmp_path: Path):
    with pytest.raises(SystemExit, match="is not there yet"):
        main(["--page", "--docs", str(tmp_path)])
