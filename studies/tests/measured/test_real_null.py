"""A real job on options that do nothing, as the thirty of the proof are."""

import re
from pathlib import Path
from shutil import copy

import pytest
from scipy.stats import ttest_1samp

from optimizer.confirmation.proof import fitness_by_pair
from optimizer.objective.objective_file import load_objective
from sampler.parameters.catalogue import catalogue
from sampler.space.space_file import load_space
from studies.real_null.__main__ import SPACE, main
from studies.real_null.any_six_runs import chances_of_any_six
from studies.reproduction.study import read_study

MEASURED = Path("docs/results/real_null")
TINY = """name = "tiny"
help = "h"
benchmarks = ["fillrandom"]
num = 3000
key_size = 16
value_size = 1024
settle = "flush"
scale = 1024
timeout_seconds = 60
"""


@pytest.mark.db_bench
def test_a_job_is_run_kept_and_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
):
    workload = tmp_path / "tiny.toml"
    workload.write_text(TINY)
    monkeypatch.setenv("ROCKTUNE_BENCH_DIR", str(tmp_path / "bench"))
    monkeypatch.setenv("ROCKTUNE_LOCK", str(tmp_path / "lock"))
    asked = ["--jobs", "1", "--trials", "12", "--workload", str(workload)]
    places = ["--folder", str(tmp_path / "kept"), "--databases", str(tmp_path / "db")]
    assert main([*asked, *places]) == 0
    first = capsys.readouterr().out
    # One in forty such jobs is wrong, and this may be the one.
    assert re.search(r"[01] of 1 report a gain \(95% interval of the share (0.0|2.5)% to ", first)
    page = (tmp_path / "kept.md").read_text()
    assert "| 1 | 12 | " in page and "`strict_bytes_per_sync`" in page
    assert ": 12 runs of `db_bench` in 1 jobs" in page
    assert re.search(r": [0-9]+ of 14 of these", page)
    assert re.search(r"A gain is reported by [01] of 1 with turned pairs \(", page)
    study = read_study(tmp_path / "kept" / "nothing-01.jsonl.gz")
    runs = [trial.metrics for trial in study.trials]
    chances = chances_of_any_six(study)
    for at, begin in ((0, 0), (-2, 6)):
        six = runs[begin : begin + 6]
        gains = fitness_by_pair(
            load_objective("paper"), list(zip(six[::2], six[1::2], strict=True))
        )
        expected = ttest_1samp(gains, 0, alternative="greater").pvalue
        assert chances[at] == pytest.approx(expected)
    assert main([*asked, *places, "--page"]) == 0
    assert capsys.readouterr().out == first


@pytest.mark.parametrize(("reporting", "status"), [(0, 0), (2, 0), (3, 1)])
def test_more_gains_than_declared_are_an_error(reporting: int, status: int, tmp_path: Path):
    """Of ten jobs two would be right in one table of fifty, three in one of six hundred."""
    kept = tmp_path / "kept"
    kept.mkdir()
    with_gain = {5, 12, 24}  # of the thirty that were measured
    without = (each for each in range(1, 31) if each not in with_gain)
    chosen = [*sorted(with_gain)[:reporting], *without][:10]
    for seed, old in enumerate(chosen, start=1):
        copy(MEASURED / f"nothing-{old:02}.jsonl.gz", kept / f"nothing-{seed:02}.jsonl.gz")
    assert main(["--page", "--jobs", "10", "--folder", str(kept)]) == status
    page = (tmp_path / "kept.md").read_text()
    assert f"{reporting} of 10 report a gain" in page
    assert f"A gain is reported by {reporting} of 10 whose pairs were each drawn (" in page


def test_without_a_whole_job_there_is_no_page(tmp_path: Path):
    with pytest.raises(SystemExit, match="holds no whole job"):
        main(["--page", "--folder", str(tmp_path / "kept")])


def test_the_space_is_of_options_that_the_load_cannot_feel():
    names = load_space(SPACE).names
    assert len(names) == 5 and set(names) <= set(catalogue())
