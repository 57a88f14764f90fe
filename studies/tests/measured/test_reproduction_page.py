"""The page is made from the first 79 real runs of the reproduction."""

import gzip
import json
import re
from dataclasses import replace
from pathlib import Path

import pytest

from optimizer.strategies.genetic import POPULATION
from sampler.space.space_file import load_space
from studies.reproduction import tables
from studies.reproduction.__main__ import main
from studies.reproduction.curve import curve
from studies.reproduction.published import ANALYSES, CHANGES, ORDER, R2, SEARCHED
from studies.reproduction.study import Generation, Study, generations_of, read_study
from tests.support import DATA
from tests.support.db.any_trials import plain_trial

FIRST = DATA / "reproduction_first_80.jsonl.gz"


@pytest.fixture(scope="module")
def study() -> Study:
    return read_study(FIRST)


def rows_of(table: str) -> list[list[str]]:
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in table.splitlines()]


def test_what_was_published_is_about_parameters_of_the_space():
    names = set(load_space("paper").names)
    assert names >= {*ORDER, *SEARCHED, *(each.parameter for each in ANALYSES)}
    assert R2.keys() == CHANGES.keys() == {"waf", "sa", "rate", "time"}


def test_every_draw_is_counted_once(study: Study):
    assert not study.complete
    assert sum(study.states.values()) == len(study.draws)
    baselines = [trial for trial in study.trials if trial.is_baseline]
    assert len(baselines) + len(study.draws) == len(study.trials) == 80


def test_a_trial_that_was_stopped_in_its_middle_is_left_out(tmp_path: Path):
    head, *lines = gzip.decompress(FIRST.read_bytes()).decode().splitlines()
    last = json.loads(lines[-1])
    assert last["state"] == "done"
    lines[-1] = json.dumps({**last, "state": "running", "metrics": {}, "finished_at": None})
    (tmp_path / "stopped.gz").write_bytes(gzip.compress("\n".join([head, *lines]).encode()))
    stopped = read_study(tmp_path / "stopped.gz")
    assert len(stopped.trials) == 79
    assert len(stopped.archive.trials) == 80


def test_forests_are_beside_the_papers(study: Study):
    rows = rows_of(tables.forests(study, published=True))
    assert rows[0] == ["metric", "paper, 8:2", "8:2", "5 folds", "sd", "trials"]
    waf = study.result["forest"]["waf"]
    assert rows[2][:3] == ["WAF", "0.663", f"{waf['r2']:.3f}"]
    # What forests learn from is the baseline, too.
    assert int(rows[2][5]) == study.states["done"] + 1 < len(study.draws) + 1 == int(rows[4][5])


def test_the_ranking_holds_our_first_and_all_of_the_papers(study: Study):
    rows = rows_of(tables.ranking(study, published=True, count=3))[2:]
    ours = [row["name"] for row in study.result["parameters"]]
    names = [row[0].strip("`") for row in rows]
    assert names[:3] == ours[:3]
    assert set(names) == {*ours[:3], *ORDER}
    for row, name in zip(rows, names, strict=True):
        assert row[1] == (str(ORDER.index(name) + 1) if name in ORDER else "after 6")
        assert int(row[2]) == ours.index(name) + 1


def test_analyses_show_both_probabilities(study: Study):
    rows = rows_of(tables.analyses(study))[2:]
    assert [row[0] for row in rows] == [
        f"{each.metric.upper()} by `{each.parameter}`" for each in ANALYSES
    ]
    assert rows[0][1] == "4.84e-31"
    by_name = {row["name"]: row for row in study.result["parameters"]}
    assert rows[2][2] == tables.chance(by_name["mmap_write"]["anova"]["waf"]["p"])


def test_generations_are_of_eight_and_then_of_four():
    searched = [plain_trial(number) for number in range(101, 101 + POPULATION + 5)]
    fitness = {trial.number: float(trial.number) for trial in searched if trial.number != 113}
    assert generations_of(searched, fitness) == (
        Generation(1, 108.0, 108.0),
        Generation(2, 112.0, 112.0),
        Generation(3, None, 112.0),
    )


def test_the_curve_never_falls():
    generations = [Generation(1, 5.0, 5.0), Generation(2, -3.0, 5.0), Generation(3, None, 5.0)]
    svg = curve(generations, mark=(7, 1600.0), title="a curve")
    points = re.search(r'points="([^"]+)"', svg)
    assert points is not None
    heights = [float(point.split(",")[1]) for point in points[1].split()]
    assert len(heights) == 3 and len(set(heights)) == 1
    assert svg.count("<circle") == 2
    assert "the paper" in svg


def test_the_page_says_what_is_missing(tmp_path: Path):
    folder = tmp_path / "reproduction"
    folder.mkdir()
    (folder / "paper.jsonl.gz").write_bytes(FIRST.read_bytes())
    (folder / "remarks.md").write_text("## Where it differs\n\nA remark.")
    main(tmp_path)
    text = (tmp_path / "results" / "reproduction.md").read_text()
    assert "**Not finished: 80 of 2,200 runs are made.**" in text
    assert "A remark." in text
    assert "Not measured yet." in text
    assert "The best against the default" not in text


def test_a_finished_job_is_not_called_unfinished(study: Study):
    asked = study.archive.specification.model_copy(update={"trials": 80})
    assert replace(study, archive=replace(study.archive, specification=asked)).complete
