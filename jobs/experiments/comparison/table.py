"""The table: each metric of each workload, one subject against another."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from jobs.experiments.in_turn.turns import Sets
from jobs.experiments.upgrade.comparison import CaseChange, MetricChange, compare
from optimizer.objective.objective import Direction, Term
from sampler.common.errors import InputError
from sampler.runner.outcome import TrialState
from sampler.workload.metric_units import db_bench_metrics, metric_unit
from sampler.workload.workload import Workload

# What RocksDB's pages compare by, with what it costs; a workload gives those that it has.
METRICS = ("rate", "waf", "whole_waf", "sa", "time", "write_p99", "read_p99", "cpu_seconds")
_HIGHER = ("rate",)


@dataclass(frozen=True, kw_only=True)
class Table:
    """One subject against another under one workload.

    Attributes:
        before: What is compared with.
        after: What is compared.
        rounds: In which both were measured.
        failed: Runs that did not end well, by subject.
        failure: The first failure of each, in its own words.
        rows: By metric; those with too few rounds are not in it.
    """

    workload: str
    before: str
    after: str
    rounds: int
    failed: Mapping[str, int]
    failure: Mapping[str, str]
    rows: Mapping[str, MetricChange]

    def better(self, metric: str) -> str | None:
        """The subject that is shown to be better; None where neither is."""
        row = self.rows[metric]
        if not row.significant:
            return None
        return self.before if row.worse else self.after

    def document(self) -> dict[str, Any]:
        """As result.json holds it."""
        rows = {
            name: {
                "unit": metric_unit(name),
                "medians": {self.before: row.old, self.after: row.new},
                "percent": row.change.percent,
                "low": row.change.low,
                "high": row.change.high,
                "p": row.change.p,
                "p_holm": row.p_holm,
                "rounds": row.pairs,
                "could_show_percent": 100 * row.smallest_change,
                "better": self.better(name),
            }
            for name, row in self.rows.items()
        }
        return {
            "workload": self.workload,
            "before": self.before,
            "after": self.after,
            "rounds": self.rounds,
            "failed": dict(self.failed),
            "failure": dict(self.failure),
            "metrics": rows,
        }


def require_metrics(given: Sequence[str], workloads: Sequence[Workload]) -> tuple[str, ...]:
    """The metrics to be compared, in the order asked for; the usual ones where none are.

    Raises:
        InputError: No workload has one of them.
    """
    known = dict.fromkeys(name for each in workloads for name in db_bench_metrics(each))
    for name in given:
        if name not in known:
            problem = f"there is no {name!r:.60}; known are {', '.join(known)}"
            raise InputError("--metrics", problem)
    return tuple(dict.fromkeys(given)) or METRICS


def tables(
    sets: Sets,
    workloads: Sequence[str],
    before: str,
    after: Sequence[str],
    metrics: Sequence[str],
) -> list[Table]:
    """Compares each of ``after`` with ``before``, workload by workload.

    The family of Holm's correction is everything that is asked: if nothing differs, the chance
    that anything is called different is 5% at most.

    Args:
        sets: The runs by round and workload.
        workloads: Their names, in the order of the answer.
        before: The subject that the others are compared with.
        after: The others.
        metrics: In the order of the answer.
    """
    places = [(workload, name) for workload in workloads for name in after]
    pairs = {
        (number, str(place)): (runs[before], runs[name])
        for (number, workload), runs in sets.items()
        for place, (mine, name) in enumerate(places)
        if mine == workload
    }
    terms = [Term(name, _direction(name)) for name in metrics]
    changes = compare(pairs, [str(place) for place in range(len(places))], terms)
    return [
        _table(sets, workload, before, name, change)
        for (workload, name), change in zip(places, changes, strict=True)
    ]


def _direction(metric: str) -> Direction:
    return "max" if metric in _HIGHER else "min"


def _table(sets: Sets, workload: str, before: str, after: str, change: CaseChange) -> Table:
    mine = [runs for (_, name), runs in sets.items() if name == workload]
    bad = {
        name: [runs[name] for runs in mine if runs[name].state != TrialState.DONE.value]
        for name in (before, after)
    }
    return Table(
        workload=workload,
        before=before,
        after=after,
        rounds=change.pairs,
        failed={name: len(runs) for name, runs in bad.items()},
        failure={name: runs[0].failure or runs[0].state for name, runs in bad.items() if runs},
        rows=change.metrics,
    )
