"""Triage of a change between nights: all that is known of both sides of it.

What moved together, what else changed then, what RocksDB's counters say, and the command that
measures both sides again. That two things changed in the same night makes neither the cause.
"""

import math
import shlex
from collections.abc import Mapping, Sequence
from statistics import median
from typing import Any

import numpy as np
from sqlalchemy import Engine

from db.connection.engine import reading
from db.nightly.nights import Night
from db.trials.trial_rows import read_baseline_whole
from jobs.regression.detection import LevelChange, RegressionReport
from jobs.regression.report import amount_words, name_of
from jobs.results.figures import figure
from optimizer.trials.trial import Trial
from sampler.bench.installed import build_words
from sampler.bench.output import LEVEL_BYTES
from sampler.common.errors import InputError
from sampler.common.text import format_bytes
from sampler.workload.metric_table import MACHINE
from sampler.workload.workload_file import SHIPPED

CAUTION = "All of this changed in the same night, which does not show that one caused the other."
_NIGHTS = 5  # of each side whose counters are read
_MOST_MOVED = 10  # of the counters that are told only where they moved
_CONDITIONS = ("cpu_seconds", *MACHINE)
# Always told where they were counted.
_COUNTED = (
    "bytes.written", "flush.write.bytes", "compact.read.bytes", "compact.write.bytes", "wal.bytes",
    "stall.micros", *_CONDITIONS,
)  # fmt: skip
_BUILD = ("version", "digest", "source", "compiled")


def triage_of(
    engine: Engine, report: RegressionReport, name: str, night: int | None = None
) -> dict[str, Any]:
    """What is known of a night from which on levels are others, as JSON holds it.

    That of the batch numbered ``night``; else of the newest worsening, or of the newest change
    where nothing is worse. Counters are those of the default's runs; none of deleted jobs.

    Raises:
        InputError: No level changed in that night.
    """
    lead, nights = _lead(report, night), report.nights
    changed = sorted({each.alarm.since for each in report.findings}, reverse=True)
    changes = [_night(nights[each]) for each in changed]
    document = {"schema": 1, "batch": name, "changes": changes, "caution": CAUTION}
    if lead is None:
        return document | {"night": None}
    since = lead.alarm.since
    moved = [f for f in report.findings if f.alarm.since_low <= since <= f.alarm.since_high]
    known = {each.series for each in moved}
    measured = [each for each in report.series if np.isfinite(each.values[since])]
    items = dict.fromkeys(each.series.item for each in moved)
    return document | {
        "night": _night(nights[since]),
        "before": _night(nights[since - 1]),
        "moved": [
            report.finding(f) | {"words": f"{name_of(f.series)} {amount_words(f.amount)}"}
            for f in moved
        ],
        "steady": [f"{each.item}: {name_of(each)}" for each in measured if each not in known],
        "items": [
            _item(engine, report, [f for f in moved if f.series.item == item]) for item in items
        ],
    }


def _lead(report: RegressionReport, night: int | None) -> LevelChange | None:
    found = [each for each in report.findings if each.worse] or list(report.findings)
    if night is not None:
        batches = [report.nights[each.alarm.since].batch_id for each in report.findings]
        if night not in batches:
            known = ", ".join(map(str, sorted(set(batches)))) or "none"
            raise InputError("night", f"no change at batch {night}; choose one of {known}")
        found = [f for f, b in zip(report.findings, batches, strict=True) if b == night]
    # The newest; of several of one night the clearest.
    return min(found, key=lambda each: (-each.alarm.since, each.alarm.p), default=None)


def _night(night: Night) -> dict[str, Any]:
    return {"batch": night.batch_id, "at": night.at.isoformat()}


def _item(
    engine: Engine, report: RegressionReport, found: Sequence[LevelChange]
) -> dict[str, Any]:
    lead = min(found, key=lambda each: each.alarm.p)
    item = lead.series.item
    nights = [[report.nights[n].items[item] for n in side] for side in _sides(report, lead)]
    with reading(engine) as connection:
        sides = [[read_baseline_whole(connection, n.job_id) for n in side] for side in nights]
    last, first = nights[0][-1], nights[1][0]
    old, new, jobs = last.result or {}, first.result or {}, (last.job_id, first.job_id)
    hosts = [sorted({run.host for job in side for run in job if run.host}) for side in sides]
    command, note = _command(old, new, jobs, best=any(f.series.kind == "best" for f in found))
    return {
        "item": item,
        "nights": _both(*map(len, nights)),
        "jobs": _both(*jobs),
        "builds": _both(_build(old), _build(new)),
        "hosts": _both(*hosts),
        "environment": [report.difference(d) | {"words": d.words()} for d in lead.differences],
        "options": _options((old, sides[0][-1]), (new, sides[1][0])),
        "counters": counter_rows(*([_level(job) for job in side if job] for side in sides)),
        "command": command,
        "note": note,
    }


def _both(before: Any, after: Any) -> dict[str, Any]:
    return {"before": before, "after": after}


def _sides(report: RegressionReport, lead: LevelChange) -> tuple[list[int], list[int]]:
    """The last nights of the old level and the first of the new one, that measured the series."""
    since = lead.alarm.since
    edges = [f.alarm.since for f in report.findings if f.series is lead.series]
    begins = max((edge for edge in edges if edge < since), default=0)
    ends = min((edge for edge in edges if edge > since), default=len(report.nights))
    there = np.flatnonzero(np.isfinite(lead.series.values)).tolist()
    old = [night for night in there if begins <= night < since][-_NIGHTS:]
    return old, [night for night in there if since <= night < ends][:_NIGHTS]


def _build(result: Mapping[str, Any]) -> dict[str, Any]:
    environment = result.get("environment") or {}
    told = {"version": environment.get("rocksdb")} | (environment.get("build") or {})
    return {n: told.get(n) for n in _BUILD} | {"program": environment.get("db_bench")}


def _options(*sides: tuple[Mapping[str, Any], Sequence[Trial]]) -> list[dict[str, Any]]:
    was, now = (
        dict(result["baseline"].get("configuration", {}), **((runs and runs[0].effective) or {}))
        for result, runs in sides
    )
    return [
        {"name": name} | _both(was.get(name), now.get(name))
        for name in sorted(was.keys() | now.keys())
        if was.get(name) != now.get(name)
    ]


def _level(runs: Sequence[Trial]) -> dict[str, float]:
    """The median of each counter and condition over a night's runs of the default."""
    found = [
        {**run.counters, **{n: v for n, v in run.metrics.items() if n in _CONDITIONS}}
        for run in runs
    ]
    return {
        name: median([each.get(name, 0.0) for each in found])
        for name in set[str]().union(*found)
        if _of_level(name) or all(name in each for each in found)
    }


def counter_rows(
    before: Sequence[Mapping[str, float]], after: Sequence[Mapping[str, float]]
) -> list[dict[str, Any]]:
    """Counters on both sides: the main ones, then the others that moved, the furthest first.

    A mapping is a night: the median of each counter over its runs. ``apart``: all nights of one
    side are above all of the other, and each side has two or more. With five on either side that
    is so by chance for one steady counter in 126.
    """
    rows, nights = [], [*before, *after]
    names = {name for night in nights for name in night} if before and after else set[str]()
    # Jobs of earlier versions have no level.
    levels = all(any(map(_of_level, night)) for night in nights)
    for name in sorted(names):
        if not (levels if _of_level(name) else all(name in night for night in nights)):
            continue  # not counted on both sides
        old, new = ([night.get(name, 0.0) for night in side] for side in (before, after))
        apart = min(len(old), len(new)) > 1 and (max(old) < min(new) or max(new) < min(old))
        was, now = median(old), median(new)
        percent = 100 * (now / was - 1) if was > 0 else None
        rows.append({"name": name, **_both(was, now), "percent": percent, "apart": apart})
    first = [row for row in rows if row["name"] in _COUNTED or _of_level(row["name"])]
    others = [row for row in rows if row["apart"] and row not in first]
    others.sort(key=lambda row: -abs(row["percent"] or math.inf))  # those from 0 first
    return [*first, *others[:_MOST_MOVED]]


def _of_level(name: str) -> bool:
    return name.startswith(LEVEL_BYTES.format(""))


def _command(
    old: Mapping[str, Any], new: Mapping[str, Any], jobs: tuple[int, int], *, best: bool
) -> tuple[str | None, str | None]:
    """What measures both sides again, in turn on one machine; and what must be known of it."""
    asked, was, now = new["job"], _build(old), _build(new)
    workload = str((asked.get("workload") or {}).get("name"))
    notes = []
    if workload not in SHIPPED:
        notes.append(f"replace the name {workload} with its file")
    if any(was[name] != now[name] for name in _BUILD):
        programs = []
        for side, build, when in (("OLD", was, "before"), ("NEW", now, "after")):
            program = build["program"]
            if program is None or (build is was and program == now["program"]):
                program = f"{side}_DB_BENCH"
                notes.append(f"{program} is the program {when} the change: {build_words(build)}")
            programs.append(str(program))
        command = ["rocktune", "upgrade-check", *programs, "--workload", workload]
        if asked.get("baseline_options"):
            command += ["--options", "OPTIONS.ini"]
            notes.append(f"OPTIONS.ini is the file given to job {jobs[1]}")
        if asked.get("column_family") is not None:
            command += ["--column-family", asked["column_family"]]
        command += ["--drop-unknown"] if asked.get("drop_unknown") else []
    elif best and old.get("best") and new.get("best"):
        command = ["rocktune", "compare", *(f"job:{job}" for job in jobs), "--workload", workload]
    else:
        same = "both sides ran the same build" if now["program"] else "the builds are unknown"
        return None, f"{same}: restore the other changes, and run the batch on each side"
    command += ["--scale", str(asked["scale"])] if asked.get("scale") is not None else []
    return shlex.join(command), "; ".join(notes) or None


def counter_words(name: str, value: float) -> str:
    """A counter or condition; bytes with their unit."""
    return format_bytes(value) if "bytes" in name else figure(value)
