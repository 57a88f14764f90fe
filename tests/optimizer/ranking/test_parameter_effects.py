"""What models tell of the parameters after a whole job, and what a result says of it."""

from dataclasses import replace

import numpy as np
import pytest

from optimizer.evaluation.evaluation import Evaluation
from optimizer.results.search import parameter_ranking
from optimizer.surrogate.parameter_effects import (
    ParameterEffects,
    directions,
    parameter_effects,
)
from optimizer.trials.trial import History, Phase, Purpose, Trial
from tests.support.optimizer.pretend_bench import (
    PretendBench,
    candidates,
    explored,
    job_of,
    problem_of,
)

pytestmark = pytest.mark.usefixtures("quick_ranking")
TRIALS = 60


@pytest.fixture(scope="module")
def trials() -> list[Trial]:
    job = job_of(problem_of("guided"), TRIALS, PretendBench(noise=0.02))
    job.run()
    return list(job.log.trials())


@pytest.fixture(scope="module")
def evaluation(trials: list[Trial]) -> Evaluation:
    return Evaluation(problem_of("guided"), History(trials))


@pytest.fixture(scope="module")
def document(evaluation: Evaluation) -> dict:
    return parameter_ranking(evaluation).document()


def effects(evaluation: Evaluation) -> ParameterEffects:
    found = parameter_effects(evaluation)
    assert found is not None
    return found


def test_what_matters_is_known_after_a_job(evaluation: Evaluation):
    """``bowl`` moves by x most, then y; ``level`` and ``idle`` do nothing."""
    found = effects(evaluation)
    assert found.order[0] == "x"
    assert set(found.order[-2:]) == {"level", "idle"}
    place = {name: found.names.index(name) for name in found.names}
    for metric in found.metrics.values():
        assert metric.p_holm[place["x"]] < 1e-3
        assert metric.p_holm[place["idle"]] > 0.05
        assert metric.low[place["x"]] < metric.total[place["x"]] < metric.high[place["x"]]
        assert metric.r2 is not None and metric.r2 > 0.5
    assert found.share.sum() == pytest.approx(1)


def test_the_way_to_better_is_known(evaluation: Evaluation):
    found = directions(evaluation, effects(evaluation))
    assert found["x"].better in ("low", "middle")  # best at 0.3, the baseline at 0.9
    assert found["x"].gain > 300
    assert found["sync"].better is False
    assert found["sync"].gain == pytest.approx(0)  # where the baseline is


@pytest.mark.slow
def test_the_proof_changes_nothing_of_it(evaluation: Evaluation):
    explored = [trial for trial in evaluation.history if trial.phase is not Phase.CONFIRM]
    before, after = map(effects, (Evaluation(evaluation.problem, History(explored)), evaluation))
    assert before.order == after.order
    np.testing.assert_array_equal(before.share, after.share)


@pytest.mark.slow
def test_it_is_learned_again_from_more_trials(trials: list[Trial]):
    evaluation = Evaluation(problem_of("guided"), History(trials[:30]))
    first = effects(evaluation)
    assert effects(evaluation) is first
    for trial in trials[30:]:
        evaluation.history.put(trial)
    assert effects(evaluation).share.tolist() != first.share.tolist()


def test_too_few_trials_tell_nothing(trials: list[Trial]):
    problem = problem_of("guided")
    seven = [t for t in trials if t.is_baseline][:3] + candidates(trials)[:7]
    assert parameter_effects(Evaluation(problem, History(seven))) is None
    document = parameter_ranking(Evaluation(problem, History(seven))).document()
    assert (document["ranked_by"], document["models"]) == ("forests", {})


@pytest.mark.slow
def test_only_what_moved_has_effects():
    problem = problem_of("guided", over=("x", "codec"))
    job = job_of(problem, 30, PretendBench(noise=0.02))
    job.run()
    document = parameter_ranking(Evaluation(problem, History(job.log.trials()))).document()
    row = {r["name"]: r for r in document["parameters"]}
    for part in ("model", "importance"):
        assert row["x"][part] and row["codec"][part]
        assert row["y"][part] == {}
    assert row["y"]["share"] == 0 and row["y"]["gain"] is None


@pytest.mark.slow
def test_what_draws_move_has_effects_though_no_search_moves_it(trials: list[Trial]):
    problem = problem_of("genetic", over=("x", "codec"))
    document = parameter_ranking(Evaluation(problem, History(trials))).document()
    row = {r["name"]: r for r in document["parameters"]}
    assert row["y"]["model"] and row["y"]["importance"]


class TestTheDocument:
    def test_forest_and_process_rank_side_by_side(self, document: dict):
        assert document["ranked_by"] == "models"
        assert document["models"].keys() == document["forest"].keys()
        rows = document["parameters"]
        assert [row["rank"] for row in rows] == list(range(1, len(rows) + 1))
        assert rows[0]["name"] == "x" and rows[0]["matters"] is True
        idle = next(row for row in rows if row["name"] == "idle")
        assert idle["matters"] is False
        for row in rows:
            for each in (row["anova"], row["importance"], row["model"]):
                assert each.keys() == document["forest"].keys()
            for found in row["importance"].values():
                assert 0 <= found["mdi"] <= 1
            for found in row["model"].values():
                assert 0 <= found["low"] <= found["high"] and found["alone"] <= found["total"]
                assert 1 <= found["rank_low"] <= found["rank_high"] <= len(rows)
        assert all(-1 <= each["kendall_tau"] <= 1 for each in document["models"].values())

    def test_shares_are_by_the_process(self, document: dict):
        rows, wanted = document["parameters"], np.zeros(len(document["parameters"]))
        assert set(document["shown_first"].values()) == {"process"}
        for metric in document["shown_first"]:
            total = np.array([row["model"][metric]["total"] for row in rows])
            wanted += total / total.sum() / len(document["shown_first"])
        assert [row["share"] for row in rows] == pytest.approx(wanted.tolist())

    @pytest.mark.slow
    def test_few_draws_test_nothing_and_say_what_they_could_have_seen(self, document, trials):
        power = document["anova_power"]
        assert power["draws"] == len(candidates(trials, Phase.SAMPLE)) < power["least"] == 30
        assert 0.2 < power["smallest_share"] < 1

    @pytest.mark.slow
    def test_draws_alone_are_ranked_in_the_same_way(self, trials: list[Trial]):
        drawn = [replace(t, phase=Phase.SAMPLE) if t.purpose is Purpose.CANDIDATE else t
                 for t in trials]  # fmt: skip
        document = parameter_ranking(Evaluation(problem_of(), History(drawn))).document()
        assert document["ranked_by"] == "models"
        assert document["parameters"][0]["name"] == "x"
        assert document["anova_power"]["draws"] > 30


@pytest.mark.slow
def test_the_ranking_that_is_kept_grows_with_the_search():
    job = job_of(problem_of("guided"), 30, PretendBench(noise=0.02))
    kept = []
    remember = job.log.remember

    def watched(key: str, document: dict) -> None:
        if key == "ranking":
            kept.append(document["models"]["waf"]["trials"])
        remember(key, document)

    job.log.remember = watched
    job.run()
    drawn = len(candidates(job.log.trials(), Phase.SAMPLE))
    assert kept == [drawn, len(explored(job.log.trials()))]
