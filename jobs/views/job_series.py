"""How a job goes: what its trials have found so far, compared with its baseline so far."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from sqlalchemy import Engine

from db.connection.transactions import reading
from db.schema.job_row import JobRow
from db.schema.tables import MAIN_METRICS
from db.trials.trial_rows import count_baseline, read_baseline_runs, read_course
from jobs.results.cache import JobCache
from optimizer.baseline.baseline import Baseline, summarise
from optimizer.evaluation.configurations import each_once, replicated
from optimizer.evaluation.pareto_front import measured
from optimizer.objective.objective import Objective
from optimizer.objective.objective_file import objective_from_document
from optimizer.trials.trial import Phase, Purpose, Trial

_baselines = JobCache[Baseline | None]()


@dataclass(frozen=True)
class JobSeries:
    """A job's whole measurements of the load that it searches by."""

    objective: Objective  # what is better, and the limits
    # over its runs so far, those of the confirmation left out, as the job's standing has it
    baseline: Baseline
    # by number; of a configuration that was measured again the first, with the mean
    trials: Sequence[Trial]
    # of each, clocks corrected for drift; of what was measured again the mean
    metrics: Mapping[int, Mapping[str, float]]
    fitness: Mapping[int, float]  # by number
    breaking: frozenset[int]  # the numbers of those that break a limit
    repeats: int  # how many runs measured a configuration again
    runs: Sequence[Trial]  # all of them, as they were measured

    @property
    def best(self) -> int | None:
        """The number of the fittest new configuration that keeps every limit."""
        new = {trial.number for trial in self.trials if trial.purpose is Purpose.CANDIDATE}
        found = (new & self.fitness.keys()) - self.breaking
        return max(sorted(found), key=self.fitness.__getitem__, default=None)


def job_series_of(engine: Engine, row: JobRow) -> JobSeries | None:
    """The course of a job; None before a run of its baseline has ended well."""
    objective = objective_from_document(row.specification["objective"])
    others = not set(objective.metrics) <= set(MAIN_METRICS)
    with reading(engine) as connection:
        own = read_baseline_runs(connection, row.id)
        if not own:
            return None
        baseline = summarise(own)
        # What the machine's state corrects is told by the state of each run.
        others = others or any(own.machine.coefficients for own in baseline.hosts.values())
        runs = read_course(connection, row.id, others=others)
    if confirms_larger_load(row):
        runs = [trial for trial in runs if trial.phase is not Phase.CONFIRM]
    metrics = {
        trial.number: baseline.corrected(trial.metrics, trial.started_at, trial.host)
        for trial in runs
    }
    fitness = _fitness(objective, metrics, baseline)
    trials, mean = each_once(runs, fitness)
    once = measured(baseline, runs) if len(trials) < len(runs) else {}
    bounds = objective.bounds(baseline.metrics)
    metrics |= once
    return JobSeries(
        objective=objective,
        baseline=baseline,
        trials=trials,
        metrics=metrics,
        fitness=mean,
        breaking=frozenset(n for n, m in metrics.items() if not all(b.holds(m) for b in bounds)),
        repeats=len(replicated(runs)),
        runs=runs,
    )


def confirms_larger_load(row: JobRow) -> bool:
    """Whether a job's confirmation measures another load than its search: no figures compare."""
    return row.specification.get("confirm_scale") is not None


def baseline_so_far(engine: Engine, row: JobRow) -> Baseline | None:
    """The baseline of a job, with all its metrics; None before a run of it has ended well."""
    with reading(engine) as connection:
        state = count_baseline(connection, row.id)

        def summed_up() -> Baseline | None:
            runs = read_baseline_runs(connection, row.id)
            return summarise(runs) if runs else None

        return _baselines.of(engine, row.id, state, summed_up)


def _fitness(
    objective: Objective, metrics: Mapping[int, Mapping[str, float]], baseline: Baseline
) -> dict[int, float]:
    """By number, of those that have every metric of the objective."""
    columns = {
        term.metric: np.array([found.get(term.metric, np.nan) for found in metrics.values()])
        for term in objective.terms
    }
    values = objective.fitness_of_many(columns, baseline.metrics).tolist()
    return {n: v for n, v in zip(metrics, values, strict=True) if not math.isnan(v)}
