"""What real runs said of real explanations: the part of the page that is not simulated."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

import numpy as np

Interval = Mapping[str, float]


def agrees(told: Interval, measured: Interval) -> bool:
    """Whether the difference of two estimates may be 0, at 95%.

    Either side of each interval is taken for 1.96 standard errors of its own; the errors of the
    models and of the fresh runs are independent.

    Args:
        told: ``expected``, ``low`` and ``high`` by the models.
        measured: The same by real runs.
    """
    if measured["expected"] < told["expected"]:
        sides = told["expected"] - told["low"], measured["high"] - measured["expected"]
    else:
        sides = told["high"] - told["expected"], measured["expected"] - measured["low"]
    return bool(abs(measured["expected"] - told["expected"]) <= np.hypot(*sides))


def compared(explanation: Mapping[str, Any]) -> list[dict[str, Any]]:
    """The steps of an explanation that were measured, told and measured.

    Args:
        explanation: Of a result.json, measured by ``rocktune explain ID --runs N``.
    """
    rows = []
    for step, found in zip(explanation["steps"], explanation["measured"]["steps"], strict=False):
        if found is None:
            continue
        what = " and ".join(change["name"] for change in step["changes"])
        rows.append({"what": what, "claim": "gain", "told": step["gain"],
                     "measured": found["fitness"]})  # fmt: skip
        for metric, told in step["metrics"].items():
            change = found["changes"].get(metric)
            if change is not None:
                measured = {"expected": change["percent"], "low": change["low"],
                            "high": change["high"]}  # fmt: skip
                rows.append({"what": what, "claim": metric, "told": told, "measured": measured})
    return rows


def job_row(result: Mapping[str, Any]) -> dict[str, Any] | None:
    """A job as the page tells it; None where nothing was proven, or it was told and not measured.

    Args:
        result: The document of result.json.
    """
    explanation, withheld = result.get("explanation"), result.get("explanation_withheld")
    if result["best"] is None or (explanation and not explanation["measured"]):
        return None
    job, measured = result["job"], (explanation or {}).get("measured")
    return {
        "workload": job["workload"]["name"],
        "seed": job["seed"],
        "trials": result["trials"]["total"],
        "configurations": result["plan"]["explore"],
        "rounds": measured["rounds"] if measured else 0,
        "date": (measured or {}).get("ended_at", f"{datetime.now(UTC):%Y-%m-%d}")[:10],
        "rows": compared(explanation) if explanation else [],
        "why": withheld["why"] if withheld else "",
    }


def real_lines(jobs: Sequence[Mapping[str, Any]]) -> list[str]:
    """The section of the page.

    Args:
        jobs: Each with ``workload``, ``trials``, ``configurations``, ``rounds``, ``date`` and
            ``rows`` of ``compared``; one that was withheld has no rows and says ``why``.
    """
    if not jobs:
        return []
    rows = [
        "",
        "## On a real machine",
        "",
        "Jobs of `rocktune tune --workload load-quick` with the real `db_bench`, and what "
        "`rocktune explain ID --runs N` measured of their first steps. A told interval agrees "
        "with a measured one when the difference of the two may be 0 by the uncertainty of "
        "both. `explanation_coverage_real.jsonl` has both of each.",
        "",
        "| job | trials | configurations | rounds | first step | told | measured | "
        "gains that agree | changes of metrics that agree |",
        "|---|--:|--:|--:|---|--:|--:|--:|--:|",
    ]
    rows += [_row(job) for job in jobs]
    gains = [row for job in jobs for row in job["rows"] if row["claim"] == "gain"]
    others = [row for job in jobs for row in job["rows"] if row["claim"] != "gain"]
    notes = dict.fromkeys(job["note"] for job in jobs if job.get("note"))
    together = f"{_agreeing(gains)} gains and {_agreeing(others)} changes of metrics agree."
    return [*rows, "", *(f"{note}." for note in notes), f"Together {together}"]


def _row(job: Mapping[str, Any]) -> str:
    head = f"| {job['workload']}, seed {job['seed']}, {job['date']} | {job['trials']} | "
    head += f"{job['configurations']} | "
    if not job["rows"]:
        return f"{head} | {job['why']} | | | | |"
    gains = [row for row in job["rows"] if row["claim"] == "gain"]
    others = [row for row in job["rows"] if row["claim"] != "gain"]
    first = gains[0]
    return (
        f"{head}{job['rounds']} | {first['what']} | {_words(first['told'])} | "
        f"{_words(first['measured'])} | {_agreeing(gains)} | {_agreeing(others)} |"
    )


def _agreeing(rows: Sequence[Mapping[str, Any]]) -> str:
    return f"{sum(agrees(row['told'], row['measured']) for row in rows)} of {len(rows)}"


def _words(estimate: Interval) -> str:
    return f"{estimate['expected']:+.0f} ({estimate['low']:+.0f} to {estimate['high']:+.0f})"
