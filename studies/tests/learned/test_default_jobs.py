"""The page that lays two versions of the default strategy side by side."""

import json
from pathlib import Path

from studies.search.default_jobs import main


def kept(path: Path, worth: dict[int, float], *, changes: int) -> Path:
    rows = (
        {"key": ["load", 50, seed], "worth": value, "proven": True, "changes": changes}
        for seed, value in worth.items()
    )
    lines = [json.dumps({**row, "day": "2026-11-26"}) for row in rows]
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return path


def test_two_versions_are_compared_seed_by_seed(tmp_path: Path) -> None:
    old = kept(tmp_path / "old.jsonl", {0: 100.0, 1: 200.0, 2: 900.0}, changes=9)
    new = kept(tmp_path / "new.jsonl", {1: 220.0, 0: 130.0}, changes=4)
    page = tmp_path / "page.md"
    main(["compare", str(old), str(new), "--page", str(page)])
    row = page.read_text(encoding="utf-8").splitlines()[-1]
    # Seed 2 has no other side. 25 more in the mean of 30 and 20; t of one degree of freedom.
    assert row == "| load | 50 | 2 | 150 | 175 | +25 [-39, +89] | 9 | 4 | 2 | 2 |"
