"""The study goes on exactly where it was killed, and judges winners by fresh runs alone."""

import argparse
import json
from collections import Counter
from dataclasses import replace
from itertools import groupby

import numpy as np
import pytest

from optimizer.budget.budget import cutoff_seconds
from optimizer.evaluation.evaluation import Evaluation
from optimizer.run.steps import proposed_trial
from optimizer.strategies.registry import find_strategy
from optimizer.trials.history import History
from optimizer.trials.trial import Purpose
from sampler.common.errors import InputError
from sampler.runner.outcome import TrialState
from studies.real_search.__main__ import main, measure_missing
from studies.real_search.book import Book
from studies.real_search.kept import row_of, trial_of
from studies.real_search.measure import measured
from studies.real_search.page import write_page
from studies.real_search.side_by_side import BASELINE, set_of, winners
from studies.real_search.summary import (
    ahead,
    by_strategy,
    change_of,
    interval_of,
    scatter_of_baseline,
    winners_of,
)
from studies.search.asking import baseline_trial
from studies.tests.measured.toy_study import Killed, ToyBench, toy_study

STRATEGIES = ("genetic", "forest", "random")
ROUNDS = 3


def asked(**more):
    return argparse.Namespace(
        **{"strategies": STRATEGIES, "seeds": 2, "rounds": ROUNDS, "page": False, **more}
    )


def whole(path, bench=None, evaluations=15, **more):
    """A study from its file, gone on with to its end."""
    study = toy_study(bench or ToyBench(), evaluations=evaluations)
    measure_missing(study, Book(path, study.digest), asked(**more))
    return study, Book(path, study.digest)


def timeless(path):
    took = ("started_at", "wall", "processor")
    rows = map(json.loads, path.read_text().splitlines())
    return [{name: v for name, v in row.items() if name not in took} for row in rows]


@pytest.fixture(scope="module")
def finished(tmp_path_factory):
    path = tmp_path_factory.mktemp("study") / "real_search.jsonl"
    bench = ToyBench()
    return path, bench, *whole(path, bench, evaluations=22)


def test_a_study_that_is_killed_again_and_again_measures_the_same(finished, tmp_path):
    path, killed = tmp_path / "killed.jsonl", 0
    while True:
        bench = ToyBench(most=55)
        try:
            whole(path, bench, evaluations=22)
            break
        except Killed:
            killed += 1
            assert bench.cancelled
            with path.open("a") as file:
                file.write('{"study":"abc","kind":"tri')  # a line that was torn off
    assert killed == 3  # the last one where models propose
    assert timeless(path) == timeless(finished[0])


@pytest.mark.parametrize(("cutoff", "subject"), [(None, None), (0.1, None), (None, 7)])
def test_a_trial_is_read_back_as_it_was(cutoff, subject):
    study = toy_study(ToyBench())
    problem, history, random = study.seeded(3), History(), find_strategy("random")
    for _ in range(2):
        trial = measured(study.bench, problem, baseline_trial(problem, history))
        history.put(trial)
        assert trial_of(problem, json.loads(json.dumps(row_of(problem, trial)))) == trial
    proposal = random.propose(Evaluation(problem, history), number=3, explore=15)
    proposal = replace(proposal, subject=subject)  # of one that measures again what was doubtful
    trial = proposed_trial(Evaluation(problem, history), proposal)
    trial = measured(study.bench, problem, trial, cutoff)
    assert trial.state is (TrialState.DONE if cutoff is None else TrialState.CENSORED)
    assert trial.subject == subject
    # What its clocks are corrected by. A run that was cut off has no such reading.
    assert ("others_cpu" in trial.metrics) == ("machine_speed" in trial.metrics) == trial.done
    assert trial.effective["buffer"] == 0.5 != trial.configuration["buffer"]
    assert trial_of(problem, json.loads(json.dumps(row_of(problem, trial)))) == trial


def test_strategies_of_a_seed_take_turns_and_end_before_the_next_seed(finished):
    rows = [*finished[3].rows("trial"), *finished[3].rows("again")]
    rows.sort(key=lambda row: row["started_at"])
    seeds = [seed for seed, _ in groupby(row["seed"] for row in rows)]
    assert seeds == [1, 2]
    for seed in seeds:
        of_seed = [row for row in rows if row["seed"] == seed]
        kinds = [kind for kind, _ in groupby(row["kind"] for row in of_seed)]
        assert kinds == ["trial", "again"]
        turns = [row["strategy"] for row in of_seed if row["kind"] == "trial"]
        rounds = [tuple(turns[at : at + 3]) for at in range(0, len(turns), 3)]
        assert all(sorted(each) == sorted(STRATEGIES) for each in rounds)
        assert len(set(rounds)) > 2


def test_every_strategy_has_its_evaluations_and_its_own_baseline(finished):
    counted = Counter((r["strategy"], r["purpose"]) for r in finished[3].rows("trial"))
    assert counted == {
        (name, purpose): 2 * count
        for name in STRATEGIES
        # As in a job of 22 runs: two runs of the baseline, and one after every ten.
        for purpose, count in (("candidate", 22), ("baseline", 4))
    }


def test_only_new_configurations_are_cut_off(finished):
    cut = {True: set(), False: set()}
    for trial, cutoff in finished[1].asked:
        cut[trial.purpose.value == "candidate"].add(cutoff is None)
    assert cut == {True: {False}, False: {True}}


def test_every_round_holds_each_winner_and_the_baseline_once(finished):
    _, _, study, book = finished
    for seed in (1, 2):
        chosen = winners(book, study.seeded(seed))
        rows = list(book.rows("again", seed=seed, set=set_of(chosen)))
        orders = [
            [row["subject"] for row in rows if row["round"] == n] for n in range(1, ROUNDS + 1)
        ]
        assert all(sorted(order) == sorted([*STRATEGIES, BASELINE]) for order in orders)
        assert len(rows) == ROUNDS * 4 and len(set(map(tuple, orders))) > 1


def test_a_choice_is_the_best_measured_where_a_strategy_has_no_word_of_its_own(finished):
    _, _, study, book = finished
    assert len(list(book.rows("choice"))) == 2 * len(STRATEGIES)
    for row in book.rows("choice", strategy="random"):
        problem = study.seeded(row["seed"])
        history = book.history(problem, "random")
        level = Evaluation(problem, history).baseline

        def fitness(trial, problem=problem, level=level):
            metrics = level.corrected(trial.metrics, trial.started_at, trial.host)
            return problem.objective.rank_value(metrics, level.metrics)

        best = max(history.of(Purpose.CANDIDATE), key=fitness)
        assert row["number"] == best.number
        assert row["fitness"] == pytest.approx(fitness(best))


def test_fitness_is_that_of_medians_of_the_same_rounds(finished):
    _, _, study, book = finished
    problem = study.seeded(1)
    found = {w.strategy: w for w in winners_of(book, problem, ROUNDS)}
    rows = list(book.rows("again", seed=1))

    def median(subject, metric):
        return np.median([r["metrics"][metric] for r in rows if r["subject"] == subject])

    change = {
        m: median("random", m) / median(BASELINE, m) - 1 for m in ("waf", "sa", "time", "rate")
    }
    fitness = 1000 * (change["rate"] - change["waf"] - change["sa"] - change["time"])
    assert found["random"].fitness == pytest.approx(fitness)
    assert found["random"].ratios["waf"] == pytest.approx(1 + change["waf"])


def test_winners_are_measured_anew_beside_a_strategy_that_came_later(tmp_path):
    path, bench = tmp_path / "r.jsonl", ToyBench()
    study, book = whole(path, strategies=("random",), seeds=1)
    assert [w.strategy for w in winners_of(book, study.seeded(1), ROUNDS)] == ["random"]
    _, book = whole(path, bench, strategies=("random", "lhs"), seeds=1)
    assert [w.strategy for w in winners_of(book, study.seeded(1), ROUNDS)] == ["lhs", "random"]
    assert len(bench.asked) == 15 + 3 + 3 * ROUNDS  # the search by `random` was not made again


def test_a_strategy_that_has_changed_is_forgotten_and_measured_again(tmp_path):
    path = tmp_path / "r.jsonl"
    whole(path, strategies=("random", "lhs"), seeds=1)
    before = timeless(path)
    book, bench = Book(path, "abc"), ToyBench()
    assert book.forget(["lhs"]) == 15 + 3 + 1
    whole(path, bench, strategies=("random", "lhs"), seeds=1)
    assert len(bench.asked) == 15 + 3  # the same winners again: they were measured already
    assert sorted(map(str, timeless(path))) == sorted(map(str, before))


def test_what_another_machine_measured_does_not_count_and_stays(tmp_path):
    path = tmp_path / "r.jsonl"
    _, book = whole(path, strategies=("random",), seeds=1)
    other = Book(path, "another")
    assert not list(other.rows("trial")) and other.forget(["random"]) == 0
    assert list(Book(path, "abc").rows("trial")) == list(book.rows("trial"))


def test_the_page_tells_winners_costs_and_who_is_ahead(finished, tmp_path):
    path, _, study, book = finished
    text = write_page(tmp_path / "real_search", "make it", study, book, ROUNDS)
    assert (tmp_path / "real_search.md").read_text() == text
    found = [w for seed in (1, 2) for w in winners_of(book, study.seeded(seed), ROUNDS)]
    best, *_ = by_strategy(found)
    mean = np.mean([w.fitness for w in found if w.strategy == best])
    assert f"| {best} | 2 | {mean:,.0f} [" in text
    assert f"{len(path.read_text().splitlines()) - 1 - 6:,} runs of `db_bench`" in text
    assert "| forest less | fitness | better on seeds |" in text
    # Of a round that is not whole nothing is shown.
    assert "## The winners" not in write_page(tmp_path / "x", "make it", study, book, ROUNDS + 1)


def test_the_scatter_of_a_seed_is_that_of_its_baseline_alone(finished, tmp_path):
    _, _, study, book = finished
    for seed in (1, 2):
        rows = [r for r in book.rows("trial", seed=seed) if r["purpose"] == "baseline"]
        times = [row["metrics"]["time"] for row in rows]
        assert len(times) == 4 * len(STRATEGIES)
        expected = 100 * np.std(times, ddof=1) / np.mean(times)
        assert scatter_of_baseline(book, seed, ["time", "none"]) == {
            "time": pytest.approx(expected)
        }
        text = write_page(tmp_path / "real_search", "make it", study, book, ROUNDS)
        (shown,) = (line for line in text.splitlines() if line.startswith("| TIME |"))
        assert shown.split(" | ")[seed].removesuffix(" |") == f"{expected:.1f}%"


def test_differences_are_taken_within_a_seed(finished):
    _, _, study, book = finished
    found = [w for seed in (1, 2) for w in winners_of(book, study.seeded(seed), ROUNDS)]
    at = {(w.strategy, w.seed): w.fitness for w in found}
    assert ahead(found, "forest", "random") == [
        at["forest", seed] - at["random", seed] for seed in (1, 2)
    ]
    assert ahead([w for w in found if w.seed == 1], "forest", "none") == []


def test_intervals_are_those_of_student():
    found = interval_of([1.0, 2.0, 3.0, 4.0, 5.0])
    assert (found.mean, found.low) == pytest.approx((3.0, 3 - 2.7764451 * 1.5811388 / 5**0.5))
    assert interval_of([2.0]).low is None
    assert change_of([0.5, 2.0]).mean == pytest.approx(0.0)
    assert change_of([0.9, 0.9]).low == pytest.approx(-10.0)


def test_a_cutoff_counts_what_is_beside_the_load_once():
    assert cutoff_seconds(4.0, {"time": 2.0, "wall_seconds": 3.5}) == 1.5 + 8.0 + 1.0
    assert cutoff_seconds(4.0, {"time": 2.0, "wall_seconds": 1.0}) == 8.0 + 1.0
    assert cutoff_seconds(0.0, {"time": 2.0, "wall_seconds": 3.5}) is None
    assert cutoff_seconds(4.0, {"time": 2.0}) is None


def test_a_baseline_that_fails_ends_the_study_with_its_reason(tmp_path):
    class Broken(ToyBench):
        def wait(self, timeout):
            return replace(super().wait(timeout), state=TrialState.FAILED, failure="no disk")

    with pytest.raises(InputError, match="no disk"):
        whole(tmp_path / "r.jsonl", Broken(), seeds=1)


@pytest.mark.db_bench
def test_a_study_on_the_real_db_bench(tmp_path, monkeypatch, settings, capsys):
    monkeypatch.setenv("ROCKTUNE_BENCH_DIR", str(settings.bench_dir))
    monkeypatch.setenv("ROCKTUNE_LOCK", str(settings.lock))
    workload = tmp_path / "tiny.toml"
    workload.write_text(
        'name = "tiny"\nnum = 2000\nkey_size = 16\nvalue_size = 1024\nscale = 64\n'
        'benchmarks = ["fillrandom"]\nmeasured = ["fillrandom"]\n'
    )
    monkeypatch.chdir(tmp_path)
    given = ["--strategies", "random", "--seeds", "1", "--evaluations", "2", "--rounds", "1"]
    main([*given, "--out", "out", "--workload", str(workload), "--space", "paper"])
    assert "| random | 1 |" in capsys.readouterr().out
    rows = [json.loads(line) for line in (tmp_path / "out.jsonl").read_text().splitlines()]
    assert Counter(row["kind"] for row in rows) == {
        "study": 1, "trial": 4, "choice": 1, "again": 2
    }  # fmt: skip
