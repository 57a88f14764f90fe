"""The runs of bake-offs on the real db_bench as problems to be tuned again.

Every run that is kept teaches: of searches and of the winners that were measured again, at the
baseline's memory and at four times it, for memory bounds what is proposed, not what a
configuration does. A job (a method under a seed) has runs of the baseline of its own: its clocks
are corrected for drift by them as in the job, and all of its metrics are put on the common level.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from jobs.specification.resolved_job import resolve
from optimizer.baseline.baseline import summarise
from optimizer.evaluation.evaluation import COMPARABLE
from optimizer.trials.problem import Problem, SearchSettings
from optimizer.trials.trial import Purpose, Trial
from studies.json_lines import read_lines
from studies.methods.cases import WORKLOADS, Case
from studies.real_search.kept import trial_of
from studies.search.recorded import Recorded, Run

_RESULTS = Path(__file__).parents[2] / "docs/results"
# By name the cases and their files.
BAKE_OFFS: Mapping[str, Sequence[tuple[Case, Path]]] = {
    **{
        f"{Path(workload).stem}-all": [
            (case, _RESULTS / folder / f"{case.name}.jsonl")
            for case in (Case(workload, 1), Case(workload, 4))
            for folder in ("methods", "methods_1200")
        ]
        for workload in WORKLOADS
    },
    "quick-all": [(Case("load-quick", 1), _RESULTS / "real_search.jsonl")],
}


def of_bake_off(name: str) -> Recorded:
    """All runs of a name of ``BAKE_OFFS``; the problem is posed at the memory of the baseline.

    Raises:
        InputError: A file is not there or holds no such runs.
    """
    problem, jobs = _read(name)
    metrics = [term.metric for term in problem.objective.terms]
    levels = {job: _level(trials, metrics) for job, trials in jobs.items()}
    common = np.median(list(levels.values()), axis=0)
    runs = []
    for job, trials in jobs.items():
        baseline = summarise(trial for trial in trials if trial.is_baseline)
        shift = dict(zip(metrics, common / levels[job], strict=True))
        for trial in trials:
            if trial.state in COMPARABLE:
                values = baseline.corrected_trial(trial)
                kept = {m: values[m] * shift[m] for m in metrics if values.get(m, 0) > 0}
                runs.append(Run(trial.features, kept, fold=job[-1]))
    tuned = replace(problem, strategy="", search=SearchSettings(cutoff=problem.search.cutoff))
    return Recorded(name, tuned, problem.space, tuple(runs))


def raw_scatter(name: str) -> tuple[int, dict[str, tuple[float, float]]]:
    """How the baseline's runs of a name of ``BAKE_OFFS`` scatter, clocks not corrected.

    How many jobs, and by metric two standard deviations of logarithms: of runs about the mean of
    their job, and of these means.
    """
    problem, jobs = _read(name)
    metrics = [term.metric for term in problem.objective.terms]
    runs = [[t.metrics for t in each if t.is_baseline and t.done] for each in jobs.values()]
    logs = [np.log([[run[m] for m in metrics] for run in each]) for each in runs if len(each) > 1]
    squares = np.sum([((each - each.mean(axis=0)) ** 2).sum(axis=0) for each in logs], axis=0)
    within = np.sqrt(squares / (sum(map(len, logs)) - len(logs)))
    between = np.std([each.mean(axis=0) for each in logs], axis=0, ddof=1)
    found = zip(within.tolist(), between.tolist(), strict=True)
    return len(logs), dict(zip(metrics, found, strict=True))


def _level(trials: Sequence[Trial], metrics: Sequence[str]) -> NDArray[np.float64]:
    """The level of a job's baseline: of each metric the geometric mean."""
    runs = [trial.metrics for trial in trials if trial.is_baseline and trial.done]
    return np.array([np.exp(np.mean(np.log([run[m] for run in runs]))) for m in metrics])


def _read(name: str) -> tuple[Problem, dict[tuple[str, ...], list[Trial]]]:
    """The problem at the baseline's memory, and by file, study, method and seed the trials."""
    jobs = defaultdict[tuple[str, ...], list[Trial]](list)
    posed: Problem | None = None
    for case, path in BAKE_OFFS[name]:
        problem = resolve(case.specification, None).problem
        posed = posed or problem
        rows = [row for row in read_lines(path) if row["kind"] in ("trial", "choice", "again")]
        for job, trial in _trials(replace(problem, seed=0), rows):
            jobs[str(path), *job].append(trial)
    assert posed is not None
    return posed, dict(jobs)


def _trials(
    problem: Problem, rows: Sequence[Mapping[str, Any]]
) -> Iterator[tuple[tuple[str, str, str], Trial]]:
    """Study, method and seed, and a trial; winners measured again are a method of their own."""
    measured = {_key(row, row["strategy"]): row for row in rows if row["kind"] == "trial"}
    winners = {_key(row, row["strategy"], "")[:3]: row for row in rows if row["kind"] == "choice"}
    for row in rows:
        if row["kind"] == "trial":
            yield _key(row, row["strategy"])[:3], trial_of(problem, row)
        elif row["kind"] == "again":
            given = {**row, "purpose": Purpose.BASELINE}
            if row["subject"] != "baseline":
                winner = winners[_key(row, row["subject"], "")[:3]]
                if "number" not in winner or winner["number"] is None:
                    continue
                first = measured[_key({**winner, "seed": row["seed"]}, row["subject"])]
                given |= {"purpose": Purpose.CANDIDATE, "point": first["point"]}
                given |= {"effective": first.get("effective", {})}
            yield _key(row, "again")[:3], trial_of(problem, given)


def _key(row: Mapping[str, Any], method: str, number: object = None) -> tuple[str, str, str, str]:
    place = row["number"] if number is None else number
    return row["study"], method, str(row["seed"]), str(place)
