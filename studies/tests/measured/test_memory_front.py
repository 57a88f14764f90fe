"""The comparison of memory budgets: its figures, its jobs, and how it is stopped and goes on."""

import gzip
import json
import math
from functools import partial
from itertools import combinations
from pathlib import Path

import pytest
import typer
from hypothesis import given, settings
from hypothesis import strategies as st

from cli.main import main as terminal
from cli.options.exits import Exit
from cli.tuning import tune
from jobs.specification.specification import Specification
from models.importance.agreement import split_half
from models.importance.importance import rank_parameters
from optimizer.evaluation import evaluation as knowledge
from optimizer.ranking import sampling
from sampler.common.errors import InputError
from studies.memory_front.__main__ import main
from studies.memory_front.asked import LOAD, Asked, asked_jobs
from studies.memory_front.draws import fitness_of_draws, recorded_draws
from studies.memory_front.front import Found, best_within, expected_best, memory_front
from studies.memory_front.plot import nice_ticks
from studies.memory_front.run import finish
from studies.reproduction.study import read_study
from tests.support import DATA

FIRST = DATA / "reproduction_first_80.jsonl.gz"
MIB = 2**20


@settings(deadline=None)
@given(st.lists(st.floats(-1e3, 1e3), min_size=1, max_size=7), st.data())
def test_the_expected_best_is_the_mean_over_all_choices(values: list[float], data: st.DataObject):
    count = data.draw(st.integers(1, len(values)))
    ways = [max(each) for each in combinations(values, count)]
    mean = math.fsum(ways) / len(ways)
    assert expected_best(values, count) == pytest.approx(mean, abs=1e-6)


def test_no_more_can_be_taken_than_there_are():
    with pytest.raises(ValueError, match="cannot take 3 of 2"):
        expected_best([1.0, 2.0], 3)


def test_the_front_rises_with_memory():
    measured = [(64, 100.0), (128, 90.0), (32, -5.0), (256, 300.0)]
    found = [Found("a", n, memory * MIB, fitness) for n, (memory, fitness) in enumerate(measured)]
    assert [each.trial for each in memory_front(found)] == [2, 0, 3]
    best = best_within(found, 128 * MIB)
    assert best is not None and best.trial == 0
    assert best_within(found, MIB) is None


def test_budgets_are_multiples_of_the_defaults_memory_and_fit_the_load():
    jobs = asked_jobs((1, 2, 4, 8), workload=LOAD, trials=90, seed=1, strategy="forest")
    assert [job.memory / (136 * MIB) for job in jobs] == [1, 2, 4, 8, 1]
    assert [job.name for job in jobs][3:] == ["load-300k-8x", "load-quick-1x"]
    assert jobs[3].specification.memory == jobs[3].memory
    assert jobs[3].arguments()[-2:] == ["--memory", str(8 * 136 * MIB)]
    assert len(asked_jobs((1,), workload="load-quick", trials=90, seed=1, strategy="lhs")) == 1


def test_a_job_is_known_again_by_what_the_terminal_makes_of_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    made = []

    def run(_: object, asked: Specification, *__: object, **___: object) -> None:
        made.append(asked.digest())
        raise typer.Exit(Exit.INTERRUPTED)

    monkeypatch.setattr(tune, "_run", run)
    job = Asked(2, LOAD, 90, 1, "forest")
    kept = ["--db", str(tmp_path / "x.db"), "--out", str(tmp_path)]
    assert terminal(["tune", *job.arguments(), *kept, "--resume"]) == Exit.INTERRUPTED
    assert made == [job.specification.digest()]


def test_what_was_asked_for_otherwise_is_not_overwritten(tmp_path: Path):
    job = Asked(1, "load-quick", 90, 1, "forest")
    kept = tmp_path / f"{job.name}.jsonl.gz"
    kept.write_bytes(FIRST.read_bytes())
    with pytest.raises(InputError, match="was asked for otherwise"):
        finish(job, tmp_path)
    assert kept.read_bytes() == FIRST.read_bytes()


def test_what_is_done_is_not_measured_again(tmp_path: Path):
    head, *lines = gzip.decompress(FIRST.read_bytes()).decode().splitlines()
    job = Asked(1, "load-quick", 12, 1, "forest")
    specification = job.specification.document()
    document = {**json.loads(head), "specification": specification}
    baseline = next(json.loads(line) for line in lines if json.loads(line)["subject"] == 1)
    trials = [json.dumps({**baseline, "number": n}) for n in range(1, 13)]
    text = "\n".join([json.dumps(document), *trials])
    (tmp_path / f"{job.name}.jsonl.gz").write_bytes(gzip.compress(text.encode()))
    assert finish(job, tmp_path) == 0


def test_the_page_is_written_from_what_is_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """Without a proof too; it tells what is not there. What it ranks is not on it."""
    few = partial(rank_parameters, trees=10)
    monkeypatch.setattr(knowledge, "rank_parameters", few)
    monkeypatch.setattr(sampling, "split_half", partial(split_half, splits=1, trees=2))
    folder = tmp_path / "results" / "memory"
    folder.mkdir(parents=True)
    head, *lines = gzip.decompress(FIRST.read_bytes()).decode().splitlines()
    lines = lines[:50]
    document = json.loads(head)
    for multiple in (1, 2):
        document["specification"]["memory"] = multiple * 136 * MIB
        text = "\n".join([json.dumps(document), *lines])
        path = folder / f"load-300k-{multiple}x.jsonl.gz"
        path.write_bytes(gzip.compress(text.encode()))
    assert main(["--page", "--docs", str(tmp_path)]) == 0
    page = (tmp_path / "results" / "memory.md").read_text()
    assert "**Not finished: 50 of 2200 runs.**" in page
    assert "`load-300k-2x` | 272 MiB | 50 | - |" in page
    study = read_study(folder / "load-300k-1x.jsonl.gz")
    best = max(
        fitness
        for number, fitness in study.fitness.items()
        if number in {trial.number for trial in study.draws}
    )
    assert f"| {best:,.0f} |" in page or f"| {best:.3g} |" in page
    assert (folder / "load-fitness.svg").read_text().startswith("<svg")
    assert "![fitness against memory](memory/load-fitness.svg)" in page


def test_recorded_draws_gain_more_the_more_memory_they_take():
    draws = recorded_draws()
    own = 128 * MIB
    best = [max(f for m, f in draws if m <= times * own) for times in (1, 2, 4, 8)]
    assert best == sorted(best) and best[0] < best[3] / 5
    assert len(draws) == 661


def test_a_draw_that_was_cut_off_counts_as_the_worst():
    study = read_study(FIRST)
    values = fitness_of_draws(study)
    assert len(values) == study.states["done"] + study.states["censored"]
    assert values.count(min(study.fitness.values())) >= study.states["censored"]


def test_ticks_are_round_and_around_all():
    assert nice_ticks(-3.0, 97.0) == [-20.0, 0.0, 20.0, 40.0, 60.0, 80.0, 100.0]
    assert nice_ticks(0.0, 0.0)[0] <= 0 <= nice_ticks(0.0, 0.0)[-1]
