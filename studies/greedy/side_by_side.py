"""The baseline, what the document found and what the job found, measured beside each other.

Each round holds all three once, in an order drawn anew. The document's column is measured whole,
with the options that its table of 13 parameters lacks: block cache, memory maps, bytes_per_sync.
"""

from __future__ import annotations

import random
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from jobs.execution.assembly import assemble
from optimizer.explanation.compared import BASELINE
from sampler.common.errors import InputError
from sampler.runner.outcome import TrialState
from sampler.runner.runner import LocalRunner
from sampler.runner.settings import Settings
from sampler.space.space import Configuration, Space, digest
from sampler.space.starting_points import known_points
from studies.greedy.cases import Asked
from studies.json_lines import append_line, read_lines

DOCUMENT, FOUND = "document", "found"
Row = Mapping[str, Any]


def subjects(space: Space, asked: Asked, found: Configuration | None) -> dict[str, Configuration]:
    """What is measured in a round.

    Args:
        space: Of the case's job, around its baseline.
        asked: The job.
        found: The configuration that its proof was about; None: it has none.
    """
    baseline = space.default_configuration()
    chosen: dict[str, Configuration] = {
        BASELINE: baseline,
        DOCUMENT: {**baseline, **known_points()[asked.case.column].values},
    }
    return chosen if found is None else {**chosen, FOUND: found}


def measure_rounds(
    path: Path, asked: Asked, found: Configuration | None, rounds: int, settings: Settings
) -> None:
    """Measures what is missing of a case's rounds; each run is kept when it ends.

    Raises:
        InputError: It cannot be measured here, or the baseline does not end well.
    """
    assembly = assemble(asked.specification, settings)
    chosen = subjects(assembly.problem.space, asked, found)
    runner = LocalRunner(assembly.benchmark, settings, waiting=print)
    there = {
        (row["round"], row["subject"], row["digest"])
        for row in read_lines(path)
        if row["case"] == asked.name
    }
    for number in range(1, rounds + 1):
        for subject in order_of(chosen, asked.name, number):
            name = digest(chosen[subject])
            if (number, subject, name) in there:
                continue
            outcome = runner.run(chosen[subject])
            if subject == BASELINE and outcome.state is not TrialState.DONE:
                raise InputError("baseline", f"cannot be measured: {outcome.failure}")
            append_line(
                path,
                {
                    "case": asked.name, "round": number, "subject": subject, "digest": name,
                    "state": outcome.state.value, "metrics": dict(outcome.metrics),
                    "failure": outcome.failure, "warnings": list(outcome.warnings),
                },
            )  # fmt: skip


def order_of(names: Iterable[str], case: str, number: int) -> list[str]:
    """Whose turn it is within a round."""
    ordered = sorted(names)
    return random.Random(f"{case}/{number}").sample(ordered, len(ordered))


def rounds_of(rows: Iterable[Row], case: str, digests: Mapping[str, str]) -> list[dict[str, Any]]:
    """The metrics of the runs that ended well, round by round, by what was measured.

    Args:
        rows: Of the file.
        case: Whose.
        digests: Of what is measured today: runs of another configuration count no more.
    """
    found: dict[int, dict[str, Any]] = {}
    for row in rows:
        mine = row["case"] == case and digests.get(row["subject"]) == row["digest"]
        if mine and row["state"] == TrialState.DONE.value:
            found.setdefault(row["round"], {})[row["subject"]] = row["metrics"]
    return [found[number] for number in sorted(found)]
