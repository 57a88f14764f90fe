"""The study of rankings at three scales: its order, its rows, and what is computed of them."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import spearmanr

from optimizer.objective.objective_file import load_objective
from sampler.common.errors import InputError
from sampler.runner.outcome import TrialState
from studies.ranking_scale.correlation import agreement, spearman, top_kept
from studies.ranking_scale.effects import drawn_effects, step_effects
from studies.ranking_scale.levels import parse_levels
from studies.ranking_scale.measured import FITNESS, by_scale
from studies.ranking_scale.order import EVERY, order_of
from studies.ranking_scale.page import write_page
from studies.ranking_scale.rows import append_row, read_rows
from studies.ranking_scale.scales import CODECS, SCALES
from studies.tests.measured.ranking_rows import rows, wanted

LOG = """** Compaction Stats [default] **
Level    Files   Size     Score Read(GB)
----------------------------------------
  L0      2/0   903.89 KB   0.5      0.0
  L2     42/0   34.76 MB   0.9      0.1
 Sum     44/0   35.64 MB   0.0      0.2

** Compaction Stats [default] **
Priority    Files   Size     Score Read(GB)
-------------------------------------------
 Low      0/0    0.00 KB   0.0      0.2
"""
PAPER = load_objective("paper")


def trigger(configuration, scale):
    """The same order at every scale."""
    del scale
    return 1 + configuration["level0_file_num_compaction_trigger"]


class TestOrder:
    def test_a_scale_is_done_before_the_next_and_draws_before_steps(self) -> None:
        runs = order_of(SCALES, draws=7, steps=3)
        parts = [(run.kind == "step", run.divisor) for run in runs if run.kind != "baseline"]
        wished = [(step, scale.divisor) for step in (False, True) for scale in SCALES]
        assert list(dict.fromkeys(parts)) == wished
        assert len(set(runs)) == len(runs)

    def test_the_baseline_is_never_far(self) -> None:
        since = 0
        for run in order_of(SCALES, draws=13, steps=6):
            since = 0 if run.kind == "baseline" else since + 1
            assert since <= EVERY

    def test_draws_keep_the_memory_and_the_codecs(self) -> None:
        study = wanted(30)
        drawn = [study.draw(index) for index in range(30)]
        assert all(study.problem.affords(configuration) for configuration in drawn)
        assert {c["compression_type"] for c in drawn} == set(CODECS)


class TestRows:
    def test_come_back_as_they_were_and_a_torn_line_is_dropped(self, tmp_path: Path) -> None:
        path, some = tmp_path / "raw.jsonl", rows(trigger, draws=5)[:3]
        append_row(path, some[0])
        with path.open("a") as file:
            file.write('{"kind": "dr')
        append_row(path, some[1])
        assert read_rows(path) == some[:2]

    def test_a_line_that_is_none_is_refused(self, tmp_path: Path) -> None:
        path = tmp_path / "raw.jsonl"
        path.write_text("{}\n")
        with pytest.raises(InputError, match="line 1"):
            read_rows(path)


class TestLevels:
    def test_are_those_of_the_table_by_level(self) -> None:
        assert parse_levels(LOG) == (round(903.89 * 2**10), 0, round(34.76 * 2**20))

    @given(st.integers(0, len(LOG)))
    def test_a_table_that_is_cut_off_does_not_count(self, end: int) -> None:
        assert parse_levels(LOG[:end]) in ((), parse_levels(LOG))
        assert parse_levels(LOG + LOG[:end]) == parse_levels(LOG)


class TestAgreement:
    def test_is_that_of_scipy(self) -> None:
        rng = np.random.default_rng(1)
        for count in (5, 9, 30):
            one, other = rng.integers(0, 6, (2, count)).astype(float)
            assert spearman(one, other) == pytest.approx(spearmanr(one, other).statistic)
        both = rng.random((2, 3, 8))
        rows_apart = [spearman(one, other) for one, other in zip(*both, strict=True)]
        assert spearman(*both).tolist() == rows_apart
        assert np.isnan(spearman(np.ones(5), np.arange(5.0)))
        assert agreement(dict.fromkeys(range(9), 1.0), {i: float(i) for i in range(9)}) is None

    def test_holds_the_truth_in_its_interval(self) -> None:
        one = {i: float(i) for i in range(20)}
        found = agreement(one, {i: float(i % 10) for i in range(25)})
        assert found is not None
        assert found.count == 20
        assert -1 <= found.low < found.rho < found.high <= 1
        assert agreement(one, {0: 1.0}) is None

    def test_the_best_few_are_followed(self) -> None:
        one = {i: float(i) for i in range(10)}
        other = one | {9: -1.0}
        up, down = top_kept(one, other, up=True), top_kept(one, other, up=False)
        assert up is not None
        assert down is not None
        assert (up.both, up.first, up.by_chance) == (4, 10, 2.5)
        assert (down.both, down.first) == (4, 2)


class TestEffects:
    def test_a_step_that_acts_only_in_the_large_is_found(self) -> None:
        def waf(configuration, scale):
            large = scale.divisor == 1
            return 3 if large and configuration["block_size"] == 16384 else 2

        scales = list(by_scale(rows(waf), SCALES, PAPER).values())
        changed = {effect.option for effect in step_effects(scales, ["waf"]) if effect.changes}
        assert changed == {"block_size"}

    def test_an_option_that_shifts_with_the_scale_is_found_among_draws(self) -> None:
        def waf(configuration, scale):
            shift = configuration["max_background_jobs"] if scale.divisor == 1 else 1
            return trigger(configuration, scale) * shift

        scales = by_scale(rows(waf, draws=30), SCALES, PAPER)
        parameters = wanted().problem.space.parameters
        surest, *others = drawn_effects(scales[64], scales[1], parameters, "waf")
        assert (surest.option, surest.p < 0.001) == ("max_background_jobs", True)
        assert surest.rho > 0.9
        assert others[0].p > 100 * surest.p


def test_what_was_cut_off_ranks_last_and_has_no_waf() -> None:
    every = rows(trigger)
    slow = next(i for i, row in enumerate(every) if row.run.kind == "draw")
    bounds = {"time": 1e9, "rate": 1e-9}
    every[slow] = replace(every[slow], state=TrialState.CENSORED, metrics=bounds)
    measured = by_scale(every, SCALES, PAPER)[64]
    fitness = measured.values(FITNESS)
    index = every[slow].run.index
    assert min(fitness, key=lambda i: fitness[i]) == index
    assert measured.values("time")[index] == 1e9
    assert index not in measured.values("waf")


def test_the_page_tells_how_the_order_holds(tmp_path: Path) -> None:
    (tmp_path / "results").mkdir()
    page = write_page(tmp_path, "make it", rows(trigger), "Our remarks.")
    assert (tmp_path / "results" / "ranking_scale.md").read_text() == page
    waf = next(line for line in page.splitlines() if line.startswith("| waf |"))
    assert waf.count("|") == 7  # two scales again, three pairs
    assert "0.9" in waf or "1.00" in waf
    assert "Our remarks." in page
    assert "0 to 2" in page
    assert len(list((tmp_path / "results").glob("*.svg"))) == 3
    first = [row for row in rows(trigger) if row.run.divisor == 64]
    assert "1/8" not in write_page(tmp_path, "make it", first, "")
