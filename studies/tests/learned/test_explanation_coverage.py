"""How often the intervals of explanations hold: a small sample of the study, and its counting."""

from dataclasses import asdict, replace
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from optimizer.explanation import WIDER
from studies.explanation_coverage import __main__ as study
from studies.explanation_coverage.__main__ import lines_of, main
from studies.explanation_coverage.counts import count, of_step
from studies.explanation_coverage.job import Key, kept_job, run_job
from studies.explanation_coverage.judged import Line, holds, judged
from studies.explanation_coverage.page import too_rarely, widened, write_page
from studies.explanation_coverage.real import agrees, compared, real_lines
from studies.study import append_line
from studies.tests.learned.toy_function import toy

KEY = Key("toy/formula", "abc", "random", 20, 0)
STEP = {"gain": (100.0, 50.0, 150.0, 90.0), "waf": (-5.0, -9.0, -1.0, -12.0)}
LINE = Line("after", KEY, proven=True, told=True, steps=(STEP,),
            predicted=(300.0, 200.0, 400.0, 390.0))  # fmt: skip


@cache
def sample() -> tuple[Line, ...]:
    """Jobs on a formula of twelve parameters, with the noise of a busy machine."""
    function = toy(noise=0.08)
    keys = [replace(KEY, seed=seed) for seed in range(16)]
    return tuple(judged("after", function, key, run_job(function, key)) for key in keys)


def narrowed(line: Line, times: float) -> Line:
    steps = [
        {
            name: (e, e - (e - low) / times, e + (high - e) / times, truth)
            for name, (e, low, high, truth) in step.items()
        }
        for step in line.steps
    ]
    return replace(line, steps=tuple(steps))


@pytest.mark.parametrize("claim", ["gain", "waf", "sa", "time", "rate"])
def test_the_intervals_of_every_step_hold(claim: str):
    """Of some 60 at 95%, fewer than 88% hold in about one sample of a hundred."""
    counted = count(sample(), of_step(claim))
    assert counted is not None and counted.told > 50
    assert counted.share >= 0.88
    shorter = count([narrowed(line, 20) for line in sample()], of_step(claim))
    assert shorter is not None and shorter.share < 0.88


def test_four_configurations_are_not_explained():
    function = toy()
    key = replace(KEY, configurations=4, seed=3)
    ended = run_job(function, key)
    line = judged("after", function, key, replace(ended, low=10.0, high=90.0))
    assert line.proven and not line.told and not line.steps


def test_the_truth_of_all_steps_adds_up_to_that_of_the_winner():
    told = [line for line in sample() if line.told]
    assert told
    for line in told:
        assert line.predicted is not None
        total = sum(step["gain"][3] for step in line.steps)
        assert total == pytest.approx(line.predicted[3], abs=1 + 0.001 * len(line.steps) * 1000)


def test_what_holds():
    assert holds((0.0, -1.0, 1.0, 1.0)) and holds((0.0, 0.0, 0.0, 0.0))
    assert not holds((0.0, -1.0, 1.0, 1.1)) and not holds((0.0, -1.0, 1.0, -1.1))


def test_intervals_of_one_job_say_less_than_those_of_many():
    """Twenty jobs, of which two are wrong throughout: as sure as 20 intervals, not as 200."""
    bad = {"gain": (100.0, 50.0, 150.0, 900.0)}
    good = {"gain": (100.0, 50.0, 150.0, 90.0)}
    whole = [replace(LINE, steps=(bad if n < 2 else good,) * 10) for n in range(20)]
    mixed = [replace(LINE, steps=(bad,) + (good,) * 9) for _ in range(20)]
    together, apart = count(whole, of_step("gain")), count(mixed, of_step("gain"))
    assert together is not None and apart is not None
    assert together.share == apart.share == pytest.approx(0.9)
    assert together.high - together.low == pytest.approx(0.29, abs=0.04)
    assert apart.high - apart.low == pytest.approx(0.09, abs=0.02)
    assert count([replace(LINE, steps=())], of_step("gain")) is None


def test_rows_that_hold_too_rarely_are_named():
    assert too_rarely([LINE]) == ["20 configurations, WAF of every step: 0.0% (0 to 98)"]
    assert too_rarely([replace(LINE, label="before")]) == []


def test_jobs_are_kept_and_not_explained_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    class Functions:
        def __init__(self, *_: Any) -> None:
            pass

        def digest(self, *_: str) -> str:
            return "abc"

        def make(self, *_: str) -> Any:
            return toy(), None

    monkeypatch.setattr(study, "Functions", Functions)
    out = tmp_path / "out/coverage"
    call = ["--sizes", "4,12", "--seeds", "1", "--truths", "toy/formula", "--strategy", "random",
            "--jobs", str(tmp_path / "jobs"), "--out", str(out)]  # fmt: skip
    main(call)
    raw = out.with_suffix(".jsonl")
    kept = raw.read_text(encoding="utf-8")
    assert [line.key.configurations for line in lines_of(raw)] == [4, 12]
    assert len(list((tmp_path / "jobs").iterdir())) == 2
    assert kept_job(tmp_path / "jobs", toy(), replace(KEY, configurations=12)).trials

    monkeypatch.setattr(study, "judged", lambda *_: pytest.fail("it was explained again"))
    main(call)
    assert raw.read_text(encoding="utf-8") == kept
    page = out.with_suffix(".md").read_text(encoding="utf-8")
    assert "# How often do the intervals" in page and "| 21 | 12 | after |" in page


def test_what_an_earlier_version_told_is_counted_with_longer_intervals():
    expected, low, high, truth = LINE.steps[0]["gain"]
    longer = widened(replace(LINE, label="unwidened")).steps[0]["gain"]
    assert longer == (expected, pytest.approx(expected - WIDER * (expected - low)),
                      pytest.approx(expected + WIDER * (high - expected)), truth)  # fmt: skip


def test_the_page_has_both_versions_side_by_side(tmp_path: Path):
    withheld = replace(LINE, told=False, steps=(), predicted=None)
    lines = [replace(LINE, label="before"), withheld]
    page = write_page(tmp_path / "page", "make prove-explanations", lines, [])
    assert "| 34 | 20 | before | 1 of 1 | 100.0% (2 to 100) | 0.0% (0 to 98) | none |" in page
    assert "| 34 | 20 | after | 0 of 1 | withheld |" in page
    raw = tmp_path / "raw.jsonl"
    for line in lines:
        append_line(raw, asdict(line))
    assert lines_of(raw) == lines


def test_told_and_measured_agree_by_the_uncertainty_of_both():
    def interval(expected: float, half: float) -> dict[str, float]:
        return {"expected": expected, "low": expected - half, "high": expected + half}

    assert agrees(interval(100, 30), interval(140, 30))  # 40 of the 42 that both leave open
    assert not agrees(interval(100, 30), interval(145, 30))
    assert not agrees(interval(145, 30), interval(100, 30))
    change = {"percent": -10.0, "low": -12.0, "high": -8.0, "p": 0.01}
    explanation = {
        "steps": [
            {"changes": [{"name": "a"}], "gain": interval(100, 30),
             "metrics": {"waf": interval(-36, 17)}},
            {"changes": [{"name": "b"}], "gain": interval(10, 30), "metrics": {}},
        ],
        "measured": {"steps": [{"fitness": interval(90, 5), "changes": {"waf": change}}, None]},
    }  # fmt: skip
    rows = compared(explanation)
    assert [(row["what"], row["claim"]) for row in rows] == [("a", "gain"), ("a", "waf")]
    job = {"workload": "load-quick", "seed": 1, "trials": 12, "configurations": 4, "rounds": 3,
           "date": "2026-11-25", "rows": rows}  # fmt: skip
    page = "\n".join(real_lines([job, {**job, "rows": [], "why": "withheld: few"}]))
    assert "| 1 of 1 | 0 of 1 |" in page and "withheld: few" in page
    assert "Together 1 of 1 gains and 0 of 1 changes of metrics agree." in page
