"""How a job goes: what its trials have found so far, compared with its baseline so far."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from weakref import WeakKeyDictionary

from sqlalchemy import Engine

from db.job_row import JobRow
from db.tables import MAIN_METRICS
from db.transactions import reading
from db.trial_course import count_baseline, read_course
from optimizer.baseline import Baseline, summarise
from optimizer.measured_again import again, each_once
from optimizer.objective import Objective
from optimizer.objective_file import objective_from_document
from optimizer.trial import Phase, Purpose, Trial

_MOST_REMEMBERED = 64
_Baselines = dict[int, tuple[int, Baseline]]
_baselines: WeakKeyDictionary[Engine, _Baselines] = WeakKeyDictionary()


@dataclass(frozen=True)
class Course:
    """A job's whole measurements of the load that it searches by.

    Attributes:
        objective: What is better, and the limits.
        baseline: Over its runs so far, those of the confirmation left out, as the job's standing
            has it.
        trials: By number; of a configuration that was measured again the first, with the mean.
        fitness: By number.
        breaking: The numbers of those that break a limit.
        repeats: How many runs measured a configuration again.
        runs: All of them, as they were measured.
    """

    objective: Objective
    baseline: Baseline
    trials: Sequence[Trial]
    fitness: Mapping[int, float]
    breaking: frozenset[int]
    repeats: int
    runs: Sequence[Trial]

    @property
    def best(self) -> int | None:
        """The number of the fittest new configuration that keeps every limit."""
        found = [
            trial.number
            for trial in self.trials
            if trial.purpose is Purpose.CANDIDATE
            and trial.number in self.fitness
            and trial.number not in self.breaking
        ]
        return max(found, key=lambda number: self.fitness[number], default=None)

    def corrected(self, trial: Trial) -> Mapping[str, float]:
        """A trial's metrics as they would have been at the baseline's median level."""
        return self.baseline.corrected(trial.metrics, trial.started_at, trial.host)


def course_of(engine: Engine, row: JobRow) -> Course | None:
    """The course of a job; None before a run of its baseline has ended well."""
    objective = objective_from_document(row.specification["objective"])
    others = not set(objective.metrics) <= set(MAIN_METRICS)
    with reading(engine) as connection:
        runs = _searching(row, read_course(connection, row.id, others=others))
    own = [trial for trial in runs if trial.purpose is Purpose.BASELINE]
    if not own:
        return None
    baseline = summarise(own)
    fitness, breaking = {}, set()
    bounds = objective.bounds(baseline.metrics)
    for trial in runs:
        metrics = baseline.corrected(trial.metrics, trial.started_at, trial.host)
        value = objective.fitness(metrics, baseline.metrics)
        if value is not None:
            fitness[trial.number] = value
        if not all(limit.holds(metrics) for limit in bounds):
            breaking.add(trial.number)
    trials, mean = each_once(runs, fitness)
    return Course(
        objective=objective,
        baseline=baseline,
        trials=trials,
        fitness=mean,
        breaking=frozenset(breaking),
        repeats=len(again(runs)),
        runs=runs,
    )


def baseline_so_far(engine: Engine, row: JobRow) -> Baseline | None:
    """The baseline of a job; summed up anew only when it was run again."""
    known = _baselines.setdefault(engine, {})
    with reading(engine) as connection:
        count = count_baseline(connection, row.id)
        if row.id in known and known[row.id][0] == count:
            return known[row.id][1]
        runs = read_course(connection, row.id, others=True, purpose=Purpose.BASELINE)
    if not runs:
        return None
    if len(known) >= _MOST_REMEMBERED:
        known.clear()
    found = summarise(runs)
    known[row.id] = (count, found)
    return found


def _searching(row: JobRow, runs: Sequence[Trial]) -> Sequence[Trial]:
    """Those that measured the load of the search; the confirmation may have a larger one."""
    if row.specification.get("confirm_scale") is None:
        return runs
    return [trial for trial in runs if trial.phase is not Phase.CONFIRM]
