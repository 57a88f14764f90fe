"""What the trials of a job say: made comparable by the baseline, and ranked by their draws.

Several measurements of one configuration count as one: by their mean, under the first's number. A
strategy may measure again what it doubts, and a user may give the same configuration twice.
"""

import math
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from types import SimpleNamespace as Namespace
from typing import TypeVar, cast

import numpy as np

from models import Floats
from models.anova import AnovaResult, group_labels
from models.importance import rank_parameters, tested_parameters
from models.random_forest import FeatureMatrix
from optimizer.evaluation.baseline import Baseline, mean_metrics, summarise
from optimizer.objective.objective import Metrics, Objective, pareto_front
from optimizer.trials.problem import Problem
from optimizer.trials.trial import History, Phase, Purpose, Trial
from sampler.bench.outcome import TrialState
from sampler.space.latent import encode_columns
from sampler.workload.metric_table import TIME_BASED

COMPARABLE = (TrialState.DONE, TrialState.CENSORED)
_WITH_BASELINES = (Purpose.BASELINE, Purpose.SELECT, Purpose.PROVE)
T = TypeVar("T")


@dataclass(frozen=True)
class Draws:
    """Names draws, so that what they teach is learned once.

    The baseline is the one that was known when the last draw was made: what is learned must not
    depend on when it is learned, or a resumed job would search elsewhere.
    """

    numbers: tuple[int, ...]  # of those that teach something: whole measurements and bounds
    attempts: tuple[int, ...]  # at which of its attempts each was measured
    baselines: tuple[int, ...]  # the numbers of the runs of the baseline that were known


@dataclass(frozen=True, eq=False)
class Evaluation:
    """The trials of a job beside what they are measured for; what they say is computed once.

    Whoever owns the history makes one and passes it on. The history, which holds the trials in
    flight too, may grow meanwhile.
    """

    problem: Problem
    history: History
    _known: dict[Hashable, tuple[Hashable, object]] = field(
        default_factory=dict, init=False, repr=False
    )

    def once(self, what: Hashable, state: Hashable, compute: Callable[[], T]) -> T:
        """What ``compute`` returned when it was called last in this state of the history.

        ``state`` is all of the history that the value rests on, or what changes with it. One value
        is kept for each name (``what``): that of the newest state.
        """
        found = self._known.get(what)
        if found is None or found[0] != state:
            found = self._known[what] = (state, compute())
        return cast(T, found[1])

    def over(self, history: History, *keep: str) -> "Evaluation":
        """One over other trials that keeps what was computed under names that begin so.

        Each is still looked up by its state: what does not hold of the other trials is computed
        anew.
        """
        found = Evaluation(self.problem, history)
        known = {n: v for n, v in self._known.items() if isinstance(n, tuple) and n[0] in keep}
        found._known.update(known)
        return found

    @property
    def baseline(self) -> Baseline:
        """The baseline over all its runs, those of the confirmation included.

        Where that measures another load its runs do not count.

        Raises:
            ValueError: None has ended well.
        """
        return self.once("baseline", self._baseline_state(), self._summed_up)

    def baseline_at(self, number: int) -> Baseline:
        """The baseline as it was known when a trial was proposed; over all runs if it came later.

        Raises:
            ValueError: None has ended well.
        """
        runs = [trial for trial in self.history.of(Purpose.BASELINE) if trial.done]
        return summarise([trial for trial in runs if trial.number <= number] or runs)

    def comparable(self, trials: Iterable[Trial]) -> list[tuple[float, Trial]]:
        """Finished trials with their fitness, clocks corrected for drift; in the given order."""
        finished = [trial for trial in trials if trial.state in COMPARABLE]
        return [*zip(self.rank_values(finished), finished, strict=True)]

    def best_first(self, trials: Iterable[Trial]) -> list[tuple[float, Trial]]:
        """The same, the fittest first; equal ones by number."""
        return sorted(self.comparable(trials), key=lambda p: (-p[0], p[1].number))

    def rank_values(self, trials: Iterable[Trial]) -> list[float]:
        """``rank_value`` of each beside the whole baseline, kept until that is measured again."""
        baseline = self.baseline
        known: dict[int, tuple[Trial, float]] = self.once("values", self._baseline_state(), dict)
        found = []
        for trial in trials:
            before = known.get(trial.number)
            if before is None or before[0] is not trial:
                before = known[trial.number] = trial, rank_value(self.problem, baseline, trial)
            found.append(before[1])
        return found

    def ranking(self, *, before: int | None = None) -> tuple[str, ...]:
        """The parameters by importance, learned from the draws before a trial (the paper's 3.3).

        Searched trials are left out, and starting points too: they crowd around good places, which
        the analysis of variance would mistake for effects. Given trials count as draws.
        """
        draws, problem = self._draws(before), self.problem

        def ranked() -> tuple[str, ...]:
            return rank_parameters(*draws_table(problem, self.history, draws), seed=problem.seed)

        return self.once("ranking", draws, ranked)

    def draw_tests(self) -> tuple[int, Mapping[str, Mapping[str, AnovaResult]]]:
        """How many genuine draws teach something, and an analysis of each metric and parameter."""
        draws, problem, history = self._draws(None), self.problem, self.history

        def tested() -> Mapping[str, Mapping[str, AnovaResult]]:
            drawn = [history[number].features for number in draws.numbers]
            groups = {
                p.name: group_labels(
                    [features.get(p.name) for features in drawn],
                    special=[value for value in p.special if not isinstance(value, str)],
                )
                for p in problem.space.parameters
            }
            return tested_parameters(*draws_table(problem, history, draws), groups)

        return len(draws.numbers), self.once("tests", draws, tested)

    def _draws(self, before: int | None) -> Draws:
        history = self.history
        sampled = history.changes(Purpose.CANDIDATE, Phase.SAMPLE)

        def drawn() -> Draws:  # only then is it worth looking at every draw
            trials = [t for t in history.of(Purpose.CANDIDATE, Phase.SAMPLE) if not t.is_start]
            return draws_of(history, [t for t in trials if before is None or t.number < before])

        return self.once(("drawn", before), (sampled, history.changes(Purpose.BASELINE)), drawn)

    def _baseline_state(self) -> Hashable:
        return tuple(self.history.changes(purpose) for purpose in self._baseline_purposes())

    def _baseline_purposes(self) -> tuple[Purpose, ...]:
        return _WITH_BASELINES if self.problem.confirm is None else _WITH_BASELINES[:1]

    def _summed_up(self) -> Baseline:
        found = [t for purpose in self._baseline_purposes() for t in self.history.of(purpose)]
        runs = [t for t in found if t.is_baseline or t.purpose is Purpose.BASELINE]
        _, before = self._known.get("baseline", (None, None))
        return summarise(runs, before=cast(Baseline | None, before))


def rank_value(problem: Problem, baseline: Baseline, trial: Trial) -> float:
    """What the objective makes of a trial, clocks corrected; see ``Objective.rank_value``."""
    return problem.objective.rank_value(baseline.corrected_trial(trial), baseline.metrics)


def fittest_first(
    objective: Objective, baseline: Baseline, trials: Sequence[Trial]
) -> list[Trial]:
    """The trials by fitness, clocks corrected for drift; whether limits hold does not matter.

    Trials ended with a whole measurement. Equal ones stay as they were given, those that lack a
    term's metric come at the end.
    """
    metrics = baseline.corrected_of_many(trials, [term.metric for term in objective.terms])
    fitness = objective.fitness_of_many(metrics, baseline.metrics)
    for place in np.flatnonzero(np.isnan(fitness)).tolist():
        trial = trials[place]
        fitness[place] = objective.rank_value(baseline.corrected_trial(trial), baseline.metrics)
    return [trials[place] for place in np.argsort(-fitness, kind="stable").tolist()]


def draws_of(history: History, trials: Iterable[Trial]) -> Draws:
    """Those of some draws that teach something."""
    known = [trial for trial in trials if trial.state in COMPARABLE]
    ended = [t.number for t in history.of(Purpose.BASELINE) if t.done]
    last = max((trial.number for trial in known), default=0)
    earlier = tuple(number for number in ended if number <= last)
    return Draws(
        tuple(trial.number for trial in known),
        tuple(trial.attempt for trial in known),
        earlier or tuple(ended),
    )


def draws_table(
    problem: Problem, history: History, draws: Draws
) -> tuple[FeatureMatrix, dict[str, Floats]]:
    """What the models learn from: the settings in effect, a row a draw, and values by metric.

    Those of each metric of the objective have the shape ``(n_draws,)``: clocks corrected for drift
    and as logarithms, NaN where unknown.
    """
    trials = [history[number] for number in draws.numbers]
    baseline = summarise([history[number] for number in draws.baselines])
    values, owner = encode_columns(problem.space, [trial.features for trial in trials])
    measured = [baseline.corrected_trial(trial) for trial in trials]
    targets = {}
    for name in (term.metric for term in problem.objective.terms):
        # What a cut-off trial lacks is unknown; its time and rate are bounds and still teach.
        known = [metrics.get(name, math.nan) for metrics in measured]
        # Clocks have a long tail: on a plain scale few slow trials would be all that is learned.
        logs = [math.log(v) if name in TIME_BASED and v > 0 else v for v in known]
        targets[name] = np.array(logs)
    return FeatureMatrix(values, problem.space.names, owner), targets


@dataclass(frozen=True)
class MeasuredConfiguration:
    """A new configuration, and all that was measured of it."""

    first: Trial  # the trial that first measured it whole
    runs: int
    metrics: Mapping[str, float]  # means over the runs, clocks corrected for drift
    fitness: float  # ``Objective.rank_value`` of these


def configurations_of(
    evaluation: Evaluation, trials: Iterable[Trial]
) -> list[MeasuredConfiguration]:
    """Each configuration once, those left out that ever ended without a whole measurement.

    Trials are new configurations; those in flight are passed over. The baseline is known.
    """
    rank, baseline = evaluation.problem.objective.rank_value, evaluation.baseline
    ended = by_configuration(trial for trial in trials if trial.has_outcome)
    whole = [runs for runs in ended if all(run.done for run in runs)]
    by_first = evaluation.rank_values(runs[0] for runs in whole)
    found = []
    for runs, of_first in zip(whole, by_first, strict=True):
        metrics = baseline.corrected_mean(runs)
        fitness = rank(metrics, baseline.metrics) if len(runs) > 1 else of_first
        found.append(MeasuredConfiguration(runs[0], len(runs), metrics, fitness))
    return found


def by_configuration(trials: Iterable[Trial]) -> list[list[Trial]]:
    """The trials of each configuration, in the order of proposal."""
    found: dict[str, list[Trial]] = {}
    for trial in trials:
        found.setdefault(trial.digest, []).append(trial)
    return list(found.values())


def each_once(
    trials: Sequence[Trial], fitness: Mapping[int, float]
) -> tuple[list[Trial], dict[int, float]]:
    """Trials, and their fitness by number, with every new configuration once, by its mean.

    Whole measurements alone count; where there is none, all of its trials stay as they are.
    """
    candidates = [t for t in trials if t.purpose is Purpose.CANDIDATE and t.done]
    merged: dict[int, Trial] = {}
    values, dropped = dict(fitness), set[int]()
    for runs in by_configuration(candidates):
        if len(runs) == 1:
            continue
        first, *others = (run.number for run in runs)
        merged[first] = replace(runs[0], metrics=mean_metrics([run.metrics for run in runs]))
        known = [values[run.number] for run in runs if run.number in values]
        if known:
            values[first] = sum(known) / len(known)
        dropped.update(others)
    kept = [merged.get(trial.number, trial) for trial in trials if trial.number not in dropped]
    return kept, {number: value for number, value in values.items() if number not in dropped}


def replicated(trials: Iterable[Trial]) -> list[Trial]:
    """The new configurations' trials that measured what was measured before."""
    return [t for t in trials if t.purpose is Purpose.CANDIDATE and t.subject is not None]


@dataclass(frozen=True)
class Front:
    """The configurations between which only taste decides."""

    numbers: tuple[int, ...]  # of its trials
    # (trial's number, hypervolume with it) of each trial that enlarged it, in order.
    growth: tuple[tuple[int, float], ...]

    def document(self) -> list[dict[str, float]]:
        """The growth as JSON holds it."""
        return [{"trial": number, "value": value} for number, value in self.growth]


def measured(baseline: Baseline, trials: Iterable[Trial]) -> dict[int, Metrics]:
    """The metrics of new configurations that were measured whole, clocks corrected, by number.

    Of what was measured several times the mean, by the first's number.
    """
    whole = (trial for trial in trials if trial.purpose is Purpose.CANDIDATE and trial.done)
    return {runs[0].number: baseline.corrected_mean(runs) for runs in by_configuration(whole)}


def within_limits(
    objective: Objective, baseline: Metrics, points: Mapping[int, Metrics]
) -> dict[int, Metrics]:
    """Those of the measurements that keep every limit of the objective."""
    bounds = objective.bounds(baseline)
    return {n: found for n, found in points.items() if all(each.holds(found) for each in bounds)}


def front_of(objective: Objective, baseline: Baseline, trials: Iterable[Trial]) -> Front:
    """The front of a job's new configurations, given by number, and how it grew."""
    points = within_limits(objective, baseline.metrics, measured(baseline, trials))
    terms = [t for t in objective.terms if t.metric in baseline.metrics]
    rows = {
        number: [term.gain(found[term.metric], baseline.metrics[term.metric]) for term in terms]
        for number, found in sorted(points.items())
        if all(term.metric in found for term in terms)
    }
    return Front(tuple(sorted(pareto_front(points, objective.terms))), hypervolume_growth(rows))


def hypervolume_growth(gains: Mapping[int, Sequence[float]]) -> tuple[tuple[int, float], ...]:
    """The hypervolume after each point that enlarges it, in the order of the points.

    Points are relative gains on the baseline, one for each metric, better when higher.
    """
    front: Floats = np.empty((0, len(next(iter(gains.values()), ()))))
    found: list[tuple[int, float]] = []
    for number, gain in gains.items():
        point = np.asarray(gain, dtype=np.float64)
        if (point <= -1).any() or (front >= point).all(axis=1).any():
            continue  # it covers nothing that is not covered
        front = np.vstack([front[~(front <= point).all(axis=1)], point])
        found.append((number, hypervolume(front)))
    return tuple(found)


def hypervolume(gains: Floats) -> float:
    """What points cover, as a multiple of what the baseline covers by itself.

    The reference is as far below the baseline as the baseline is above nothing: a gain of -1 in
    each metric, which is twice the baseline's figure where less is better, and 0 where more is. So
    the baseline alone has 1 (Zitzler and Thiele, PPSN 1998, with this reference). Gains have the
    shape ``(points, metrics)``.
    """
    from deap.benchmarks.tools import hypervolume as _hypervolume

    inside = gains[(gains > -1).all(axis=1)]
    if not len(inside):
        return 0.0
    individuals = [
        Namespace(fitness=Namespace(wvalues=tuple(row))) for row in (inside + 1).tolist()
    ]
    return float(_hypervolume(individuals, ref=np.zeros(gains.shape[1])))
