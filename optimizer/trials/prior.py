"""What earlier jobs measured, as a job that begins takes it along: frozen, and small.

Levels differ between hosts and loads, so each metric is taken as the logarithm of its ratio to the
earlier job's own baseline.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from sampler.space.latent import Point


@dataclass(frozen=True)
class PriorTrial:
    """A trial of an earlier job.

    Attributes:
        point: Where its configuration is in the present job's latent cube.
        ratios: Metric to the logarithm of its ratio to the earlier job's baseline.
    """

    point: Point
    ratios: Mapping[str, float]


@dataclass(frozen=True)
class PriorJob:
    """An earlier job.

    Attributes:
        job: Its number.
        workload: The name of its workload.
        trials: Those that are taken along, the most telling first.
        of: How many it measured.
    """

    job: int
    workload: str
    trials: tuple[PriorTrial, ...]
    of: int

    def said(self) -> str:
        """It and what is taken of it, for people."""
        return f"{len(self.trials)} of {self.of} trials of job {self.job} ({self.workload})"


@dataclass(frozen=True)
class Prior:
    """All that a job takes along; none of it costs budget, and none of it can win."""

    jobs: tuple[PriorJob, ...] = ()

    def document(self) -> dict[str, Any]:
        """As JSON holds it."""
        return {
            "jobs": [
                {
                    "job": job.job,
                    "workload": job.workload,
                    "of": job.of,
                    "trials": [
                        {"point": dict(each.point), "ratios": dict(each.ratios)}
                        for each in job.trials
                    ],
                }
                for job in self.jobs
            ]
        }

    @classmethod
    def from_document(cls, document: Mapping[str, Any]) -> Prior:
        """The inverse of ``document``."""
        return cls(
            tuple(
                PriorJob(
                    job["job"],
                    job["workload"],
                    tuple(PriorTrial(each["point"], each["ratios"]) for each in job["trials"]),
                    job["of"],
                )
                for job in document["jobs"]
            )
        )


NO_PRIOR = Prior()
