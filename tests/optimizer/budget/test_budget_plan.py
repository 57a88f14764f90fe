import pytest

from optimizer.budget.budget import LEAST_TRIALS, Plan, divide, trials_in

EVERY_SIZE = range(LEAST_TRIALS, 3001)


def walked(plan: Plan) -> tuple[int, int, str]:
    """Configurations and repeated baselines, and what came last, run by run."""
    configurations = repeats = since = 0
    last = ""
    for made in range(plan.exploring):
        if plan.baseline_due(since, plan.exploring - made):
            repeats, since, last = repeats + 1, 0, "baseline"
        else:
            configurations, since, last = configurations + 1, since + 1, "configuration"
    return configurations, repeats, last


class TestDivision:
    def test_every_run_has_a_purpose_and_every_part_is_there(self):
        for trials in EVERY_SIZE:
            plan = divide(trials)
            assert plan.first + plan.exploring + plan.confirm_runs == plan.trials == trials
            assert plan.first >= 2 and plan.exploring >= 4 and plan.pairs >= 3
            assert plan.candidates >= 1 and plan.rounds >= 1 and plan.repeat_every >= 10
            configurations, repeats, last = walked(plan)
            assert configurations == plan.explore
            assert configurations + repeats == plan.exploring
            assert last == "configuration"

    def test_small_jobs_confirm_with_a_fair_share_and_large_ones_with_little(self):
        assert (divide(12).confirm_runs, divide(12).explore) == (6, 4)
        assert (divide(23).select_runs, divide(24).select_runs) == (0, 4)
        assert divide(1000).confirm_runs <= 50 and divide(3000).explore >= 2800

    def test_a_block_of_the_proof_has_a_third_run_where_there_are_starting_points(self):
        with_starts, without = divide(90, starts=True), divide(90)
        assert (with_starts.sides, without.sides) == (3, 2)
        assert with_starts.exploring == without.exploring - with_starts.pairs
        assert divide(23, starts=True).sides == 2

    def test_a_part_of_the_new_configurations_is_kept_for_simplified_ones(self):
        assert [divide(n).simplified for n in (12, 23)] == [0, 0]
        for trials in range(24, 3001):
            plan = divide(trials)
            assert 1 <= plan.simplified <= plan.explore / 4

    @pytest.mark.parametrize("trials", [-1, 0, 11])
    def test_too_few_are_refused_with_the_least_that_is_needed(self, trials: int):
        with pytest.raises(ValueError, match="at least 12"):
            divide(trials)


@pytest.mark.parametrize(
    ("minutes", "seconds", "trials"),
    [(10, 20.0, 30), (10, 20.1, 29), (1, 60.0, LEAST_TRIALS), (1, 0.0, 60_000)],
)
def test_minutes_hold_whole_trials(minutes: int, seconds: float, trials: int):
    assert trials_in(minutes, seconds) == trials
