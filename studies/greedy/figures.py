"""What the page shows of a case: from its archived job and from the rounds beside it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from statistics import median
from typing import Any

from jobs.specification.resolved_job import resolve
from jobs.views.pick import FrontOfTwo, front_of_two
from optimizer.explanation.compared import BASELINE, BlockComparison, compare_blocks
from sampler.common.errors import InputError
from sampler.space.space import Configuration, digest
from studies.greedy.cases import Asked, Case
from studies.greedy.side_by_side import DOCUMENT, FOUND, rounds_of, subjects
from studies.reproduction.study import Study


@dataclass(frozen=True)
class Figures:
    """A case as it was measured here.

    Attributes:
        document: Their column against their baseline; None with fewer than two rounds.
        found: What the job found against the same.
        latency: The front of throughput against the 99th percentile of reads, of writes.
        cpu: The front of CPU use against throughput.
        rates: Median operations per second of the rounds by what was measured.
        memory: Bytes that its write buffers and block cache may hold at full scale, likewise.
        peaks: Bytes that the process held at its peak, at the scale of the load, likewise.
    """

    case: Case
    study: Study
    document: BlockComparison | None
    found: BlockComparison | None
    latency: Mapping[str, FrontOfTwo]
    cpu: FrontOfTwo | None
    rates: Mapping[str, float]
    memory: Mapping[str, float]
    peaks: Mapping[str, float]


def found_by(study: Study) -> Configuration | None:
    """The configuration that the job's proof was about, proven or not."""
    verdict = study.result["verdict"]
    if verdict is None or verdict["trial"] is None:
        return None
    trials = {trial.number: trial for trial in study.trials}
    return trials[verdict["trial"]].configuration


def figures_of(asked: Asked, study: Study, rows: Iterable[Mapping[str, Any]]) -> Figures:
    """Computes all that the page shows of a case."""
    specification = study.archive.specification
    problem = resolve(specification, None).problem
    found = found_by(study)
    chosen = subjects(problem.space, asked, found)
    digests = {name: digest(configuration) for name, configuration in chosen.items()}
    rounds = rounds_of(rows, asked.name, digests)
    fronts = {
        metric: front
        for metric in ("read_p99", "write_p99")
        if (front := _front(study, "rate", metric)) is not None
    }
    return Figures(
        case=asked.case,
        study=study,
        document=compare_blocks(problem.objective, rounds, BASELINE, DOCUMENT),
        found=compare_blocks(problem.objective, rounds, BASELINE, FOUND)
        if found is not None
        else None,
        latency=fronts,
        cpu=_front(study, "cpu_percent", "rate"),
        rates=_medians(rounds, digests, "rate"),
        memory=_medians(rounds, digests, "memory"),
        peaks=_medians(rounds, digests, "peak_rss"),
    )


def _front(study: Study, x: str, y: str) -> FrontOfTwo | None:
    """None where a metric was not measured."""
    problem = resolve(study.archive.specification, None).problem
    try:
        return front_of_two(problem, study.trials, x, y)
    except InputError:
        return None


def _medians(
    rounds: Sequence[Mapping[str, Mapping[str, float]]], subjects: Iterable[str], metric: str
) -> dict[str, float]:
    """Of a metric by subject; a subject that no round has measured it of is left out."""
    found = {
        name: [each[name][metric] for each in rounds if metric in each.get(name, {})]
        for name in subjects
    }
    return {name: float(median(values)) for name, values in found.items() if values}
