"""Whole jobs beside a neighbour that comes and goes."""

import math
import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cache

import numpy as np
import pytest
from scipy import stats

from optimizer.confirmation.proof import Verdict, judge, machine_before_proof, proof_clocks
from optimizer.evaluation.evaluation import Evaluation
from optimizer.evaluation.machine_effect import machine_document
from optimizer.results.result import Conclusion, conclude
from optimizer.run.planning import Budget, plan_of
from optimizer.trials.trial import History, Purpose, Trial
from tests.support.optimizer.pretend_bench import (
    Job,
    ListLog,
    Metrics,
    PretendBench,
    bowl,
    configurations,
    flat,
    job_of,
    problem_of,
    trial_of,
)

pytestmark = pytest.mark.usefixtures("quick_ranking", "unranked", "unsimplified")
CLOCKS = {"time": 0.04, "rate": 0.02}


@dataclass
class Neighboured(PretendBench):
    """A machine that another program uses now and then; ``tells``: whether runs say how much."""

    tells: bool = True
    slows: float = 0.8

    def measure(self, trial: Trial) -> Metrics:
        metrics = super().measure(trial)
        rng = np.random.default_rng([self.seed, trial.number, 99])
        others = float(rng.uniform(0.2, 0.6)) if rng.random() < 0.4 else 0.02
        metrics["time"] *= math.exp(self.slows * others)
        metrics["rate"] *= math.exp(-self.slows * others)
        metrics["wall_seconds"] = metrics["time"] + 2.0
        return metrics | ({"others_cpu": others} if self.tells else {})


@cache
def ran(seed: int, strategy: str = "guided", trials: int = 60, tells: bool = True) -> Job:
    bench = Neighboured(noise=CLOCKS, seed=seed, tells=tells)
    job = job_of(problem_of(strategy, seed=seed), trials, bench)
    job.run()
    return job


def evaluated(job: Job) -> Evaluation:
    return Evaluation(job.problem, History(job.log.trials()))


def concluded(job: Job) -> Conclusion:
    evaluation = evaluated(job)
    plan = plan_of(job.problem, Budget(trials=len(job.log.kept)), evaluation.history)
    return conclude(evaluation, plan, declared=job.log.recall("declared_test"))


def test_the_noise_that_is_left_is_told():
    noise = concluded(ran(1)).machine["noise"]["time"]
    assert noise["corrected"] < 0.6 * noise["raw"]


def test_the_proof_is_shorter_of_noise_and_as_right():
    widths = {True: [], False: []}
    for seed in range(3):
        for tells in widths:
            verdict = concluded(ran(seed, "random", 48, tells)).verdict
            assert verdict is not None
            widths[tells].append(verdict.high - verdict.low)
    assert np.median(widths[True]) < 0.7 * np.median(widths[False])


def test_the_search_sees_more_of_the_truth_than_where_the_load_is_not_told():
    away = {}
    for tells in (True, False):
        evaluation = evaluated(ran(1, "random", 48, tells))
        away[tells] = np.std([
            math.log(evaluation.baseline.corrected_trial(trial)["time"])
            - math.log(bowl(trial.configuration)["time"])
            for trial in evaluation.history.of(Purpose.CANDIDATE) if trial.done
        ])  # fmt: skip
    assert away[True] < 0.6 * away[False]


def test_raw_figures_are_kept():
    seen = ran(1)
    for trial in seen.log.trials():
        assert trial.metrics == Neighboured(noise=CLOCKS, seed=1).measure(trial)


class TestProof:
    @pytest.mark.slow
    def test_the_declared_test_says_by_what_clocks_are_corrected(self):
        declared = ran(1).log.documents["declared_test"]
        assert declared["clocks"] == (
            "corrected for the machine's load by coefficients learned before, unless the winner "
            "itself changes it: paired t, p < 0.05; then raw clocks"
        )
        (host,) = declared["machine"]["hosts"]
        assert host["coefficients"]["time"]["others_cpu"] == pytest.approx(0.8, abs=0.3)
        blind = ran(1, tells=False).log.documents["declared_test"]
        assert not {"clocks", "machine"} & blind.keys()

    @pytest.mark.slow
    def test_its_runs_teach_nothing(self):
        job = ran(1)
        other = {
            trial.number: replace(trial, metrics={**trial.metrics, "time": 7.0 * trial.number})
            if trial.purpose is Purpose.PROVE
            else trial
            for trial in job.log.trials()
        }
        mine = machine_before_proof(evaluated(job))
        theirs = machine_before_proof(Evaluation(job.problem, History(other.values())))
        assert mine == theirs
        assert mine["hosts"][0]["coefficients"]

    def test_what_was_declared_is_what_judges(self):
        job = ran(1)
        declared = job.log.documents["declared_test"]["machine"]["hosts"][0]
        changed = {  # measured again while the job confirms
            number: trial
            if trial.purpose is Purpose.PROVE
            else replace(trial, metrics={**trial.metrics, "time": 1.0 + trial.number % 5})
            for number, trial in job.log.kept.items()
        }
        other = Job(job.problem, job.budget, log=ListLog(changed))
        other.log.documents.update(job.log.documents)
        conclusion = concluded(other)
        prove = conclusion.history.of(Purpose.PROVE)
        slope = declared["coefficients"]["time"]["others_cpu"]
        usual = declared["usual"]["others_cpu"]
        low, high = declared["seen"]["others_cpu"]
        for trial in prove:
            others = min(max(trial.metrics["others_cpu"], low), high)
            wanted = trial.metrics["time"] * math.exp(-slope * (others - usual))
            assert conclusion.clocks.metrics(trial)["time"] == pytest.approx(wanted)

    @pytest.mark.slow
    @pytest.mark.parametrize(("moves", "noise", "most"), [(0.02, 0.04, 0.025), (0.04, 0.15, 0.05)])
    def test_it_errs_as_seldom_as_declared(self, moves, noise, most):
        """150 proofs of nothing beside a neighbour, by what 12 runs before each had taught.

        The winner adds ``moves`` to the state by itself.
        """
        found, held, narrower = 0, 0, []
        for mine, blind in proofs(150, moves, noise):
            found += mine.confirmed
            held += mine.low <= 0 <= mine.high
            narrower.append((mine.high - mine.low) / (blind.high - blind.low))
        assert stats.binomtest(found, 150, most, "greater").pvalue > 0.001
        assert stats.binomtest(held, 150, 1 - 2 * most, "less").pvalue > 0.001
        assert np.median(narrower) < 0.95

    @pytest.mark.slow
    def test_a_winner_that_changes_the_state_is_judged_by_raw_clocks(self):
        for mine, blind in proofs(20, 0.5, 0.04):
            assert (mine.p, mine.low, mine.high) == (blind.p, blind.low, blind.high)
            said = r"by raw clocks, since the winner changes others_cpu \(p (= 0\.\d+|< 0\.001)\)"
            assert re.search(said, mine.why)
        assert not any("raw" in blind.why for _, blind in proofs(5, 0.5, 0.04))


def proofs(count: int, moves: float, noise: float) -> Iterator[tuple[Verdict, Verdict]]:
    """Verdicts on a winner that does nothing, by the clocks of the job and by raw ones."""
    bench, objective = (
        Neighboured(flat, noise=dict.fromkeys(CLOCKS, noise)),
        problem_of().objective,
    )
    runs = [bench.measure(trial_of(number)) for number in range(1, 1500)]
    draw = np.random.default_rng(0)
    for _ in range(count):
        measured = [runs[n] for n in draw.integers(len(runs), size=28)]
        for run in range(13, 28, 2):
            others = measured[run]["others_cpu"] + moves
            measured[run] = {**measured[run], "others_cpu": others}
        trials = [trial_of(n, run, configuration={"x": 1.0}) for n, run in enumerate(measured)]
        both = [*zip(trials[12::2], trials[13::2], strict=True)]
        clocks = proof_clocks(machine_document({trials[0].host: trials[:12]}), both)
        raw = [(theirs.metrics, mine.metrics) for theirs, mine in both]
        mine, blind = (
            judge(objective, pairs, planned=8, unseen=unseen, clocks=why)
            for pairs, unseen, why in (
                (clocks.pairs(both), clocks.unseen, clocks.why),
                (raw, (), ""),
            )
        )
        yield mine, blind


class TestResumed:
    @pytest.mark.slow
    @pytest.mark.parametrize(("strategy", "length"), [("guided", 33), ("genetic", 45)])
    def test_it_measures_what_it_would_have_measured(self, strategy, length):
        whole = ran(3, strategy)
        bench = Neighboured(noise=CLOCKS, seed=3)
        again = Job(whole.problem, whole.budget, bench, whole.log.cut(length))
        again.run()
        assert configurations(again.log.trials()) == configurations(whole.log.trials())
        mine, theirs = (each.log.documents["declared_test"] for each in (again, whole))
        assert mine == theirs
        assert mine["machine"]


class TestWithoutStates:
    def test_a_stored_job_is_judged_as_before(self):
        """Its trials are their own corrected metrics, and nothing is said of the machine."""
        job = ran(2, "random", 48, tells=False)
        conclusion = concluded(job)
        for trial in conclusion.history.of(Purpose.PROVE):
            assert conclusion.clocks.metrics(trial) is trial.metrics
        assert conclusion.machine is None

    @pytest.mark.slow
    def test_states_that_explain_nothing_change_nothing(self):
        """A constant state is as good as none, to the last digit."""

        class Steady(PretendBench):
            def measure(self, trial: Trial) -> Metrics:
                return super().measure(trial) | {"others_cpu": 0.05, "machine_speed": 1.0}

        found = []
        for kind in (PretendBench, Steady):
            job = job_of(problem_of("guided", seed=4), 48, kind(flat, noise=0.1, seed=4))
            job.run()
            conclusion = concluded(job)
            noise = conclusion.evaluation.baseline.noise
            verdict = vars(conclusion.verdict) | dict.fromkeys(("baseline", "winner"))
            found.append((configurations(job.log.trials()), verdict, noise["time"], noise["rate"]))
        assert found[0] == found[1]


def test_a_log_without_documents_can_be_judged():
    job = ran(1)
    assert concluded(Job(job.problem, job.budget, log=ListLog(job.log.kept))).machine
