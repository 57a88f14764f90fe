"""A job's result: its conclusion, and the document that tools rely on (result.json, schema 1)."""

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

from models.gaussian_process.process import one_thread
from optimizer.budget.budget import Plan, apart, confirmation_document
from optimizer.confirmation.choice import as_explored, blocks_of, choice_of
from optimizer.confirmation.paired_tests import LimitLevels, Margins, margins_of
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
from optimizer.explanation import NOTHING_EXPLAINED, explanation_document, with_lists
from optimizer.results.best_document import (
    changes_document,
    fullest_document,
    no_trade_document,
    starting_point_document,
)
from optimizer.results.price import price_document, trade_words
from optimizer.results.search_document import (
    contributions_document,
    learned_document,
    sampling_document,
    search_document,
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
def prior_document(evaluation: Evaluation) -> list[dict[str, Any]]:
    """One row for each earlier job; empty for a job that took nothing along.

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
        {
            "job": job.job,
            "workload": job.workload,
            "trials": len(job.trials),
            "of": job.of,
            "agreement": {
                metric: round(float(each.agreement[task]), 3) for metric, each in learned.items()
            },
        }
        for task, job in enumerate(jobs, 1)
    ]


SCHEMA = 1
_COUNTED = [state for state in TrialState if state is not TrialState.RUNNING]


def result_document(
    conclusion: Conclusion, *, job: Mapping[str, Any], environment: Mapping[str, Any]
) -> dict[str, Any]:
    """The whole result of a job, its specification and the machine and RocksDB that it ran on.

    Medians and changes are those of the proof's fresh runs, clocks corrected as the declared test
    says. ``machine`` is there where runs tell the machine's state. Nothing is rounded, and what is
    unknown is null. ``power`` is what the fresh pairs could have shown, null with fewer than two.
    """
    evaluation, plan, verdict = conclusion.evaluation, conclusion.plan, conclusion.verdict
    problem, history, baseline = evaluation.problem, evaluation.history, evaluation.baseline
    strategy = named_strategy(problem.strategy)
    counts = Counter(trial.state for trial in history)
    pairs, machine, planned = proof_pairs(conclusion), conclusion.machine, plan.detection
    power = sensitivity_of(problem.objective, pairs, conclusion.clocks.unseen)
    started = [trial.started_at for trial in history if trial.started_at]
    finished = [trial.finished_at for trial in history if trial.finished_at]
    wall = (max(finished) - min(started)).total_seconds() if started and finished else 0.0
    swept = contributions_document(as_explored(evaluation), strategy, plan.explore)
    taken = prior_document(evaluation)
    front, explained = front_of(problem.objective, baseline, history), _explanation(conclusion)
    document = {
        "schema": SCHEMA,
        "job": job,
        "environment": environment,
        "baseline": {
            "metrics": dict(verdict.baseline if verdict else baseline.metrics),
            "runs": verdict.pairs if verdict else baseline.runs,
            "configuration": dict(problem.space.default_configuration()),
            "noise": {name: asdict(noise) for name, noise in baseline.noise.items()},
        },
        "best": _best(conclusion, environment.get("rocksdb"), explained["explanation"]),
        "verdict": _verdict(conclusion),
        "starting_point": starting_point_document(evaluation, plan, conclusion.clocks),
        "no_trade": no_trade_document(evaluation, conclusion.winner, verdict),
        **explained,
        "plan": {"explore": plan.explore, "pairs": plan.pairs, "simplified": plan.simplified},
        "confirmation": confirmation_document(problem),
        "power": power and {**asdict(power), "planned": planned.document() if planned else None},
        **learned_document(evaluation),
        "sampling": sampling_document(evaluation, strategy, explore=plan.explore),
        "search": search_document(evaluation, plan, strategy),
        "pareto": list(front.numbers),
        "hypervolume": front.document(),
        "trials": {state.value: counts[state] for state in _COUNTED} | {"total": len(history)},
        "hosts": _hosts(conclusion, baseline),
        "time": {
            "wall_seconds": wall,
            "bench_seconds": sum(trial.bench_seconds for trial in history),
        },
        **({"machine": machine} if machine else {}),
        **({"warm_start": taken} if taken else {}),
        **({"contributions": swept} if swept else {}),
    }
    found: dict[str, Any] = with_lists(document)  # so it equals what is read back from a store
    return found


def _hosts(conclusion: Conclusion, baseline: Baseline) -> list[dict[str, Any]]:
    history = conclusion.history
    return [
        {
            "name": host,
            "trials": sum(len(history.on_host(host, purpose)) for purpose in Purpose),
            "baseline": {
                "metrics": dict(own.metrics),
                "runs": own.runs,
                "spread": {name: noise.spread for name, noise in own.noise.items()},
            }
            if (own := baseline.hosts.get(host))
            else None,
            "set_aside": conclusion.aside.get(host),
        }
        for host in history.hosts
    ]


def _best(
    conclusion: Conclusion, version: str | None, explanation: Mapping[str, Any] | None
) -> dict[str, Any] | None:
    verdict, winner = conclusion.verdict, conclusion.winner
    if verdict is None or winner is None or not verdict.confirmed:
        return None
    return {
        "trial": winner,
        "configuration": dict(conclusion.history[winner].configuration),
        "metrics": dict(verdict.winner),
        "fitness": verdict.fitness,
        "terms": verdict.terms(conclusion.evaluation.problem.objective),
        "confirmed": verdict.confirmed,
        "runs": verdict.pairs,
        "change": {name: asdict(change) for name, change in verdict.changes.items()},
        "changes": changes_document(
            conclusion.evaluation.problem,
            conclusion.history[winner].configuration,
            version,
            explanation,
        ),
        "fullest": fullest_document(conclusion.evaluation, conclusion.plan),
    }


def _verdict(conclusion: Conclusion) -> dict[str, Any] | None:
    verdict = conclusion.verdict
    if verdict is None:
        return None
    problem = conclusion.evaluation.problem
    price = price_document(problem, verdict, conclusion.history.of(Purpose.PROVE))
    unread = problem.workload.by_db_bench and not problem.workload.only_reads
    unread = unread and all(name in price["not_measured"] for name in READS)
    names = ("confirmed", "fitness", "low", "high", "p", "pairs", "why")
    return {
        "trial": conclusion.winner,
        "trade": trade_words(problem.objective, verdict, unread=unread),
        **{name: getattr(verdict, name) for name in names},
        "limits": [each.document() for each in verdict.limits],
        "metrics": dict(verdict.winner),
        "change": {name: asdict(change) for name, change in verdict.changes.items()},
        "price": price,
    }


def _explanation(conclusion: Conclusion) -> dict[str, Any]:
    """Why the winner is better, by models of all trials; null where nothing was proven."""
    verdict, winner = conclusion.verdict, conclusion.winner
    if verdict is None or winner is None or not verdict.confirmed:
        return dict(NOTHING_EXPLAINED)
    configuration = conclusion.history[winner].configuration
    try:
        return explanation_document(
            conclusion.evaluation, configuration, low=verdict.low, high=verdict.high
        )
    except Exception as error:
        # What is proven does not rest on it: no failure after the last run may cost the results.
        why = f"not computed ({type(error).__name__}: {error})"
        return {**NOTHING_EXPLAINED, "explanation_withheld": {"why": why}}


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
