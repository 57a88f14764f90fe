"""A job's conclusion, and the result that is made of it."""

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

from models.gaussian_process.process import one_thread
from optimizer.budget.budget import Plan, apart, confirmation_document
from optimizer.confirmation.choice import as_explored, blocks_of, choice_of
from optimizer.confirmation.paired_tests import LimitLevels, Margins, Power, margins_of
from optimizer.confirmation.proof import (
    Pair,
    ProofClocks,
    Verdict,
    judge,
    machine_before_proof,
    proof_clocks,
    sensitivity_of,
)
from optimizer.evaluation.baseline import Baseline, summarise
from optimizer.evaluation.evaluation import Evaluation, front_of
from optimizer.explained import Explanation
from optimizer.explanation import explained
from optimizer.results.document import (
    BaselineNoise,
    Environment,
    FrontGrowth,
    HostShare,
    JudgedProof,
    OwnBaseline,
    PlannedRuns,
    ProofBaseline,
    Result,
    TimeTaken,
    TrialCounts,
    TunedJob,
    WarmStart,
    Winner,
)
from optimizer.results.price import price_of, trade_words
from optimizer.results.search import (
    contributions_of,
    parameter_ranking,
    sampling_of,
    search_end,
)
from optimizer.results.winner import (
    best_start,
    fullest_candidate,
    no_trade_candidate,
    option_changes,
)
from optimizer.strategies.registry import named_strategy
from optimizer.surrogate.job_model import learned_of
from optimizer.surrogate.training_data import cube_layout, teaching
from optimizer.trials.trial import BASELINE_TRIAL, History, Purpose, Trial
from sampler.bench.outcome import TrialState
from sampler.workload.metric_table import READS

# Not one that was lost: that is nobody's fault, and it is run again.
_FAILED = {TrialState.FAILED, TrialState.TIMED_OUT, TrialState.CENSORED, TrialState.INFEASIBLE}


@dataclass(frozen=True)
class Conclusion:
    """How a job came out."""

    evaluation: Evaluation
    plan: Plan
    winner: int | None  # the number of the trial that won the choice; None if no trial ended well
    verdict: Verdict | None  # what the fresh runs say of it; None if there were not enough
    aside: Mapping[str, str] = field(default_factory=dict)  # why, by host set aside
    clocks: ProofClocks = field(default_factory=ProofClocks)  # by which the proof was judged
    machine: Mapping[str, Any] | None = None  # what was learned of the machine's state before it

    @property
    def history(self) -> History:
        """The trials."""
        return self.evaluation.history


def conclude(
    evaluation: Evaluation,
    plan: Plan,
    aside: Mapping[str, str] | None = None,
    declared: Mapping[str, Any] | None = None,
) -> Conclusion:
    """Judges the trials that are there, by the clocks and margins of the declared test, if any.

    What was declared holds even where earlier trials are measured again meanwhile.
    """
    problem, history = evaluation.problem, evaluation.history
    winner = choice_of(evaluation, plan).winner
    both = both_done(history, winner)
    judging = declared.get("machine") if declared else machine_before_proof(evaluation)
    clocks = proof_clocks(judging, both)
    verdict = judge(
        problem.objective,
        clocks.pairs(both),
        planned=plan.pairs,
        failed=sum(
            theirs.done and mine.state in _FAILED for theirs, mine in _both(history, winner)
        ),
        unseen=clocks.unseen,
        raw=ProofClocks().pairs(both),
        clocks=clocks.why,
        margins=_margins(plan, declared),
        levels=LimitLevels.declared(declared),
    )
    machine = judging or machine_before_proof(evaluation)  # told even where nothing is corrected
    return Conclusion(evaluation, plan, winner, verdict, aside or {}, clocks, machine)


def _margins(plan: Plan, declared: Mapping[str, Any] | None) -> Margins | None:
    """The margins of limits that were declared; None for a test of an earlier version."""
    if declared is None:
        return {each.limit: each.share for each in plan.margins}
    return margins_of(declared.get("margins"))


def proof_pairs(conclusion: Conclusion) -> list[Pair]:
    """(baseline's, winner's) metrics, as they were judged, of all pairs whose runs ended well."""
    return conclusion.clocks.pairs(both_done(conclusion.history, conclusion.winner))


def both_done(history: History, winner: int | None) -> list[tuple[Trial, Trial]]:
    """The (baseline's, winner's) runs of the proof's pairs of which both ended well."""
    return [pair for pair in _both(history, winner) if pair[0].done and pair[1].done]


def _both(history: History, winner: int | None) -> Iterator[tuple[Trial, Trial]]:
    for _, trials in sorted(blocks_of(history, Purpose.PROVE, 2).items()):
        by_subject = {trial.subject: trial for trial in trials}
        theirs, mine = by_subject.get(BASELINE_TRIAL), by_subject.get(winner)
        if theirs and mine:
            yield theirs, mine


@one_thread()
def warm_starts(evaluation: Evaluation) -> list[WarmStart]:
    """One for each earlier job; empty for a job that took nothing along.

    ``agreement``: metric to a number from 0 (it told nothing) to 1 (its trials were as good as
    the job's own); see ``models.gaussian_process.process``.
    """
    problem, history = evaluation.problem, evaluation.history
    jobs = problem.prior.jobs
    if not jobs:
        return []
    layout = cube_layout(problem.space, problem.searched)
    learned = learned_of(evaluation, layout, teaching(history))
    return [
        WarmStart(
            job=job.job,
            workload=job.workload,
            trials=len(job.trials),
            of=job.of,
            agreement={
                metric: round(float(each.agreement[task]), 3) for metric, each in learned.items()
            },
        )
        for task, job in enumerate(jobs, 1)
    ]


SCHEMA = 1
_COUNTED = [state for state in TrialState if state is not TrialState.RUNNING]


def job_result(
    conclusion: Conclusion, *, job: Mapping[str, Any], environment: Mapping[str, Any]
) -> Result:
    """The whole result of a job, its specification and the machine and RocksDB that it ran on.

    Medians and changes are those of the proof's fresh runs, clocks corrected as the declared test
    says. ``machine`` is set where runs tell the machine's state. Nothing is rounded, and what is
    unknown is None. ``power`` is what the fresh pairs could have shown, None with fewer than two.
    """
    evaluation, plan, verdict = conclusion.evaluation, conclusion.plan, conclusion.verdict
    problem, history, baseline = evaluation.problem, evaluation.history, evaluation.baseline
    strategy = named_strategy(problem.strategy)
    counts = Counter(trial.state for trial in history)
    front = front_of(problem.objective, baseline, history)
    explanation, withheld = _explained(conclusion)
    sampling = sampling_of(evaluation, strategy, explore=plan.explore)
    learned: dict[str, Any] = {**dict(parameter_ranking(evaluation)), "sampling": sampling}
    given = {
        "machine": conclusion.machine,
        "warm_start": warm_starts(evaluation),
        "contributions": contributions_of(as_explored(evaluation), strategy, plan.explore),
    }
    told: dict[str, Any] = {name: each for name, each in given.items() if each}
    return Result(
        version=SCHEMA,
        job=TunedJob(**_with_lists(job)),  # so it equals what is read back from a store
        environment=Environment(**_with_lists(environment)),
        baseline=ProofBaseline(
            metrics=dict(verdict.baseline if verdict else baseline.metrics),
            runs=verdict.pairs if verdict else baseline.runs,
            configuration=dict(problem.space.default_configuration()),
            noise={name: BaselineNoise(**asdict(each)) for name, each in baseline.noise.items()},
        ),
        best=_winner(conclusion, environment.get("rocksdb"), explanation),
        verdict=_judged(conclusion),
        starting_point=best_start(evaluation, plan, conclusion.clocks),
        no_trade=no_trade_candidate(evaluation, conclusion.winner, verdict),
        explanation=explanation,
        explanation_withheld=withheld,
        plan=PlannedRuns(explore=plan.explore, pairs=plan.pairs, simplified=plan.simplified),
        confirmation=confirmation_document(problem),
        power=_power(conclusion),
        **learned,
        search=search_end(evaluation, plan, strategy),
        pareto=list(front.numbers),
        hypervolume=[FrontGrowth(trial=number, value=value) for number, value in front.growth],
        trials=TrialCounts(
            **{state.value: counts[state] for state in _COUNTED}, total=len(history)
        ),
        hosts=_hosts(conclusion, baseline),
        time=_time(history),
        **told,
    )


def _power(conclusion: Conclusion) -> Power | None:
    objective, clocks = conclusion.evaluation.problem.objective, conclusion.clocks
    power = sensitivity_of(objective, proof_pairs(conclusion), clocks.unseen)
    if power is None:
        return None
    planned = conclusion.plan.detection
    return power.model_copy(update={"planned": planned.document() if planned else None})


def _time(history: History) -> TimeTaken:
    started = [trial.started_at for trial in history if trial.started_at]
    finished = [trial.finished_at for trial in history if trial.finished_at]
    wall = (max(finished) - min(started)).total_seconds() if started and finished else 0.0
    return TimeTaken(
        wall_seconds=wall, bench_seconds=sum(trial.bench_seconds for trial in history)
    )


def _hosts(conclusion: Conclusion, baseline: Baseline) -> list[HostShare]:
    history = conclusion.history
    return [
        HostShare(
            name=host,
            trials=sum(len(history.on_host(host, purpose)) for purpose in Purpose),
            baseline=OwnBaseline(
                metrics=dict(own.metrics),
                runs=own.runs,
                spread={name: noise.spread for name, noise in own.noise.items()},
            )
            if (own := baseline.hosts.get(host))
            else None,
            set_aside=conclusion.aside.get(host),
        )
        for host in history.hosts
    ]


def _winner(
    conclusion: Conclusion, version: str | None, explanation: Explanation | None
) -> Winner | None:
    verdict, winner = conclusion.verdict, conclusion.winner
    if verdict is None or winner is None or not verdict.confirmed:
        return None
    problem = conclusion.evaluation.problem
    configuration = conclusion.history[winner].configuration
    return Winner(
        trial=winner,
        configuration=dict(configuration),
        metrics=dict(verdict.winner),
        fitness=verdict.fitness,
        terms=verdict.terms(problem.objective),
        confirmed=verdict.confirmed,
        runs=verdict.pairs,
        change=dict(verdict.changes),
        changes=option_changes(problem, configuration, version, explanation),
        fullest=fullest_candidate(conclusion.evaluation, conclusion.plan),
    )


def _judged(conclusion: Conclusion) -> JudgedProof | None:
    verdict = conclusion.verdict
    if verdict is None:
        return None
    problem = conclusion.evaluation.problem
    price = price_of(problem, verdict, conclusion.history.of(Purpose.PROVE))
    unread = problem.workload.by_db_bench and not problem.workload.only_reads
    unread = unread and all(name in price.not_measured for name in READS)
    names = ("confirmed", "fitness", "low", "high", "p", "pairs", "why")
    return JudgedProof(
        trial=conclusion.winner,
        trade=trade_words(problem.objective, verdict, unread=unread),
        **{name: getattr(verdict, name) for name in names},
        limits=list(verdict.limits),
        metrics=dict(verdict.winner),
        change=dict(verdict.changes),
        price=price,
    )


def _explained(conclusion: Conclusion) -> tuple[Explanation | None, dict[str, Any] | None]:
    """Why the winner is better, by models of all trials, or why that is withheld."""
    verdict, winner = conclusion.verdict, conclusion.winner
    if verdict is None or winner is None or not verdict.confirmed:
        return None, None
    configuration = conclusion.history[winner].configuration
    try:
        return explained(conclusion.evaluation, configuration, low=verdict.low, high=verdict.high)
    except Exception as error:
        # What is proven does not rest on it: no failure after the last run may cost the results.
        return None, {"why": f"not computed ({type(error).__name__}: {error})"}


def _with_lists(value: Any) -> Any:
    """The same with lists where there are tuples, as JSON has them."""
    if isinstance(value, Mapping):
        return {name: _with_lists(each) for name, each in value.items()}
    return [_with_lists(each) for each in value] if isinstance(value, (list, tuple)) else value


def fitness_by_trial(conclusion: Conclusion) -> dict[int, float]:
    """The fitness of each whole measurement, clocks corrected for drift, as the search saw it.

    What was measured at a larger scale is compared with the baseline at that scale.
    """
    problem, searched = conclusion.evaluation.problem, conclusion.evaluation.baseline
    # The confirmation has a baseline of its own, measured at its load.
    there = [t for t in conclusion.history if t.is_baseline and t.done and apart(problem, t)]
    proved = summarise(there) if there else None
    found: dict[int, float] = {}
    for trial in conclusion.history:
        baseline = proved if apart(problem, trial) else searched
        if baseline is None:
            continue
        fitness = problem.objective.fitness(baseline.corrected_trial(trial), baseline.metrics)
        if trial.done and fitness is not None:
            found[trial.number] = fitness
    return found
