"""One parameter after the other: measure its values, keep the best, go on with the next.

The method of Krishnamoorthy and Choi, "Fine-tuning RocksDB for NVMe SSD" (Samsung): three to five
values of each parameter, in a fixed order, around the best configuration so far. Theirs ends with
the last parameter. Here a further pass follows while the one before has kept anything and the
budget lasts: a value that was chosen early may not be the best beside those chosen since.

A value is kept where its measurement is better than that of the configuration that is varied.
Nothing is measured again here: what won by luck is found out when the job chooses its winner and
proves it on fresh runs.
"""

import math
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import count
from typing import ClassVar

from optimizer.evaluation.baseline import Baseline, summarise
from optimizer.evaluation.evaluation import Evaluation
from optimizer.strategies.strategy import Proposal, Strategy, next_start
from optimizer.trials.problem import Problem, planned_starts
from optimizer.trials.trial import BASELINE_TRIAL, Phase, Purpose, Trial
from sampler.rocksdb.parameters import Parameter, Value
from sampler.space.latent import SPECIAL_SHARE, Point, decode, encode
from sampler.space.space import Configuration, Space, digest

MOST_VALUES = 5  # of a range; a list of choices is tried whole
_BELOW_ONE = math.nextafter(1.0, 0.0)  # a coordinate is below 1


@dataclass(frozen=True)
class Probe:
    """One value of a parameter, around a configuration."""

    asked: Value  # what the sweep is for; rules between parameters may allow only another
    value: Value  # the value that it is
    point: Point  # coordinates of all parameters that are searched
    configuration: Configuration

    @property
    def digest(self) -> str:
        """The name of the configuration."""
        return digest(self.configuration)


def probes_of(problem: Problem, around: Configuration, name: str) -> tuple[Probe, ...]:
    """The configurations of a sweep around one, in the order in which they are measured.

    The values are those that the space lists (``sweep``); else the special ones, and up to five in
    all spread over the range as its scale says, both ends among them; or all choices. Where a rule
    binds other parameters to this one, they give way, as in a draw. The parameter is active in the
    configuration that is varied, which is left out; each of the others comes once.
    """
    # The parameters that are not searched are no coordinates: they stay at the baseline.
    space = problem.space.without(set(problem.space.names) - set(problem.searched))
    parameter = space.by_name[name]
    held = {**space.start, **around}
    asked_values: Iterable[Value] = parameter.values
    if parameter.sweep:
        asked_values = [_in_full(parameter, value, held) for value in parameter.sweep]
    elif parameter.is_numeric:
        asked_values = (*parameter.special, *_spread(space, parameter, held, problem.memory))
    found: dict[str, Probe] = {}
    for asked in asked_values:
        point = encode(space, {**held, name: asked}, memory=problem.memory)
        configuration = problem.configuration(point)
        probe = Probe(asked, configuration[name], point, configuration)
        found.setdefault(probe.digest, probe)
    found.pop(digest(around), None)
    return tuple(found.values())


def _in_full(parameter: Parameter, value: Value, held: Configuration) -> Value:
    """A listed value as a configuration holds it: multiples become what they stand for."""
    if not parameter.multiple_of or value in parameter.special:
        return value
    number = float(value) * float(held[parameter.multiple_of])
    return round(number) if parameter.kind == "int" else number


def _spread(
    space: Space, parameter: Parameter, held: Configuration, memory: int | None
) -> Iterator[Value]:
    """Values at even distances on the parameter's coordinate, within the rules."""
    middle = encode(space, held, memory=memory)
    lowest = SPECIAL_SHARE if parameter.special else 0.0
    steps = max(1, MOST_VALUES - 1 - len(parameter.special))
    for step in range(steps + 1):
        u = min(lowest + (1 - lowest) * step / steps, _BELOW_ONE)
        yield decode(space, {**middle, parameter.name: u}, memory=memory)[parameter.name]


@dataclass(frozen=True)
class Sweep:
    """One parameter, all of whose values have ended."""

    parameter: str  # that was varied
    number: int  # the pass over all parameters that it belongs to, from 1
    before: Value  # its value in the configuration that was varied
    values: tuple[tuple[Value, int], ...]  # those tried beside it, with the trial of each
    kept: int | None  # the trial that was better than that and the others; None: the value stays


@dataclass(frozen=True)
class SweepProgress:
    """How far the search has come."""

    first: int  # the trial that it began with: the baseline's, or a starting point's
    sweeps: tuple[Sweep, ...] = ()  # those that have ended, in order
    idle: tuple[str, ...] = ()  # parameters that did nothing when their first turn came
    incumbent: int = 1  # the trial whose configuration is varied
    parameter: str | None = None  # whose values are being measured; None: the search has ended
    number: int = 1  # the pass that it is in, from 1
    probe: Probe | None = None  # to measure next; None: what is out ends first, or all is done
    place: int = 0  # the place of that value in its sweep, from 1
    of: int = 0  # how many values the sweep has beside the one that is kept

    def left(self, searched: Sequence[str]) -> tuple[str, ...]:
        """The parameters that the first pass has not come to the end of, in their order."""
        swept = {sweep.parameter for sweep in self.sweeps} | set(self.idle)
        return tuple(name for name in searched if name not in swept)


class _Reading:
    def __init__(self, evaluation: Evaluation) -> None:
        self._evaluation = evaluation
        self._problem, self._history = evaluation.problem, evaluation.history
        self._own = self._history.own(Purpose.CANDIDATE)
        self._baselines = self._history.of(Purpose.BASELINE)
        self._last = 0  # the number of the last trial that was looked at

    def series(self, explore: int) -> SweepProgress:
        problem = self._problem
        starts = [problem.configuration(s.point) for s in planned_starts(problem, explore)]
        runs = [run for each in starts for run in self._runs(digest(each))]
        if not all(run.has_outcome for run in runs):
            return SweepProgress(first=1, parameter=problem.searched[0])
        self._last = max((run.number for run in runs), default=0)
        first = self._best([run.number for run in runs], 1) or 1
        series = SweepProgress(first=first, incumbent=first)
        been = {first}
        for number in count(1):
            before = len(been)
            for name in problem.searched:
                series = self._turn(series, name, number)
                if series.parameter is not None:
                    return series
                been.add(series.incumbent)
            if len(been) == before or problem.search.stop_early:
                return series
        raise AssertionError("a count never ends")

    def _turn(self, series: SweepProgress, name: str, number: int) -> SweepProgress:
        """One parameter's turn: the same course with its sweep, or as far as that has come."""
        values = self._history[series.incumbent].configuration
        held = {**self._problem.space.start, **values}  # what the space fixes, a baseline lacks
        if not self._problem.space.is_active(name, held):
            idle = series.idle if number > 1 else (*series.idle, name)
            return replace(series, idle=idle)
        probes = probes_of(self._problem, values, name)
        at = replace(series, parameter=name, number=number, of=len(probes))
        for place, probe in enumerate(probes, start=1):
            if probe.digest not in self._history:
                return replace(at, probe=probe, place=place)
        runs = {probe.digest: self._runs(probe.digest) for probe in probes}
        if any(not run.has_outcome for each in runs.values() for run in each):
            return at
        # What leads back to the baseline was measured, but never as a new configuration.
        first = {name: each[0].number if each else BASELINE_TRIAL for name, each in runs.items()}
        tried = [(probe.value, first[probe.digest]) for probe in probes]
        self._last = max([self._last, *(trial for _, trial in tried)])
        kept = self._best([trial for _, trial in tried], series.incumbent)
        sweep = Sweep(name, number, held[name], tuple(tried), kept)
        incumbent = series.incumbent if kept is None else kept
        return replace(series, sweeps=(*series.sweeps, sweep), incumbent=incumbent)

    def _runs(self, name: str) -> list[Trial]:
        """The trials of a configuration; those of the confirmation do not count."""
        runs = self._history.of_configuration(name)
        return [run for run in runs if run.purpose is Purpose.CANDIDATE]

    def _best(self, numbers: Sequence[int], incumbent: int) -> int | None:
        baseline = self._baseline()
        best, kept = self._fitness(incumbent, baseline), None
        for number in numbers:
            fitness = self._fitness(number, baseline)
            if number != incumbent and fitness is not None and (best is None or fitness > best):
                best, kept = fitness, number
        return kept

    def _fitness(self, number: int, baseline: Baseline) -> float | None:
        """By the mean of the configuration's runs; None where one has not ended well."""
        objective = self._problem.objective
        if number == BASELINE_TRIAL:
            return objective.rank_value(baseline.metrics, baseline.metrics)
        runs = self._runs(self._history[number].digest)
        after = self._after()
        if after is not None:  # what was told later was not known then
            runs = [run for run in runs if run.number < after.number] or runs
        if not all(run.done for run in runs):
            return None
        mean = baseline.corrected_mean(runs)
        whole = objective.fitness(mean, baseline.metrics) is not None
        return objective.rank_value(mean, baseline.metrics) if whole else None

    def _baseline(self) -> Baseline:
        """The baseline as it was known when the search went on from what was looked at so far."""
        after, done = self._after(), [run for run in self._baselines if run.done]
        known = [run for run in done if after is None or _ended_before(run, after)] or done
        runs = tuple((run.number, run.attempt) for run in known)
        return self._evaluation.once(("baseline", len(known)), runs, lambda: summarise(known))

    def _after(self) -> Trial | None:
        """The first trial that was proposed after all that was looked at so far."""
        place = bisect_right(self._own, self._last)
        return self._history[self._own[place]] if place < len(self._own) else None


def _ended_before(run: Trial, other: Trial) -> bool:
    if run.given or run.number > other.number:
        return run.given
    if run.finished_at is None or other.started_at is None:
        return True
    return run.finished_at <= other.started_at


def tried_by(sweeps: Sequence[Sweep]) -> Mapping[str, int]:
    """How many configurations its sweeps took a parameter through; each counts once."""
    found: dict[str, set[int]] = {}
    for sweep in sweeps:
        found.setdefault(sweep.parameter, set()).update(trial for _, trial in sweep.values)
    return {name: len(trials) for name, trials in found.items()}


@dataclass(frozen=True)
class Greedy(Strategy):
    """Coordinate descent over lists of values. All values of a parameter may run side by side."""

    settings: ClassVar[frozenset[str]] = frozenset({"over", "stop_early"})
    phase_words: ClassVar[Mapping[Phase, str]] = {
        Phase.SAMPLE: "measure the starting points; the search begins at the best or the baseline",
        Phase.RANK: "choose the best of the starting points and the baseline",
        Phase.SEARCH: "vary one parameter at a time and keep the best value of each",
    }

    def samples(self, problem: Problem, explore: int) -> int:
        """None are drawn; as many as there are starting points."""
        return len(planned_starts(problem, explore))

    def needs_all_samples(self, evaluation: Evaluation, explore: int) -> bool:
        """When all starting points are out: it begins with the best of them."""
        return next_start(evaluation, explore) is None

    def propose(self, evaluation: Evaluation, *, number: int, explore: int) -> Proposal | None:
        """The next value of the parameter whose turn it is; see ``Strategy.propose``.

        None also while values of that parameter are out: which one is kept rests on all of them.
        """
        problem, history = evaluation.problem, evaluation.history
        if len(history.own(Purpose.CANDIDATE)) >= explore or not problem.searched:
            return None
        series = self.sweep_progress(evaluation, explore)
        name, probe = series.parameter, series.probe
        if probe is None or name is None:
            return None
        parameter = problem.space.by_name[name]
        said = parameter.words(probe.value)
        if probe.value != probe.asked:
            said += f" (the nearest to {parameter.words(probe.asked)} that the rules allow)"
        before = history[series.incumbent].configuration.get(name, "none")
        why = (
            f"pass {series.number}, {name}: value {series.place} of {series.of}, {said} instead "
            f"of {parameter.words(before)} in trial {series.incumbent}"
        )
        return Proposal(Phase.SEARCH, probe.point, probe.configuration, why)

    def sweep_progress(self, evaluation: Evaluation, explore: int) -> SweepProgress:
        """How far it has come, read from the history alone; see ``Strategy.sweep_progress``.

        Which value was kept is judged by what was known when the search went on: later runs of the
        baseline must not turn round what was built upon since. A run of the baseline has ended
        well, and so have, in whatever way, the starting points.
        """
        history = evaluation.history
        return evaluation.once(
            ("series", explore),
            (history.changes(Purpose.CANDIDATE), history.changes(Purpose.BASELINE)),
            lambda: _Reading(evaluation).series(explore),
        )
