"""The rule that ends the sampling phase: when it fires, when it does not, and on what it rests."""

from dataclasses import replace
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from optimizer.budget.budget import divide
from optimizer.evaluation.evaluation import Evaluation
from optimizer.results.result import job_result
from optimizer.results.search import sampling_of
from optimizer.strategies.genetic import (
    FIRST_CHECKPOINT,
    IN_A_ROW,
    LEVEL,
    agreement_of,
    checkpoint_at,
    checkpoints,
    enough_drawn,
    in_a_row,
)
from optimizer.strategies.registry import find_strategy
from optimizer.trials.problem import Problem
from optimizer.trials.trial import Basis, History, Phase, Purpose
from sampler.bench.outcome import Outcome, TrialState
from sampler.space.space_file import space_from_document
from tests.support.models.quick_ranking import no_simplified
from tests.support.optimizer.asking_runner import AskingRunner
from tests.support.optimizer.pretend_bench import (
    Job,
    PretendBench,
    configurations,
    job_of,
    problem_of,
)

pytestmark = pytest.mark.usefixtures("quick_ranking", "unranked", "unsimplified")
DRAWN = (Purpose.CANDIDATE, Phase.SAMPLE)
LOST = Outcome(state=TrialState.LOST, failure="the host died")
SPACE = space_from_document(
    {
        "name": "thirty",
        "parameter": [
            {"name": f"p{i:02}", "type": "float", "low": 0.0, "high": 1.0, "default": 0.5}
            for i in range(30)
        ],
    }
)


def five_matter(configuration):
    """Two of thirty matter much, three less."""
    weights = {1: 4.0, 7: 3.0, 13: 0.5, 22: 0.5, 29: 0.5}
    return {"waf": 5 + sum(w * configuration[f"p{i:02}"] for i, w in weights.items())}


def problem(**search) -> Problem:
    return problem_of("genetic", space=SPACE, objective="waf", **search)


def bench(noise: float = 0.03, **more) -> PretendBench:
    def measured(configuration):
        return five_matter(configuration) | {"time": 10.0, "rate": 1e5}

    return PretendBench(measured, noise={"waf": noise}, **more)


def planned(trials: int) -> int:
    return find_strategy("genetic").samples(problem(), divide(trials).explore)


def draws_of(runner: AskingRunner, random: Random | None = None) -> int:
    """Runs a job until its search begins; in any order if a generator is given."""
    while not runner.history.own(Purpose.CANDIDATE, Phase.SEARCH):
        if runner.out and (random is None or random.random() < 0.6):
            numbers = sorted(runner.out)
            number = numbers[0] if random is None else random.choice(numbers)
            runner.tell(number, LOST if random and random.random() < 0.05 else None)
        else:
            runner.ask(1 if random is None else random.randint(1, 9))
    return len(runner.history.own(*DRAWN))


@pytest.fixture(scope="module")
def whole() -> Job:
    job = job_of(problem(top=2), 200, bench())
    with no_simplified():
        job.run()
    return job


class TestTheRule:
    def test_looks_on_a_geometric_grid(self):
        assert checkpoints(400) == (48, 68, 96, 136, 192, 272, 384)
        assert checkpoints(48) == ()
        assert len(checkpoints(10_000)) == 16

    @given(st.lists(st.none() | st.floats(-1, 1), max_size=6), st.floats(0, 1))
    def test_wants_its_level_more_than_once_in_a_row(self, agreement, level):
        fires = in_a_row(agreement, level)
        last = agreement[-IN_A_ROW:]
        assert not fires or (len(last) == IN_A_ROW and min(last) > level - 1e-6)
        assert not in_a_row([1.0]) and not in_a_row([1.0, LEVEL - 0.01])
        assert in_a_row([None, 0.0, LEVEL, LEVEL]) and not in_a_row([1.0, None])
        assert not fires or not in_a_row([*agreement, level - 0.01], level)


class TestInAJob:
    @pytest.mark.slow
    def test_strong_effects_end_the_sampling_sooner_than_weak_ones(self):
        strong, weak = (
            draws_of(AskingRunner(problem(top=2), 400, bench(noise))) for noise in (0.03, 0.4)
        )
        assert FIRST_CHECKPOINT < strong < weak <= planned(400)
        assert strong in checkpoints(400)

    @pytest.mark.slow
    def test_noise_alone_is_drawn_to_the_end(self):
        nothing = PretendBench(
            lambda _: {"waf": 3.0, "time": 10.0, "rate": 1e5}, noise={"waf": 0.3}, seed=1
        )
        runner = AskingRunner(problem(), 400, nothing)
        assert draws_of(runner) == planned(400)
        history = runner.history
        points = [
            checkpoint_at(Evaluation(runner.problem, history), number)
            for number in checkpoints(planned(400))
        ]
        assert max(agreement_of(runner.problem, point) for point in points) < LEVEL / 2

    def test_a_metric_that_is_the_same_everywhere_is_drawn_to_the_end(self):
        same = PretendBench(lambda _: {"waf": 3.0, "time": 10.0, "rate": 1e5})
        assert draws_of(AskingRunner(problem(), 200, same)) == planned(200)

    @pytest.mark.slow
    @pytest.mark.parametrize(
        "search", [{"over": ("p01", "p02")}, {"top": 30}, {"top": 31}, {"samples": 100}]
    )
    def test_it_is_off_where_the_ranking_decides_nothing_or_a_number_was_asked_for(self, search):
        runner = AskingRunner(problem(**search), 200, bench())
        assert draws_of(runner) == search.get("samples", planned(200))

    @pytest.mark.slow
    def test_the_saved_runs_go_to_the_search(self):
        runner = AskingRunner(problem(top=2), 200, bench())
        runner.finish(4)
        runner.check()
        drawn = runner.history.own(*DRAWN)
        searched = runner.history.own(Purpose.CANDIDATE, Phase.SEARCH)
        assert len(drawn) == checkpoints(200)[1] < planned(200)
        assert len(drawn) + len(searched) == runner.plan.explore


class TestWhatItRestsOn:
    @pytest.mark.slow
    @settings(max_examples=3, deadline=None)
    @given(seed=st.integers(0, 2**32))
    def test_any_order_of_asking_and_telling_ends_the_sampling_at_the_same_draw(self, seed):
        runner = AskingRunner(problem(top=2), 200, bench())
        assert draws_of(runner, Random(seed)) == 68

    def test_at_a_checkpoint_nothing_goes_out_before_every_draw_is_told(self):
        runner = AskingRunner(problem(top=2), 200, bench())
        seen = []
        while len(runner.history.own(*DRAWN)) < 68:
            for number in sorted(runner.out):
                runner.tell(number)
            runner.ask(100)
            seen.append(len(runner.history.own(*DRAWN)))
        assert seen[-1] == 68
        *others, last = sorted(runner.out)
        for number in others:
            runner.tell(number)
        asked = runner.ask(100)
        assert asked.trials == ()
        assert asked.why.endswith(f"report {last} first")
        with pytest.raises(ValueError, match=f"draw {last} has not ended"):
            enough_drawn(Evaluation(runner.problem, runner.history), planned(200))

    @pytest.mark.slow
    @pytest.mark.parametrize(("length", "running"), [(66, True), (76, False)])
    def test_a_job_that_is_killed_goes_on_as_if_nothing_had_happened(self, whole, length, running):
        again = Job(whole.problem, whole.budget, bench(), whole.log.cut(length, running=running))
        again.run()
        assert configurations(again.log.trials()) == configurations(whole.log.trials())
        assert len(History(again.log.trials()).own(*DRAWN)) == 68

    @pytest.mark.slow
    def test_a_look_is_at_draws_and_not_at_starting_points(self, whole):
        history = History(whole.log.trials())
        numbers = history.own(*DRAWN)
        expected = checkpoint_at(Evaluation(whole.problem, history), 48)
        first = [history[number] for number in numbers[:2]]
        starts = [replace(t, number=t.number + 10_000, basis=Basis.START) for t in first]
        beside = History([*history.of(Purpose.BASELINE), *starts])
        for number in numbers:
            beside.put(history[number])
        assert checkpoint_at(Evaluation(whole.problem, beside), 48) == expected

    @pytest.mark.slow
    def test_a_look_depends_on_nothing_that_comes_later(self, whole):
        trials = whole.log.trials()
        history = History(trials)
        last = history.own(*DRAWN)[47]
        early = History([t for t in trials if t.number <= last])
        assert checkpoint_at(Evaluation(whole.problem, history), 48) == checkpoint_at(
            Evaluation(whole.problem, early), 48
        )
        spoilt = History([t if t.number <= last else replace(t, metrics={"waf": 1.0}, point=None)
                          for t in trials])  # fmt: skip
        assert checkpoint_at(Evaluation(whole.problem, history), 48) == checkpoint_at(
            Evaluation(whole.problem, spoilt), 48
        )

    def test_a_job_in_the_middle_of_its_search_is_not_taken_back(self, whole):
        job = whole.log.cut(100)
        lesser = [t for t in job.trials() if t.number != History(job.trials()).own(*DRAWN)[-1]]
        history, explore = History(lesser), divide(200).explore
        assert len(history.own(*DRAWN)) == 67
        found = find_strategy("genetic").propose(
            Evaluation(whole.problem, history), number=101, explore=explore
        )
        assert found.phase is Phase.SEARCH


class TestWhatIsTold:
    def ran(self, trials: int, strategy: str = "genetic", noise: float = 0.03, **search):
        tuned = replace(problem(**search), strategy=strategy)
        job = job_of(tuned, trials, bench(noise))
        conclusion = job.run()
        explore = conclusion.plan.explore
        found = sampling_of(conclusion.evaluation, find_strategy(strategy), explore=explore)
        told = found and found.document()
        if trials == 24:  # of a larger job the rest of the document takes seconds
            whole = job_result(conclusion, job={}, environment={}).document()
            assert whole["sampling"] == told
        return told, job.watcher.whys

    @pytest.mark.slow
    def test_where_it_was_enough(self):
        sampling, whys = self.ran(200, top=2)
        assert (sampling["draws"], sampling["planned"]) == (68, planned(200))
        assert [point["draws"] for point in sampling["curve"]] == [48, 68]
        for point in sampling["curve"]:
            assert 0 <= point["low"] <= point["top_k_overlap"] <= point["high"] <= 1
            assert point["top_k_overlap"] >= 0.5 > point["kendall_tau"] > 0
        shared = 2 * sampling["curve"][-1]["top_k_overlap"]
        assert sampling["why"] == (
            f"enough after 68 of at most {planned(200)} sampled configurations: the ranking is "
            f"stable, random halves of the sample share {shared:.1f} of their top 2"
        )
        assert whys[Phase.RANK].endswith(f"; {sampling['why']}")

    def test_where_the_budget_ended_it_too_soon(self):
        sampling, _ = self.ran(90, noise=2.0)
        assert sampling["draws"] == sampling["planned"] == planned(90)
        assert [point["draws"] for point in sampling["curve"]] == [planned(90)]
        assert sampling["why"].startswith(
            f"all {planned(90)} sampled configurations were measured: the ranking is not yet "
            "stable, random halves"
        )

    @pytest.mark.slow
    def test_where_a_number_was_asked_for_and_everything_is_searched(self):
        sampling, _ = self.ran(120, samples=50, top=30)
        assert sampling["why"] == (
            "all 50 requested sampled configurations were measured: "
            "the search covers every parameter, whatever the ranking"
        )
        assert [point["draws"] for point in sampling["curve"]] == [48, 50]

    def test_where_there_is_too_little_to_judge(self):
        sampling, whys = self.ran(24)
        assert sampling["curve"] == []
        assert sampling["why"] == f"all {sampling['planned']} sampled configurations were measured"
        assert whys[Phase.RANK].endswith("sampled configurations were measured")

    @pytest.mark.slow
    def test_a_strategy_that_does_not_rank_has_nothing_to_tell(self):
        assert self.ran(24, strategy="lhs")[0] is None
        assert self.ran(24, samples=1000)[0] is None
