"""``result.json``, on which tools outside the project rely: its keys, types and meaning."""

import json
import math
from typing import Any

import numpy as np
import pytest

from optimizer.objective.objective import Objective, Term
from optimizer.results.result import Conclusion, fitness_by_trial, job_result
from optimizer.trials.trial import Purpose, Trial
from sampler.space.space_file import load_space
from tests.support.optimizer.pretend_bench import (
    PretendBench,
    bowl,
    candidates,
    explored,
    flat,
    job_of,
    problem_of,
    small_space,
)

pytestmark = [pytest.mark.usefixtures("quick_ranking", "unranked"), pytest.mark.slow]
Document = dict[str, Any]
MAIN = ("waf", "sa", "time", "rate")


def document_of(
    trials: int = 24, strategy: str = "random", *, space=None, objective="paper", top=5, **bench
) -> tuple[Document, Conclusion]:
    problem = problem_of(strategy, space=space, objective=objective, top=top)
    conclusion = job_of(problem, trials, PretendBench(**bench)).run()
    job, environment = {"trials": trials}, {"cpu": "pretended"}
    return job_result(conclusion, job=job, environment=environment).document(), conclusion


@pytest.fixture(scope="module")
def noisy() -> tuple[Document, Conclusion]:
    return document_of(48, "genetic", noise=0.02)


@pytest.fixture(scope="module")
def document(noisy: tuple[Document, Conclusion]) -> Document:
    return noisy[0]


@pytest.fixture(scope="module")
def conclusion(noisy: tuple[Document, Conclusion]) -> Conclusion:
    return noisy[1]


class TestContract:
    def test_top_level(self, document: Document):
        assert document["schema"] == 1
        assert document["job"] == {"trials": 48}
        assert document["environment"] == {"cpu": "pretended"}
        assert {"baseline", "best", "parameters", "forest", "trials", "time"} <= document.keys()

    def test_is_json_without_nan(self, document: Document):
        assert json.loads(json.dumps(document, allow_nan=False)) == document

    def test_holds_plain_types_alone(self, document: Document):
        def walk(value: Any) -> None:
            assert type(value) in (dict, list, str, int, float, bool, type(None))
            if isinstance(value, dict):
                assert all(type(key) is str for key in value)
                for inner in value.values():
                    walk(inner)
            if isinstance(value, list):
                for inner in value:
                    walk(inner)

        walk(document)

    def test_the_parts_have_their_keys(self, document: Document):
        best, runs = document["best"], document["baseline"]["runs"]
        assert best.keys() >= {"trial", "configuration", "metrics", "fitness", "confirmed", "runs"}
        assert (best["confirmed"], best["runs"], runs) == (True, 4, 4)
        assert best["change"].keys() & document["baseline"]["metrics"].keys() >= {*MAIN}
        for change in best["change"].values():
            assert change.keys() == {"percent", "low", "high", "p", "p_adjusted", "detectable"}
        for row in document["parameters"]:
            assert row["importance"].keys() == row["anova"].keys() == {*MAIN}
            for importance in row["importance"].values():
                assert importance.keys() >= {"mdi", "permutation", "permutation_std"}
            assert all(test.keys() >= {"f", "p"} for test in row["anova"].values())
        assert document["forest"].keys() == {*MAIN}
        assert all(-math.inf < forest["r2"] <= 1 for forest in document["forest"].values())

    def test_trials_and_time(self, document: Document, conclusion: Conclusion):
        states = {"done", "failed", "timed_out", "censored", "infeasible", "lost"}
        assert document["trials"].keys() == states | {"total"}
        assert document["trials"]["total"] == document["trials"]["done"] == 48
        seconds = sum(trial.bench_seconds for trial in conclusion.history)
        assert document["time"] == pytest.approx(
            {"wall_seconds": seconds, "bench_seconds": seconds}
        )


class TestBest:
    def test_metrics_are_medians_of_the_proofs_fresh_runs(
        self, document: Document, conclusion: Conclusion
    ):
        prove = conclusion.history.of(Purpose.PROVE)
        for side, mine in (("baseline", False), ("best", True)):
            runs = [t.metrics for t in prove if t.is_baseline is not mine]
            for name in MAIN:
                median = np.median([run[name] for run in runs])
                assert document[side]["metrics"][name] == median

    def test_fitness_is_equation_2_of_the_changes_that_the_test_decides_by(
        self, document: Document
    ):
        change, verdict = document["best"]["change"], document["verdict"]
        terms = {n: -10 * change[n]["percent"] for n in ("waf", "sa", "time")}
        terms["rate"] = 10 * change["rate"]["percent"]
        assert document["best"]["fitness"] == verdict["fitness"]
        assert verdict["fitness"] == pytest.approx(sum(terms.values()))
        assert verdict["fitness"] == pytest.approx((verdict["low"] + verdict["high"]) / 2)
        assert document["best"]["terms"] == pytest.approx(terms)

    def test_is_the_winner_as_it_was_measured(self, document: Document, conclusion: Conclusion):
        best = document["best"]
        assert best["trial"] == conclusion.winner
        assert best["configuration"] == conclusion.history[best["trial"]].configuration

    def test_percent_is_signed_and_lies_within_its_interval(self, document: Document):
        for change in document["best"]["change"].values():
            assert change["low"] <= change["percent"] <= change["high"]
        assert document["best"]["change"]["waf"]["percent"] < 0
        assert document["best"]["change"]["rate"]["percent"] > 0

    def test_is_null_when_nothing_was_confirmed(self):
        document, conclusion = document_of(24, function=flat, noise=0.05)
        assert not conclusion.verdict.confirmed
        assert document["best"] is None
        assert document["verdict"]["confirmed"] is False
        assert document["verdict"]["trial"] == conclusion.winner
        assert document["baseline"]["metrics"] == conclusion.verdict.baseline

    def test_is_null_when_nothing_could_be_measured(self):
        document, _ = document_of(
            24, fails=lambda t: "no" if t.purpose is Purpose.CANDIDATE else None
        )
        assert document["best"] is document["verdict"] is None
        assert document["baseline"]["runs"] == 3
        assert document["baseline"]["metrics"]["waf"] == pytest.approx(
            bowl(small_space().default_configuration())["waf"]
        )
        assert [row["rank"] for row in document["parameters"]] == [1, 2, 3, 4, 5, 6]
        assert all(forest["r2"] is None for forest in document["forest"].values())
        json.dumps(document, allow_nan=False)


class TestParameters:
    def test_are_ranked_from_one_on(self, document: Document):
        rows = document["parameters"]
        assert [row["rank"] for row in rows] == list(range(1, 7))
        assert {row["name"] for row in rows} == set(small_space().names)
        names = [row["name"] for row in rows]
        assert names.index("x") < names.index("idle")
        shares = [row["share"] for row in rows]
        assert shares == sorted(shares, reverse=True)
        assert sum(shares) == pytest.approx(1)

    def test_facts_of_the_load_are_marked_in_the_papers_space(self):
        document, _ = document_of(24, "lhs", space=load_space("paper"), function=flat)
        rows = {row["name"]: row for row in document["parameters"]}
        assert len(rows) == 30
        assert {n for n, row in rows.items() if row["workload_factor"]} == {
            "threads",
            "compression_ratio",
        }
        assert {n for n, row in rows.items() if not row["searched"]} == {"threads"}

    def test_anova_groups_count_every_draw_that_has_the_parameter(
        self, document: Document, conclusion: Conclusion
    ):
        (codec,) = (row for row in document["parameters"] if row["name"] == "codec")
        drawn = [t for t in candidates(conclusion.history) if t.phase.value == "sample"]
        sizes = {group["label"]: group["size"] for group in codec["anova"]["waf"]["groups"]}
        assert sizes == {
            codec: sum(t.configuration["codec"] == codec for t in drawn)
            for codec in ("fast", "tight", "none")
        }


@pytest.mark.parametrize("strategy", ["random", "genetic", "guided"])
def test_the_smallest_job_has_no_forest_and_still_a_result(strategy: str):
    document, _ = document_of(12, strategy)
    assert {name: forest["r2"] for name, forest in document["forest"].items()} == dict.fromkeys(
        MAIN
    )
    assert all(row["importance"] == {} for row in document["parameters"])
    assert document["best"]["confirmed"]
    json.dumps(document, allow_nan=False)


class TestCounts:
    def test_tell_how_trials_ended(self):
        def slow(configuration):
            found = bowl(configuration)
            found["time"] *= 10 if configuration["sync"] else 1
            return found

        document, conclusion = document_of(
            48, function=slow, fails=lambda t: "no" if t.number in (8, 9) else None
        )
        cut_off = sum(
            trial.configuration["sync"] and trial.number not in (8, 9)
            for trial in candidates(conclusion.history)
        )
        assert document["trials"]["failed"] == 2
        assert document["trials"]["censored"] == cut_off > 0
        assert document["trials"]["done"] == 48 - 2 - cut_off
        json.dumps(document, allow_nan=False)


class TestMore:
    def test_the_front_holds_candidates_that_no_other_beats(self):
        objective = Objective("two", (Term("waf", "min"), Term("rate", "max")), pareto=True)

        def trade(configuration):
            x = configuration["x"]
            return flat(configuration) | {"waf": 1 + x, "rate": 1e4 * (1 + x)}

        document, conclusion = document_of(24, objective=objective, function=trade)
        assert document["pareto"] == [t.number for t in explored(conclusion.history)]
        assert {row["trial"] for row in document["hypervolume"]} <= {*document["pareto"]}
        document, conclusion = document_of(24, objective="waf", function=trade)
        least = min(t.metrics["waf"] for t in explored(conclusion.history))
        best = [t.number for t in explored(conclusion.history) if t.metrics["waf"] == least]
        assert document["pareto"] == best  # a simplified version does the same

    def test_noise_tells_of_drift(self):
        document, _ = document_of(
            90, "lhs", objective="waf", noise=0.01, drift=lambda seconds: 1 + seconds / 1000
        )
        assert json.loads(json.dumps(document, allow_nan=False)) == document
        noise = document["baseline"]["noise"]
        assert noise["time"]["drifting"] is True
        low, high = noise["time"]["range"]
        assert low < 1 < high
        assert 0.9 < noise["waf"]["median"] / document["baseline"]["metrics"]["waf"] < 1.1
        assert noise["waf"] | {"spread": None, "median": None} == {
            "median": None,
            "spread": None,
            "drift_p": None,
            "drifting": False,
            "range": None,
        }

    def test_fitness_by_trial_is_that_of_every_measured_trial(self):
        document, conclusion = document_of(24, fails=lambda t: "no" if t.number == 6 else None)
        problem = problem_of()
        found = fitness_by_trial(conclusion)
        assert found.keys() == {t.number for t in conclusion.history} - {6}
        default = bowl(small_space().default_configuration())
        for number, value in found.items():
            metrics = bowl(conclusion.history[number].configuration)
            assert value == pytest.approx(problem.objective.fitness(metrics, default))
        assert document["trials"]["failed"] == 1

    def test_is_the_same_when_the_job_is_read_back(self):
        problem = problem_of("genetic", objective="rate")
        job = job_of(
            problem, 60, PretendBench(noise=0.02, drift=lambda seconds: 1 + seconds / 1500)
        )
        first = job_result(job.run(), job={}, environment={}).document()
        job.bench = PretendBench()
        again = job_result(job.run(), job={}, environment={}).document()
        assert again == first


def test_a_failed_first_baseline_and_no_draw_that_ends_well_still_have_a_result():
    def fails(trial: Trial) -> str | None:
        return "no" if trial.number == 1 or trial.purpose is Purpose.CANDIDATE else None

    document, _ = document_of(24, "genetic", fails=fails)
    assert document["best"] is None
    assert document["baseline"]["runs"] == 2
