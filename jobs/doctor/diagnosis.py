"""All findings about a machine, and what they come to."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from jobs.doctor.finding import Finding, Level
from jobs.doctor.noise import Noise


class Fitness(StrEnum):
    """Whether to measure on a machine."""

    FIT = "fit"
    WITH_CARE = "fit with care"
    NOT_FIT = "not fit"


@dataclass(frozen=True, kw_only=True)
class Diagnosis:
    """What was found.

    Attributes:
        machine: ``sampler.machine.machine.fingerprint``.
        workload: The name of the load that it was judged for.
        findings: In the order in which they were made.
        noise: Of the baseline's runs; None where it was not measured.
    """

    machine: Mapping[str, Any]
    workload: str
    findings: tuple[Finding, ...]
    noise: Noise | None

    @property
    def fitness(self) -> Fitness:
        """A problem makes a machine unfit, a warning calls for care, a note for nothing."""
        levels = {finding.level for finding in self.findings}
        if Level.PROBLEM in levels:
            return Fitness.NOT_FIT
        return Fitness.WITH_CARE if Level.WARNING in levels else Fitness.FIT

    def count(self, level: Level) -> int:
        """How many findings are of a level."""
        return sum(finding.level is level for finding in self.findings)

    def document(self) -> dict[str, Any]:
        """As JSON holds it."""
        return {
            "schema": 1,
            "fitness": self.fitness.value,
            "machine": dict(self.machine),
            "workload": self.workload,
            "findings": [
                {"check": f.check, "level": f.level.value, "found": f.found, "advice": f.advice}
                for f in self.findings
            ],
            "noise": None if self.noise is None else self.noise.document(),
        }
