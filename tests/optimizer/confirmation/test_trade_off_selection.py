"""A pick by preference: which trials it judges, and by what."""

from dataclasses import replace

import pytest

from optimizer.confirmation.choice import select_trade_offs
from optimizer.evaluation.baseline import summarise
from optimizer.evaluation.evaluation import Evaluation
from optimizer.objective.objective import Limit, Objective, Term, require_measured
from optimizer.objective.objective_file import parse_weights, weights_words
from optimizer.surrogate.predictions import Prediction, predictions_of
from optimizer.trials.trial import History, Phase, Purpose
from sampler.bench.outcome import TrialState
from sampler.common.errors import InputError
from sampler.space.space import memory_bytes
from sampler.space.space_file import load_space
from tests.support.optimizer.pretend_bench import PretendBench, job_of, problem_of, trial_of

WAF = Objective("waf", (Term("waf", "min"),))


def history(*more) -> History:
    baselines = [
        trial_of(n, {"waf": 2.0, "sa": 1.0}, purpose=Purpose.BASELINE, seconds=0.0) for n in (1, 2)
    ]
    return History([*baselines, *more])


def picked(trials: History, objective: Objective = WAF, count: int = 9, **problem):
    asked = replace(problem_of("random"), **problem)
    return select_trade_offs(Evaluation(asked, trials), objective, count=count)


def numbers(*given, **more) -> list[int]:
    return [each.first.number for each in picked(*given, **more).best]


class TestPick:
    def test_the_fittest_first_and_of_equal_ones_the_earlier(self):
        trials = history(
            trial_of(3, {"waf": 1.5, "sa": 1.0}),
            trial_of(4, {"waf": 1.0, "sa": 1.0}),
            trial_of(5, {"waf": 1.5, "sa": 2.0}),
            trial_of(6, {"waf": 0.1, "sa": 1.0}, state=TrialState.CENSORED),
        )
        found = picked(trials)
        assert [each.first.number for each in found.best] == [4, 3, 5]
        assert [each.fitness for each in found.best] == [500.0, 250.0, 250.0]
        assert (found.judged, found.keeping) == (3, 3)
        assert numbers(trials, count=1) == [4]

    def again(self) -> History:
        """Two configurations; the first, a lucky one, is measured again in three ways."""
        more = [
            trial_of(
                n, {"waf": waf, "sa": 1.0}, configuration={"x": float(subject or 3)},
                purpose=purpose, phase=phase, subject=subject,
            )
            for n, waf, purpose, phase, subject in (
                (5, 1.8, Purpose.CANDIDATE, Phase.SEARCH, 3),
                (6, 1.8, Purpose.SELECT, Phase.CONFIRM, 3),
                (7, 1.8, Purpose.PROVE, Phase.CONFIRM, 3),
                (8, 2.0, Purpose.SELECT, Phase.CONFIRM, 1),
                (9, 2.0, Purpose.PROVE, Phase.CONFIRM, 1),
            )
        ]  # fmt: skip
        lucky, steady = trial_of(3, {"waf": 1.0, "sa": 1.0}), trial_of(4, {"waf": 1.5, "sa": 1.0})
        return history(lucky, steady, *more)

    def test_all_runs_of_a_configuration_count_and_those_of_the_baseline_do_not(self):
        best = picked(self.again()).best
        assert [(each.first.number, each.runs, each.metrics["waf"]) for each in best] == [
            (4, 1, 1.5), (3, 4, pytest.approx(1.6))]  # fmt: skip

    def test_what_was_proven_with_another_load_does_not_count(self):
        other = replace(problem_of("random").workload, scale=8)
        best = picked(self.again(), confirm=other).best
        assert [(each.first.number, each.runs, each.metrics["waf"]) for each in best] == [
            (3, 2, pytest.approx(1.4)), (4, 1, 1.5)]  # fmt: skip

    def test_what_ever_failed_is_not_picked(self):
        failed = trial_of(
            5, configuration={"x": 3.0}, state=TrialState.FAILED, subject=3, phase=Phase.SEARCH
        )
        trials = history(trial_of(3, {"waf": 0.1}), trial_of(4, {"waf": 1.5}), failed)
        assert numbers(trials) == [4]

    def test_what_was_given_beyond_the_memory_is_not_picked(self):
        space = load_space("default")
        default = space.default_configuration()
        double = {**default, "write_buffer_size": 2 * default["write_buffer_size"]}
        trials = history(
            trial_of(3, {"waf": 0.1}, configuration=double, given=True),
            trial_of(4, {"waf": 1.5}, configuration=default | {"max_background_jobs": 4}),
        )
        memory = memory_bytes(space.context)
        assert numbers(trials, space=space, memory=memory) == [4]
        assert numbers(trials, space=space) == [3, 4]

    def test_limits_are_kept_by_the_means(self):
        limited = replace(WAF, limits=(Limit("sa", at_most_baseline=1.0),))
        trials = history(
            trial_of(3, {"waf": 0.5, "sa": 1.1}), trial_of(4, {"waf": 1.9, "sa": 1.0})
        )
        found = picked(trials, limited)
        assert [each.first.number for each in found.best] == [4]
        assert (found.judged, found.keeping) == (2, 1)

    def test_what_lacks_a_metric_of_the_preference_is_not_judged(self):
        trials = history(trial_of(3, {"sa": 0.1}), trial_of(4, {"waf": 1.9, "sa": 1.0}))
        assert numbers(trials) == [4]

    def test_clocks_are_corrected(self):
        slowing = [
            trial_of(n, {"time": 10.0 + n}, purpose=Purpose.BASELINE, seconds=60.0 * n)
            for n in range(1, 40, 3)
        ]
        late = trial_of(38, {"time": 45.0}, seconds=60.0 * 38)  # 10% better than it was then
        early = trial_of(2, {"time": 12.5}, seconds=60.0 * 2)  # 4% worse
        trials = History([*slowing, late, early])
        assert Evaluation(problem_of(), trials).baseline.noise["time"].drifting
        found = picked(trials, Objective("time", (Term("time", "min"),)))
        assert [each.first.number for each in found.best] == [38, 2]
        assert found.best[0].fitness > 0 > found.best[1].fitness

    @pytest.mark.parametrize("limit", [(), (Limit("luck", at_most=1.0),)])
    def test_what_was_not_measured_is_named(self, limit):
        level = summarise(history().of(Purpose.BASELINE)).metrics
        require_measured(WAF, level)
        asked = replace(WAF, limits=limit, terms=(Term("waf" if limit else "luck", "min"),))
        with pytest.raises(
            InputError, match=r"has not measured 'luck'; it measured sa, waf"
        ) as said:
            require_measured(asked, level)
        assert said.value.field == ("limit" if limit else "metric")


class TestOpinions:
    def test_models_expect_less_of_a_lucky_run(self):
        """Noise of 20% on a metric that no option moves: the best run is nothing but luck."""
        bench = PretendBench(
            lambda _: {"waf": 2.0, "sa": 1.0, "time": 5.0, "rate": 1e4}, noise=0.2
        )
        problem = problem_of("random", objective="waf")
        trials = job_of(problem, 40, bench).run().history
        best = picked(trials).best[0]
        assert best.fitness > 200

        def told(objective: Objective) -> Prediction:
            number = best.first.number
            return predictions_of(Evaluation(problem, trials), objective, [number])[number]

        said = told(problem.objective)
        assert said.fitness < best.fitness / 2
        assert said.low < said.fitness < said.high and said.keeps == 1.0
        never = replace(problem.objective, limits=(Limit("sa", at_most=0.01),))
        # In turn: what was learned for one objective is not for another.
        assert [told(never).keeps, told(problem.objective), told(never).keeps] == [0.0, said, 0.0]

    def test_of_too_few_trials_there_are_none(self):
        problem = problem_of("random", objective="waf")
        trials = history(trial_of(3, {"waf": 1.5, "sa": 1.0}))
        assert predictions_of(Evaluation(problem, trials), problem.objective, [3]) == {}
        assert predictions_of(Evaluation(problem, trials), problem.objective, []) == {}


class TestWeights:
    def test_are_read_and_told(self):
        terms = parse_weights(" waf=2, sa = .5,rate ", {})
        assert terms == (Term("waf", "min", 2.0), Term("sa", "min", 0.5), Term("rate", "max", 1.0))
        assert parse_weights(weights_words(terms), {}) == terms

    def test_the_jobs_own_metrics_keep_their_direction(self):
        assert parse_weights("score=3", {"score": "max"}) == (Term("score", "max", 3.0),)
        assert parse_weights("write_p99,memory", {})[0].direction == "min"

    @pytest.mark.parametrize(
        ("text", "said"),
        [
            ("", "names no metric"),
            ("=2", "names no metric"),
            ("waf=2,,sa=1", "names no metric"),
            ("waf=", "has no valid weight"),
            ("waf=two", "has no valid weight"),
            ("waf=0", "leave the metric out"),
            ("waf=-1", "above 0"),
            ("waf=nan", "above 0"),
            ("waf=1e7", "above 0, up to 1,000,000"),
            ("waf=1,waf=2", "twice"),
            ("score=1", "not known whether less or more of 'score' is better"),
        ],
    )
    def test_what_is_wrong_is_named(self, text: str, said: str):
        with pytest.raises(InputError, match=said) as error:
            parse_weights(text, {})
        assert error.value.field == "weights"
