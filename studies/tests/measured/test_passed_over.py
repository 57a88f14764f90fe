"""What forest recommends beside the best that it had measured: the bench is a formula here."""

from dataclasses import replace
from pathlib import Path

import pytest

from optimizer.evaluation.evaluation import Evaluation
from optimizer.strategies.registry import find_strategy
from optimizer.trials.trial import Purpose, Trial
from sampler.common.errors import InputError
from sampler.runner.settings import load_settings
from sampler.space.space import digest
from studies.methods.cases import Case
from studies.methods.passed_over import judged, main, pairs_of
from studies.methods.passed_over_page import BEST, PREFERRED, write_page
from studies.real_search.book import Book
from studies.real_search.course import run_seed
from studies.real_search.side_by_side import run_rounds
from studies.real_search.study import Study, study_of
from studies.tests.measured.toy_study import Killed, ToyBench, toy_study

ROUNDS = 2
SEEDS = (1, 2)
WHOSE = ("methods_1200", "forest")


@pytest.fixture(scope="module")
def study() -> Study:
    return replace(toy_study(ToyBench(), evaluations=20), seconds=24.0)


@pytest.fixture(scope="module")
def ended(study: Study, tmp_path_factory: pytest.TempPathFactory) -> Book:
    """Two searches, made once."""
    book = Book(tmp_path_factory.mktemp("ended") / "ended.jsonl", study.digest)
    for seed in SEEDS:
        run_seed(study, book, {"forest": find_strategy("forest")}, seed)
    return book


@pytest.fixture
def searched(study: Study, ended: Book, tmp_path: Path) -> Book:
    """The same without their choices."""
    book = Book(tmp_path / "open.jsonl", study.digest)
    for row in ended.rows("trial"):
        book.keep(row)
    return book


def ranked(study: Study, book: Book, seed: int) -> list[tuple[float, Trial]]:
    problem = study.seeded(seed)
    history = book.history(problem, "forest")
    return Evaluation(problem, history).best_first(history.of(Purpose.CANDIDATE))


def choose(study: Study, book: Book, seed: int, place: int) -> None:
    """Lets a search recommend what is in that place of its measurements."""
    value, trial = ranked(study, book, seed)[place]
    row = {"kind": "choice", "seed": seed, "strategy": "forest", "digest": trial.digest}
    book.keep({**row, "number": trial.number, "fitness": value})


def test_a_pair_is_of_what_is_recommended_and_the_best_that_was_measured(study, searched):
    choose(study, searched, 2, 3)
    (pair,) = pairs_of(study, searched)
    order = ranked(study, searched, 2)
    assert pair.seed == 2
    assert {name: digest(each) for name, each in pair.chosen.items()} == {
        PREFERRED: order[3][1].digest,
        BEST: order[0][1].digest,
    }
    assert pair.at == {PREFERRED: order[3][0], BEST: order[0][0]}


def test_there_is_none_where_both_are_one(study, searched):
    choose(study, searched, 1, 0)
    assert pairs_of(study, searched) == []


def test_a_killed_measurement_goes_on_and_measures_nothing_twice(study, searched, tmp_path):
    choose(study, searched, 1, 3)
    (pair,) = pairs_of(study, searched)
    again = tmp_path / "again.jsonl"
    weak = replace(study, bench=ToyBench(most=4))
    with pytest.raises(Killed):
        run_rounds(weak, Book(again, study.digest), 1, pair.chosen, ROUNDS)
    book = Book(again, study.digest)
    assert judged(study, book, [pair], ROUNDS) == [], "a round is missing"
    run_rounds(study, book, 1, pair.chosen, ROUNDS)
    rows = [(row["round"], row["subject"]) for row in book.rows("again")]
    assert len(rows) == len(set(rows)) == ROUNDS * 3
    assert {winner.strategy for winner in judged(study, book, [pair], ROUNDS)} == {PREFERRED, BEST}


def test_the_page_tells_of_both_in_the_search_and_again(study, searched, tmp_path):
    book = Book(tmp_path / "passed.jsonl", study.digest)
    book.keep(study.document())
    for seed in SEEDS:
        choose(study, searched, seed, 3)
    pairs = pairs_of(study, searched)
    for pair in pairs:
        run_rounds(study, book, pair.seed, pair.chosen, ROUNDS)
    winners = judged(study, book, pairs, ROUNDS)
    page = write_page(
        tmp_path / "passed", "make it", [("toy", study, book, winners)], ROUNDS, *WHOSE
    )
    assert (tmp_path / "passed.md").read_text() == page
    assert f"{ROUNDS * 3 * len(SEEDS)} runs of `db_bench`" in page
    for pair in pairs:
        of = {w.strategy: w.fitness for w in winners if w.seed == pair.seed}
        cells = [pair.at[PREFERRED], of[PREFERRED], pair.at[BEST], of[BEST]]
        row = " | ".join(["toy", str(pair.seed), *(f"{cell:,.0f}" for cell in cells)])
        assert f"| {row} |" in page
    leads = [
        one.fitness - other.fitness
        for one in winners
        for other in winners
        if (one.seed, one.strategy, other.strategy) == (other.seed, PREFERRED, BEST)
    ]
    better = sum(lead > 0 for lead in leads)
    assert f"| toy | {sum(leads) / 2:+,.0f} [" in page and f"| {better} of 2 |" in page


def test_a_page_of_nothing_is_refused(study, tmp_path):
    book = Book(tmp_path / "none.jsonl", study.digest)
    with pytest.raises(InputError, match="nothing was measured yet"):
        write_page(tmp_path / "none", "make it", [("toy", study, book, [])], ROUNDS, *WHOSE)


def test_a_folder_without_searches_is_named_and_nothing_is_written(tmp_path):
    with pytest.raises(SystemExit, match=r"--searches.* has no search of forest to its end"):
        main(["--searches", str(tmp_path), "--out", str(tmp_path / "out")])
    assert list(tmp_path.iterdir()) == []


def test_seconds_are_the_same_however_they_are_written():
    specification = Case("studies/methods/load.toml", 1).specification
    settings = load_settings()
    of = [study_of(specification, settings, evaluations=0, seconds=s) for s in (1200, 1200.0, 150)]
    assert of[0].digest == of[1].digest != of[2].digest
