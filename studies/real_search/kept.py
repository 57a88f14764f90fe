"""What is kept of a trial: enough to go on from it exactly where a killed study was.

A point decodes to its configuration; of the values in effect only those that differ from it are
kept, of the metrics those that are compared and those that the page shows.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

from optimizer.trials.problem import Problem
from optimizer.trials.trial import Basis, Phase, Purpose, Trial
from sampler.runner.outcome import Outcome, TrialState
from sampler.space.space import digest
from sampler.workload.metric_table import MACHINE

# Without what the machine did meanwhile no clock could be corrected, as a job corrects them.
_ALSO = ("wall_seconds", "memory", "write_p99", "read_p99", *MACHINE)


def ended(
    problem: Problem, trial: Trial, outcome: Outcome, *, host: str, began: datetime
) -> Trial:
    """A trial as it is kept: what is left out would be missing after a resumption, too."""
    names = {*_ALSO, *(term.metric for term in problem.objective.terms)}
    over = trial.ended(outcome, host=host, finished_at=datetime.now(UTC))
    return replace(
        over,
        started_at=began,
        finished_at=None,
        metrics={name: value for name, value in over.metrics.items() if name in names},
        counters={},
        effective=over.features,
        warnings=(),
    )


def row_of(problem: Problem, trial: Trial) -> dict[str, Any]:
    """A trial as JSON holds it."""
    differs = {n: v for n, v in trial.features.items() if trial.configuration[n] != v}
    point = trial.point and [trial.point.get(name) for name in problem.space.names]
    row = {
        "number": trial.number,
        "purpose": trial.purpose.value,
        "phase": trial.phase.value,
        "state": trial.state.value,
        "metrics": dict(trial.metrics),
        "bench_seconds": trial.bench_seconds,
        "host": trial.host,
        "started_at": trial.started_at.isoformat() if trial.started_at else None,
        "why": trial.why,
        "basis": trial.basis,
        "point": point,
        "subject": trial.subject if trial.purpose is Purpose.CANDIDATE else None,
        "effective": differs,
        "failure": trial.failure,
    }
    return {name: value for name, value in row.items() if value not in (None, {}, "")}


def trial_of(problem: Problem, row: Mapping[str, Any]) -> Trial:
    """The trial of a row."""
    number, values = row["number"], row.get("point")
    point = None if values is None else _point(problem.space.names, values)
    default = problem.space.default_configuration()
    configuration = default if point is None else problem.configuration(point)
    purpose = Purpose(row["purpose"])
    return Trial(
        number=number,
        phase=Phase(row["phase"]),
        purpose=purpose,
        seed=problem.seed_of(number),
        configuration=configuration,
        digest=digest(configuration),
        point=point,
        subject=1 if purpose is Purpose.BASELINE else row.get("subject"),
        why=row.get("why", ""),
        basis=Basis(row["basis"]) if "basis" in row else None,
        based_on=number - 1 if purpose is Purpose.CANDIDATE else 0,
        state=TrialState(row["state"]),
        metrics=row.get("metrics", {}),
        effective={**configuration, **row.get("effective", {})},
        failure=row.get("failure"),
        bench_seconds=row["bench_seconds"],
        host=row["host"],
        started_at=datetime.fromisoformat(row["started_at"]),
    )


def _point(names: Sequence[str], values: Sequence[float | None]) -> dict[str, float]:
    """The coordinates that were given; what is not active need have none."""
    given = zip(names, values, strict=True)
    return {name: value for name, value in given if value is not None}
