"""A drawn OPTIONS file at both sizes, with a small load on the real db_bench."""

from pathlib import Path

import pytest

from sampler.bench.installed import InstalledDbBench
from studies.json_lines import read_lines
from studies.options import random_options
from studies.options.random_options import _side_by_side, load_at_both, load_paced


@pytest.mark.db_bench
def test_one_file_is_loaded_at_both_sizes_as_fast_as_can_be_and_paced(
    installed: InstalledDbBench, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    raw = tmp_path / "raw.jsonl"
    monkeypatch.setattr(random_options, "RAW", raw)
    load_at_both(installed, 106, 64, tmp_path, runs=1)
    load_paced(installed, 106, 64, tmp_path, pace=2_000_000)
    load_at_both(installed, 106, 64, tmp_path, runs=1)
    load_paced(installed, 106, 64, tmp_path, pace=2_000_000)
    rows = read_lines(raw)
    told = [(row["part"], row["scale"], row["state"]) for row in rows]
    fast = [("both", 64, "done"), ("both", 64, "done"), ("both", 1, "done")]
    assert told == [*fast, ("paced", 64, "done"), ("paced", 1, "done")]
    # However fast the machine is, 2 MB/s are no more keys of 1,040 bytes than this.
    assert rows[-1]["metrics"]["rate"] < 1.2 * 2_000_000 / 1_040
    assert all(row["levels"] and row["metrics"]["waf"] > 0 for row in rows)


def test_a_file_is_close_within_five_per_cent_of_the_waf_at_full_size() -> None:
    rows = [
        {"number": number, "scale": scale, "metrics": {"waf": waf}, "levels": {}, "blobs": [0, 0]}
        | {"state": "done"}
        for number, scale, waf in [(1, 64, 1.04), (1, 1, 1.0), (2, 64, 1.06), (2, 1, 1.0)]
    ]
    lines = _side_by_side(rows, [1, 2])
    assert "| 1 | 1, 1 | 1.04 | 1.00 | +4.0% |" in lines[2]
    assert "| 2 | 1, 1 | 1.06 | 1.00 | +6.0% |" in lines[3]
    assert lines[-1] == "WAF at 1/64 was within 5% of that at 1 in 1 of 2."
