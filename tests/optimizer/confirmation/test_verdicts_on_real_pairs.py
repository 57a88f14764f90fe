"""Verdicts over resampled real pairs: a small version of the study, and its page."""

import json
from pathlib import Path

import numpy as np
import pytest

from optimizer.results.price import traded
from studies.verdicts.__main__ import main, parts_of
from studies.verdicts.simulation import (
    CASES,
    PAPER,
    cost_count,
    limit_count,
    null_count,
    read_pools,
    verdicts,
)

POOL = read_pools()["quiet"]


def slack(share: float, times: int) -> float:
    """Three standard errors of a share."""
    return 3 * float(np.sqrt(share * (1 - share) / times))


def test_the_pairs_are_real_and_whole():
    assert len(POOL.pairs) == 33
    for pair in POOL.pairs:
        assert all(
            side.keys() >= {"waf", "read_present", "scan_short_cold", "stall_percent"}
            for side in pair
        )


@pytest.mark.slow
def test_at_most_5_percent_of_null_verdicts_say_anything_false():
    found = null_count(POOL, times=300, pairs=7, seed=1)
    assert found.anything <= 0.05 + slack(0.05, 300)
    assert found.by_intervals > 0.25  # what the correction is for
    # A variance pooled with that of other runs is not that of a winner of its own noise.
    assert found.by_moderated_t_noisier > 0.05 + slack(0.05, 300)


@pytest.mark.slow
def test_a_true_cost_of_20_percent_is_named():
    found = cost_count(POOL, "rate", 0.2, times=100, pairs=7, seed=2)
    assert found.named >= 0.8 and found.false <= 0.05 + slack(0.05, 100)


def test_a_cost_is_named_beside_true_gains_alone():
    (verdict,) = verdicts(POOL, times=1, pairs=7, seed=3, factors={"waf": 0.6, "sa": 1.5})
    rows = {row.metric: row for row in traded(PAPER, verdict.changes)}
    assert rows["waf"].better and rows["sa"].worse
    moved = [row.change for row in rows.values() if row.change.low or row.change.high]
    assert len(moved) == len(rows) - 1  # the configured memory is the same
    assert all(change.p_adjusted >= change.p for change in moved)


@pytest.mark.slow
def test_limits_are_kept_rightly():
    times = 60
    for case in (*CASES[:4], CASES[-1]):
        found = limit_count(POOL, case, times=times, pairs=7, seed=4)
        assert found.at_margin <= 0.05 + slack(0.05, times)
        assert found.unchanged >= 0.8 - slack(0.8, times)


def test_the_page_is_written_from_the_counts_and_none_is_counted_twice(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
):
    raw = tmp_path / "verdicts.jsonl"
    given = ["--raw", str(raw), "--times", "3", "--pairs", "3"]
    main(given)
    parts = [json.loads(line)["part"] for line in raw.read_text().splitlines()]
    assert parts == [part for part, _ in parts_of(read_pools(), (3,), 3)]
    counted = capsys.readouterr().out
    main(given)
    assert capsys.readouterr().out.count("\n") == 1 < counted.count("\n")
    page = raw.with_suffix(".md").read_text()
    assert page.count("\n| ") == len(parts) + 3 and "`rate >= 1 baseline`" in page
