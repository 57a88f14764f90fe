"""Confirmations of one configuration, again and again: the counting, and a small real series."""

from pathlib import Path

import numpy as np
import pytest

from optimizer.objective.objective_file import load_objective
from sampler.common.errors import InputError
from sampler.runner.settings import Settings
from studies.json_lines import append_line, read_lines
from studies.real_coverage.__main__ import CHANGED, SIDES, run_missing
from studies.real_coverage.page import FITNESS, Pair, coverage, expected, too_few, write_page

PAPER = load_objective("paper")
TINY = """name = "tiny"
help = "h"
benchmarks = ["fillrandom"]
num = 17_000
key_size = 16
value_size = 1024
settle = "flush"
scale = 128
timeout_seconds = 60
"""


def pairs(times: int, size: int, *, together: float = 0.0) -> list[Pair]:
    """Pairs of 2% noise; ``together`` is a scatter that no confirmation sees."""
    rng = np.random.default_rng(5)
    made: list[Pair] = []
    for _ in range(times):
        shift = np.exp(together * rng.normal(size=4))
        for _ in range(size):
            before, after = np.exp(0.02 * rng.normal(size=(2, 4)))
            after = after * shift * 0.9
            names = PAPER.metrics
            made.append(
                (dict(zip(names, before, strict=True)), dict(zip(names, after, strict=True)))
            )
    return made


def test_independent_pairs_hold_as_often_as_they_say():
    for row in coverage(PAPER, pairs(1000, 6), 6):
        assert 0.92 < row.held / row.times < 0.975, row
        if row.metric != FITNESS:
            assert row.change == pytest.approx(-10, abs=0.5)
            assert row.half == pytest.approx(2.57 * 2 * 2**0.5 / 6**0.5 * 0.95, rel=0.1)


def test_a_scatter_that_a_confirmation_does_not_see_is_found():
    for row in coverage(PAPER, pairs(200, 6, together=0.05), 6):
        assert row.high < 0.8, row
    assert set(too_few(coverage(PAPER, pairs(40, 6, together=0.05), 6))) >= {"waf", FITNESS}
    assert too_few(coverage(PAPER, pairs(40, 6), 6)) == ()


def test_the_mean_of_the_others_is_uncertain_too():
    assert expected(10**6) == pytest.approx(0.95, abs=1e-4)
    assert expected(40) == pytest.approx(0.947, abs=0.001)


@pytest.mark.db_bench
def test_a_series_that_was_stopped_goes_on_and_is_told(tmp_path: Path, settings: Settings):
    raw, workload = tmp_path / "raw.jsonl", tmp_path / "tiny.toml"
    workload.write_text(TINY)
    run_missing(raw, 3, 2, str(workload), settings)
    rows = read_lines(raw)
    order = [(row["pair"], row["side"]) for row in rows]
    assert order[:4] == [(0, "changed"), (0, "baseline"), (1, "baseline"), (1, "changed")]
    assert len(set(order)) == 12 == 6 * len(SIDES)
    raw.write_text("".join(raw.read_text().splitlines(keepends=True)[:-2]))
    run_missing(raw, 3, 2, str(workload), settings)
    again = read_lines(raw)
    assert again[:10] == rows[:10] and again[10:] != rows[10:] and len(again) == 12
    said = write_page(tmp_path / "page.md", "make prove-intervals", CHANGED, again, 2)
    assert said.endswith("tells of 3 confirmations")
    assert "| waf | " in (tmp_path / "page.md").read_text()
    assert "too few" in write_page(tmp_path / "page.md", "", CHANGED, again[:8], 2)


def test_results_of_another_workload_are_not_mixed_in(tmp_path: Path, settings: Settings):
    raw, workload = tmp_path / "raw.jsonl", tmp_path / "tiny.toml"
    workload.write_text(TINY)
    append_line(raw, {"pair": 0, "side": "baseline", "workload": "load", "metrics": {}})
    with pytest.raises(InputError, match="of the workload load: move it away"):
        run_missing(raw, 3, 2, str(workload), settings)


@pytest.mark.db_bench
def test_results_of_another_machine_are_not_mixed_in(tmp_path: Path, settings: Settings):
    raw, workload = tmp_path / "raw.jsonl", tmp_path / "tiny.toml"
    workload.write_text(TINY)
    row = {"pair": 0, "side": "baseline", "workload": "tiny", "metrics": {}, "host": "another"}
    append_line(raw, row)
    with pytest.raises(InputError, match="was measured elsewhere"):
        run_missing(raw, 3, 2, str(workload), settings)
