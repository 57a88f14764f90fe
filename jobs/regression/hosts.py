"""Hosts over their jobs, judged as nights are: speed, load of others, level and noise, drifts."""

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sqlalchemy import Engine

from db.connection.engine import present
from db.leases import (
    HostExclusion,
    HostRow,
    HostRuns,
    excluded_hosts,
    host_jobs,
    host_runs,
    read_hosts,
)
from db.nightly.nights import Night
from jobs.regression.detection import RegressionReport, Series, judge_series, key_of, named
from jobs.regression.report import SeriesRow, series_rows
from jobs.results.fits import JobCache
from models.change_points import RESOLUTION
from sampler.workload.metric_table import MACHINE, shown_in

_LEAST_RUNS = 3  # the scatter of fewer says nothing


@dataclass(frozen=True, eq=False)
class HostHistory:
    """A host: what it is, and what its runs of the baseline show."""

    name: str
    runs: Sequence[HostRuns]  # of each finished job that it had a baseline in, the oldest first
    report: RegressionReport  # its nights are these jobs, with their numbers for those of batches
    rows: Sequence[SeriesRow]  # each of its figures, drawn, with what was found
    row: HostRow | None = None  # None of one that only terminals have measured on
    alive: bool = False  # whether it has shown up within the last minute
    # the job that runs without it, or else the newest that did
    excluded: HostExclusion | None = None

    @property
    def environment(self) -> Mapping[str, Any]:
        """Its fingerprint and its RocksDB."""
        return self.row.environment if self.row else self.runs[-1].environment

    def document(self) -> dict[str, Any]:
        """As JSON holds it."""
        return {
            "name": self.name,
            "seen_at": self.row.seen_at if self.row else self.runs[-1].ended_at,
            "alive": self.alive,
            "job_id": self.row and self.row.job_id,
            "environment": dict(self.environment),
            "excluded": self.excluded and asdict(self.excluded),
            "worsened": self.report.worsened,
            "changes": [self.report.finding(each) for each in self.report.findings],
            "series": [self._series(each) for each in self.rows],
        }

    def _series(self, row: SeriesRow) -> dict[str, Any]:
        told = {name: getattr(row, name) for name in ("title", "newest", "state", "verdict")}
        values = [
            {"job": run.job_id, "at": run.ended_at.isoformat(), "value": value}
            for run, value in zip(self.runs, row.series.shown.tolist(), strict=True)
            if math.isfinite(value)
        ]
        return named(row.series) | told | {"values": values}


_known = JobCache[dict[str, HostHistory]]()


def host_histories(engine: Engine) -> list[HostHistory]:
    """All hosts by name that have shown up or measured; judged again where a job is new."""
    jobs = host_jobs(engine)

    def judged() -> dict[str, HostHistory]:
        runs = host_runs(engine, [number for number, _ in jobs])
        return {name: _history(name, mine) for name, mine in runs.items()}

    known, aside = _known.of(engine, "hosts", jobs, judged), excluded_hosts(engine)
    rows = {each.name: each for each in read_hosts(engine)}
    moment = present(engine)  # by the clock that their signs of life are noted by
    found = []
    for name in sorted(known.keys() | rows.keys()):
        host = known.get(name) or _history(name, ())
        row, out = rows.get(name), aside.get(name)
        if out is not None and not out.live and any(r.job_id > out.job_id for r in host.runs):
            out = None  # it has measured since
        alive = row is not None and row.alive(moment)
        found.append(replace(host, row=row, alive=alive, excluded=out))
    return found


def _history(name: str, runs: Sequence[HostRuns]) -> HostHistory:
    report = judge_host(runs)
    return HostHistory(name, runs, report, series_rows(report, "jobs"))


def judge_host(runs: Sequence[HostRuns]) -> RegressionReport:
    """What a host's jobs show: speed and load over all, the rest by workload and build."""
    others, speed = (_figures(runs, "metrics", name) for name in MACHINE)
    found = [
        Series("machine", "machine", MACHINE[1], "max", True, np.log(speed), speed),
        Series("machine", "machine", MACHINE[0], "min", False, others, others),
    ]
    keys = [_key(each) for each in runs]
    for key in dict.fromkeys(keys):
        mine = np.array([each == key for each in keys])
        load = runs[keys.index(key)].asked["workload"]["name"]
        level = np.where(mine, _figures(runs, "metrics", "time"), np.nan)
        found.append(Series(load, "default", "time", "min", True, np.log(level), level))
        for name in shown_in("batch"):
            noise = np.where(mine, _figures(runs, "spread", name), np.nan)
            found.append(Series(load, "noise", name, "min", True, np.log(noise), noise))
    jobs = [Night(each.job_id, each.ended_at, {}) for each in runs]
    return judge_series(jobs, [each for each in found if np.isfinite(each.values).any()])


def _key(runs: HostRuns) -> str:
    """What decides about the level of the baseline, beside the host."""
    told = [runs.asked["space"].get("baseline"), runs.environment.get("rocksdb")]
    return key_of(runs.asked) + json.dumps([*told, runs.environment.get("build")])


def _figures(runs: Sequence[HostRuns], part: str, name: str) -> NDArray[np.float64]:
    """A metric's median or scatter in each job, above 0; NaN where it is not known."""
    least = 1 if part == "metrics" else _LEAST_RUNS
    told = [each.baseline[part].get(name) if each.baseline["runs"] >= least else None
            for each in runs]  # fmt: skip
    figures = np.array(told, dtype=np.float64)  # None becomes NaN
    return np.where(figures < RESOLUTION, RESOLUTION, figures)
