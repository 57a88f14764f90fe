"""The null test: whole jobs on options that do nothing, a small sample of them."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from optimizer.evaluation import evaluation as knowledge
from sampler.common.errors import InputError
from sampler.space.space_file import space_from_document
from studies.null_search import __main__ as null_search
from studies.null_search.__main__ import main, read_lines
from studies.null_search.job import NEIGHBOUR, Key, Line, keys_of, level_of, run_job
from studies.null_search.page import groups_of, too_often
from studies.search.recorded import Recorded, Run, plain_problem, read_recorded
from studies.tests.learned.known_truth import SPACE

KEY = Key("abc", "forest", 48, False, 0)
LINE = Line(KEY, runs=48, explored=30, again=1, saved=0, gain=3.0, noise=21.0,
            confirmed=False, p=0.4)  # fmt: skip


def recorded() -> Recorded:
    """Twelve parameters, and runs of the default with clocks that scatter."""
    space = space_from_document(SPACE)
    slower = np.exp(0.15 * np.random.default_rng(1).standard_normal(20)).tolist()
    default = space.default_configuration()
    runs = [Run(default, {"waf": 3.0, "sa": 1.2, "time": 10 * s, "rate": 1e5 / s}) for s in slower]
    return Recorded("toy", plain_problem(space), space, tuple(runs))


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(null_search, "read_recorded", lambda _: recorded())
    monkeypatch.setattr(knowledge, "rank_parameters", knowledge.rank_parameters)
    null_search._rank_little()


def call(out: Path, *more: object) -> int:
    return main(["--jobs", "3", "--trials", "48", "--out", str(out), *map(str, more)])


def test_hardly_a_job_finds_what_is_not_there_and_early_stops_save_runs(tmp_path: Path):
    out = tmp_path / "null"
    status = call(out)
    lines = read_lines(out.with_suffix(".jsonl"))
    early = [line for line in lines if line.key.stop_early]
    assert len(lines) == 6 and len(early) == 3
    # Of six jobs that each err with a probability of 2.5%, three do in one of 3,500.
    assert sum(line.confirmed for line in lines) < 3
    assert {line.runs + line.saved for line in lines} == {48}
    assert all(line.saved > 0 for line in early)
    page = out.with_suffix(".md").read_text(encoding="utf-8")
    assert "| guided | 48 | yes | 3 |" in page and "Clopper" in page
    assert status == bool(too_often(lines))

    kept = out.with_suffix(".jsonl").read_text(encoding="utf-8")
    whole, _, torn = kept.rstrip("\n").rpartition("\n")
    out.with_suffix(".jsonl").write_text(f"{whole}\n{torn[:40]}", encoding="utf-8")
    assert call(out) == status
    assert out.with_suffix(".jsonl").read_text(encoding="utf-8") == kept


def test_beside_a_neighbour_the_proof_is_told_by_raw_and_corrected_clocks(tmp_path: Path):
    out = tmp_path / "beside"
    call(out, "--neighbour", "--strategies", "random")
    lines = read_lines(out.with_suffix(".jsonl"))
    assert [line.key.neighbour for line in lines] == [True] * 3
    assert all(line.corrected["high"] >= line.corrected["low"] for line in lines)
    assert any(line.raw != line.corrected for line in lines)
    page = out.with_suffix(".md").read_text(encoding="utf-8")
    assert "| raw | 3 | " in page and "| corrected | 3 | " in page


def test_a_neighbour_takes_what_its_times_say():
    rng = np.random.default_rng(0)
    taken = [NEIGHBOUR.drawn(rng) for _ in range(4000)]
    assert 0 == min(taken) < max(taken) <= NEIGHBOUR.share + 1e-9
    expected = NEIGHBOUR.share * NEIGHBOUR.on / NEIGHBOUR.period
    assert np.mean(taken) == pytest.approx(expected, rel=0.06)


def test_more_than_five_percent_are_too_many():
    lines = [replace(LINE, key=replace(KEY, seed=seed)) for seed in range(40)]
    found = [replace(line, confirmed=line.key.seed < 2) for line in lines]
    assert too_often(found) == []
    found[7] = replace(found[7], confirmed=True)
    assert too_often(found) == ["forest: 3: 7.5% (1.6 to 20.4) report an improvement"]


def test_stop_early_is_asked_of_those_alone_that_heed_it():
    keys = keys_of("abc", ("forest", "random"), 48, 2, (False, True))
    assert [(k.strategy, k.stop_early, k.seed) for k in keys[:3]] == [
        ("forest", False, 0), ("forest", True, 0), ("random", False, 0),
    ]  # fmt: skip
    assert len(keys) == 6
    assert len(groups_of([replace(LINE, key=key) for key in keys])) == 3


def test_a_machine_measures_the_default_and_nothing_else():
    problem, level = recorded().problem, level_of(recorded())
    first = run_job(problem, level, replace(KEY, trials=24, strategy="random"))
    assert run_job(problem, level, first.key) == first
    assert level.runs == 20
    assert level.metrics["waf"] == pytest.approx(3.0)


def test_a_line_that_is_no_result_is_named(tmp_path: Path):
    path = tmp_path / "null.jsonl"
    path.write_text('{"key": 1}\n', encoding="utf-8")
    with pytest.raises(InputError, match="line 1 of"):
        read_lines(path)


def test_the_noise_is_that_of_the_recorded_load():
    level = level_of(read_recorded("load"))
    assert level.runs == 27
    assert level.noise.scatter["time"] == pytest.approx(0.18, abs=0.01)
